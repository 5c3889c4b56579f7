package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	mobyterm "github.com/moby/term"
	"golang.org/x/term"

	"crun.dev/crun/run/engine"
)

// Session is a terminal's or a pipe's connection to a run. Make one with
// Attach before the command starts.
type Session struct {
	opts   SessionOptions
	stream engine.Stream

	restore func() // gives the terminal back, nil where it was not taken
	output  chan struct{}
	left    chan struct{}         // closed by the detach keys
	err     atomic.Pointer[error] // the first failed write of output
	pieces  atomic.Int64          // of output, that have come
	writing atomic.Bool           // one of them is being written
}

// SessionOptions says what to connect to what.
type SessionOptions struct {
	Engine    engine.Engine
	Container string
	// Stdin is read where it is not nil.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// TTY says that the run has a terminal, Terminal which one of ours it is
	// shown on: put into raw mode, its size passed on. Nil where there is none
	// (-t in a pipe).
	TTY      bool
	Terminal *os.File
	// DetachKeys are the keys that leave the run ("ctrl-p,ctrl-q"), where there
	// is a terminal; "" for none.
	DetachKeys string
}

// ParseDetachKeys tells whether keys can be pressed: single characters and
// ctrl-X, with commas between.
func ParseDetachKeys(keys string) error {
	if _, err := mobyterm.ToBytes(keys); err != nil || keys == "" {
		return fmt.Errorf("detach keys are %q; allowed are single characters and ctrl-X (a to z, @, [, \\, ], ^, _), with commas between: ctrl-p,ctrl-q", keys)
	}
	return nil
}

// Attach connects to a container that has not been started.
func Attach(ctx context.Context, opts SessionOptions) (*Session, error) {
	stream, err := opts.Engine.Attach(ctx, opts.Container, engine.AttachOptions{Stdin: opts.Stdin != nil, TTY: opts.TTY, DetachKeys: opts.DetachKeys})
	if err != nil {
		return nil, err
	}
	return &Session{opts: opts, stream: stream, output: make(chan struct{}), left: make(chan struct{})}, nil
}

// Begin takes the terminal, and starts to copy. Output may come at once.
func (s *Session) Begin() error {
	if s.opts.Terminal != nil {
		fd := int(s.opts.Terminal.Fd())
		old, err := term.MakeRaw(fd)
		if err != nil {
			return err
		}
		s.restore = sync.OnceFunc(func() { term.Restore(fd, old) })
	}
	go func() {
		defer close(s.output)
		s.stream.Demux(&guarded{s, s.opts.Stdout}, &guarded{s, s.opts.Stderr})
	}()
	if s.opts.Stdin != nil {
		go func() {
			if s.readInput() {
				close(s.left)
				return
			}
			// The end of a terminal's input is a character. One of ours has sent
			// it on already; a pipe (echo ... | crun run -t ...) has not.
			if s.opts.TTY && s.opts.Terminal == nil {
				io.WriteString(s.stream, "\x04")
			}
			if !s.opts.TTY {
				s.stream.CloseWrite()
			}
		}()
	}
	return nil
}

// readInput passes the input on to its end, or until the detach keys come.
func (s *Session) readInput() (left bool) {
	input := s.opts.Stdin
	if keys, err := mobyterm.ToBytes(s.opts.DetachKeys); s.opts.TTY && s.opts.Terminal != nil && err == nil && s.opts.DetachKeys != "" {
		input = mobyterm.NewEscapeProxy(input, keys)
	}
	_, err := io.Copy(s.stream, input)
	return errors.Is(err, mobyterm.EscapeError{})
}

// Left is closed when the detach keys were pressed.
func (s *Session) Left() <-chan struct{} { return s.left }

// Resize passes the size of the terminal on, once the command runs: before, the
// run's terminal has none. It does not matter if that fails: the next change
// comes.
func (s *Session) Resize(ctx context.Context) {
	if s.opts.Terminal == nil || !s.opts.TTY {
		return
	}
	width, height, err := term.GetSize(int(s.opts.Terminal.Fd()))
	if err == nil && width > 0 && height > 0 {
		s.opts.Engine.Resize(ctx, s.opts.Container, uint(width), uint(height))
	}
}

// Drain waits until all output of a run that has ended is written. It gives up
// when the engine sends nothing for as long as idle; it does not give up on a
// reader of ours that is slow.
func (s *Session) Drain(idle time.Duration) {
	for {
		before := s.pieces.Load()
		select {
		case <-s.output:
			return
		case <-time.After(idle):
		}
		if !s.writing.Load() && s.pieces.Load() == before {
			return
		}
	}
}

// Output is closed once the output has ended.
func (s *Session) Output() <-chan struct{} { return s.output }

// BrokenPipe tells whether nobody reads the output any more.
func (s *Session) BrokenPipe() bool {
	err := s.err.Load()
	return err != nil && errors.Is(*err, syscall.EPIPE)
}

// Close ends the connection and gives the terminal back.
func (s *Session) Close() {
	if s.restore != nil {
		s.restore()
	}
	s.stream.Close()
}

// guarded notes the first failure to write, which ends the copying.
type guarded struct {
	s  *Session
	to io.Writer
}

func (g *guarded) Write(p []byte) (int, error) {
	g.s.pieces.Add(1)
	g.s.writing.Store(true)
	n, err := g.to.Write(p)
	g.s.writing.Store(false)
	if err != nil {
		g.s.err.CompareAndSwap(nil, &err)
	}
	return n, err
}
