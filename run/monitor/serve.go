package monitor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"crun.dev/crun/internal/login"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// Server is a monitor process.
type Server struct {
	Store *record.Store
	// Open connects to an engine by what the record's state says of it.
	Open func(context.Context, json.RawMessage) (engine.Engine, error)
	// Files are to be put into the container of a plan, whose image is for
	// this architecture.
	Files func(p *plan.Plan, arch string) ([]engine.File, error)

	// Notify tells somebody of the end of a run whose record is complete, or is
	// nil. It is called once a run.
	Notify func(context.Context, *record.Record, *plan.Plan, *record.State) error

	// Stdin, Messages and LockFD are a test's; by default what a monitor
	// process has inherited.
	Stdin    io.Reader
	Messages io.Writer
	Lock     *record.Lock

	// Linger is that of the Owner: 15 s where it is not set.
	Linger time.Duration

	mu sync.Mutex
}

// Serve owns the run with this id until its record is complete.
func (s *Server) Serve(ctx context.Context, id string, adopt bool) error {
	if err := s.inherit(); err != nil {
		return err
	}
	defer s.Lock.Unlock()
	// Nothing is sent to a run that is over.
	alive, ended := context.WithCancel(ctx)
	defer ended()
	left := make(chan struct{}) // closed when the foreground has ended
	owner := &launch.Owner{
		Boot:      boot(),
		GoingDown: func() bool { return login.GoingDown(ctx) },
		Log:       record.DefaultLogLimits,
		Retry:     time.Second,
		Linger:    s.Linger,
		Started: func() {
			s.send(Message{What: Started})
			time.AfterFunc(shrinkAfter, shrink)
		},
		Noted: func(text string) { s.send(Message{What: Noted, Warnings: []string{text}}) },
		Ended: func(state record.State) {
			ended()
			s.send(Message{What: Ended, State: &state})
			// Whoever waits for the end has the processor first.
			select {
			case <-left:
			case <-time.After(leaveTime):
			}
		},
	}
	lines := bufio.NewReader(s.Stdin)
	// listen heeds what comes behind the start.
	listen := func() {
		go func() {
			defer close(left)
			s.listen(alive, lines, owner)
		}()
	}
	var err error
	if adopt {
		err = s.adopt(ctx, id, owner, listen)
	} else {
		err = s.start(ctx, id, owner, lines, listen)
	}
	if owner.Record == nil {
		return err
	}
	s.notify(ctx, owner.Record)
	// An empty monitor.log says nothing.
	if path := filepath.Join(owner.Record.Dir(), "monitor.log"); err == nil {
		if info, statErr := os.Stat(path); statErr == nil && info.Size() == 0 {
			os.Remove(path)
		}
	}
	return err
}

// leaveTime bounds the wait for the foreground to leave a run that is over,
// before the rest of the record is seen to.
const leaveTime = 50 * time.Millisecond

// shrinkAfter is how long a run goes on before its monitor gives memory back:
// one that is over by then ends sooner without.
const shrinkAfter = 2 * time.Second

// shrink makes a monitor small, which lives as long as its run: what the start
// took is given back, and little is taken from here on.
func shrink() {
	debug.SetGCPercent(25)
	debug.FreeOSMemory()
}

// boot names the boot of this machine, or gives "".
func boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

func (s *Server) inherit() (err error) {
	if s.Stdin == nil {
		s.Stdin = os.Stdin
	}
	if s.Linger == 0 {
		s.Linger = 15 * time.Second
	}
	if s.Lock == nil {
		if s.Lock, err = record.InheritLock(lockFD); err != nil {
			return fmt.Errorf("crun monitor is started by crun run alone: %w", err)
		}
	}
	if s.Messages == nil {
		syscall.CloseOnExec(messagesFD)
		s.Messages = os.NewFile(messagesFD, "messages")
	}
	return nil
}

// start waits for the request, and owns a new run.
func (s *Server) start(ctx context.Context, id string, owner *launch.Owner, lines *bufio.Reader, listen func()) error {
	var request Request
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &request)
	}
	if err != nil {
		// The foreground has given up, or is dead.
		s.Store.Discard(id)
		return nil
	}
	if owner.Record, err = s.Store.Open(id); err != nil {
		return s.fail(err)
	}
	synced := make(chan error, 1)
	go func() { synced <- s.Store.Sync() }()
	state, err := owner.Record.State()
	if err != nil {
		return s.fail(err)
	}
	p, err := owner.Record.Plan()
	if err != nil {
		return s.fail(err)
	}
	files, err := s.Files(p, request.Arch)
	if err == nil {
		owner.Engine, err = s.Open(ctx, state.Engine)
	}
	if err != nil {
		return s.fail(owner.Fail(err))
	}
	defer owner.Engine.Close()
	if n, ok := owner.Engine.(engine.Negotiated); ok {
		n.UseAPI(request.API)
	}
	owner.Share = request.Share
	owner.Created = func(container string, warnings []string) {
		s.send(Message{What: Created, Container: container, Warnings: warnings})
	}
	owner.Ready = func() error {
		line, err := lines.ReadString('\n')
		if err == nil && line != goLine+"\n" {
			err = fmt.Errorf("%q came where %q should", line, goLine)
		}
		if err == nil {
			listen()
		}
		return err
	}
	// What is made for a run is found by its record, after a power cut too.
	if err := <-synced; err != nil {
		return s.fail(owner.Fail(err))
	}
	err = owner.Start(ctx, request.Secrets, files)
	if errors.Is(err, launch.ErrAbandoned) {
		err := s.Store.Remove(owner.Record, s.Lock)
		s.send(Message{What: Abandoned})
		return err
	}
	if err != nil {
		return s.fail(err)
	}
	return nil
}

// listen sends SIGKILL when the foreground's grace time is over, until ctx ends.
func (s *Server) listen(ctx context.Context, lines *bufio.Reader, owner *launch.Owner) {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return // the foreground has ended
		}
		text, ok := strings.CutPrefix(strings.TrimSpace(line), killWord+" ")
		grace, err := time.ParseDuration(text)
		if !ok || err != nil {
			continue // of a later crun
		}
		go func() {
			select {
			case <-ctx.Done():
			case <-time.After(grace):
				owner.Kill(ctx, "crun run")
			}
		}()
	}
}

func (s *Server) adopt(ctx context.Context, id string, owner *launch.Owner, listen func()) (err error) {
	if owner.Record, err = s.Store.Open(id); err != nil {
		return s.fail(err)
	}
	state, err := owner.Record.State()
	if err != nil {
		return s.fail(err)
	}
	if owner.Engine, err = s.Open(ctx, state.Engine); err != nil {
		return s.fail(err)
	}
	defer owner.Engine.Close()
	listen()
	if err := owner.Adopt(ctx); err != nil {
		return s.fail(err)
	}
	return nil
}

// send tells the foreground, which may be gone.
func (s *Server) send(m Message) {
	line, err := json.Marshal(m)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Messages.Write(append(line, '\n'))
}

// fail tells err and gives it back.
func (s *Server) fail(err error) error {
	s.send(Message{What: Failed, Error: err.Error(), Code: launch.ExitCode(err)})
	return err
}
