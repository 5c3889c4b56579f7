package enginetest

import (
	"errors"
	"io"
	"sync"
	"time"

	"crun.dev/crun/run/engine"
)

// run is the life of a container's command.
func (c *container) run() {
	code := make(chan int, 1)
	process := &Process{
		Plan: c.plan, Stdin: c.stdin, Stdout: output{c, false}, Stderr: output{c, true},
		Signals: c.signals, c: c,
	}
	go func() {
		if c.fake.Command == nil {
			code <- 0
			return
		}
		code <- c.fake.Command(process)
	}()
	exit := 137
	select {
	case exit = <-code:
	case <-c.killed:
	}
	c.fake.mu.Lock()
	c.state.Status, c.state.ExitCode, c.state.Finished = "exited", exit, time.Now()
	waiters, streams := c.waiters, c.streams
	c.waiters = nil
	c.fake.mu.Unlock()
	c.log.close()
	for _, s := range streams {
		s.close()
	}
	close(c.ended)
	c.event("die", nil)
	for _, w := range waiters {
		w <- engine.Exit{Code: exit}
	}
}

func (c *container) kill() {
	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	select {
	case <-c.killed:
	default:
		close(c.killed)
	}
}

func (c *container) event(action string, attrs map[string]string) {
	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	for _, ch := range c.events {
		select {
		case ch <- engine.Event{Time: time.Now(), Action: action, Attrs: attrs}:
		default:
		}
	}
}

// output is one of the command's streams.
type output struct {
	c      *container
	stderr bool
}

func (o output) Write(p []byte) (int, error) {
	select {
	case <-o.c.killed:
		return 0, errors.New("killed")
	default:
	}
	o.c.fake.mu.Lock()
	streams := o.c.streams
	o.c.fake.mu.Unlock()
	o.c.log.put(o.stderr, p)
	for _, s := range streams {
		s.put(o.stderr, p)
	}
	return len(p), nil
}

// stream is a connection to a container.
type stream struct {
	c   *container
	out *buffer
	in  *buffer
}

func (s *stream) Demux(stdout, stderr io.Writer) error {
	for {
		piece, ok := s.out.take()
		if !ok {
			return nil
		}
		to := stdout
		if piece.stderr {
			to = stderr
		}
		if _, err := to.Write(piece.data); err != nil {
			return err
		}
	}
}

func (s *stream) Write(p []byte) (int, error) {
	if s.in == nil {
		return 0, errors.New("stdin is not attached")
	}
	s.in.put(false, p)
	return len(p), nil
}

func (s *stream) CloseWrite() error {
	if s.in != nil {
		s.in.close()
	}
	return nil
}

func (s *stream) Close() error {
	s.out.close()
	return nil
}

// buffer is output without an end to its length.
type buffer struct {
	mu     sync.Mutex
	more   *sync.Cond
	pieces []piece
	read   int
	closed bool
	rest   []byte
}

type piece struct {
	stderr bool
	data   []byte
}

func newBuffer() *buffer {
	b := &buffer{}
	b.more = sync.NewCond(&b.mu)
	return b
}

func (b *buffer) put(stderr bool, p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.pieces = append(b.pieces, piece{stderr, append([]byte(nil), p...)})
		b.more.Broadcast()
	}
}

func (b *buffer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.more.Broadcast()
}

// take waits for the next piece; false at the end.
func (b *buffer) take() (piece, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.read == len(b.pieces) && !b.closed {
		b.more.Wait()
	}
	if b.read == len(b.pieces) {
		return piece{}, false
	}
	b.read++
	return b.pieces[b.read-1], true
}

// reader gives what is in b from its beginning, and with follow what comes.
func (b *buffer) reader(follow bool) *buffer {
	copied := newBuffer()
	go func() {
		defer copied.close()
		for i := 0; ; i++ {
			b.mu.Lock()
			for follow && i == len(b.pieces) && !b.closed {
				b.more.Wait()
			}
			if i >= len(b.pieces) {
				b.mu.Unlock()
				return
			}
			p := b.pieces[i]
			b.mu.Unlock()
			copied.put(p.stderr, p.data)
		}
	}()
	return copied
}

// Read makes a buffer the command's stdin.
func (b *buffer) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		next, ok := b.take()
		if !ok {
			return 0, io.EOF
		}
		b.rest = next.data
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}
