package launch

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"crun.dev/crun/run/engine/enginetest"
)

// slowWriter takes its time for each piece.
type slowWriter struct {
	bytes.Buffer
	pause time.Duration
}

func (s *slowWriter) Write(p []byte) (int, error) {
	time.Sleep(s.pause)
	return s.Buffer.Write(p)
}

func (f *fixture) session(opts SessionOptions, wait func(*Session)) {
	f.t.Helper()
	var session *Session
	opts.Engine = f.fake
	f.owner.Created = func(container string, _ []string) { opts.Container = container }
	f.owner.Ready = func() (err error) {
		if session, err = Attach(f.t.Context(), opts); err != nil {
			return err
		}
		return session.Begin()
	}
	if err := f.owner.Start(f.t.Context(), nil, nil); err != nil {
		f.t.Fatal(err)
	}
	wait(session)
	session.Close()
}

func TestSession(t *testing.T) {
	f := newFixture(t, func(p *enginetest.Process) int {
		data, _ := io.ReadAll(p.Stdin)
		fmt.Fprintf(p.Stdout, "<%s>", data)
		fmt.Fprint(p.Stderr, "err")
		return 0
	})
	var out, err bytes.Buffer
	f.session(SessionOptions{Stdin: strings.NewReader("input"), Stdout: &out, Stderr: &err}, func(s *Session) {
		s.Drain(time.Second)
	})
	if out.String() != "<input>" || err.String() != "err" {
		t.Errorf("stdout %q, stderr %q", out.String(), err.String())
	}
}

// TestDrainSlowReader waits for a reader that is slower than the idle time.
func TestDrainSlowReader(t *testing.T) {
	f := newFixture(t, func(p *enginetest.Process) int {
		for range 5 {
			fmt.Fprint(p.Stdout, "x")
		}
		return 0
	})
	out := &slowWriter{pause: 60 * time.Millisecond}
	f.session(SessionOptions{Stdout: out, Stderr: io.Discard}, func(s *Session) {
		s.Drain(20 * time.Millisecond)
	})
	if out.String() != "xxxxx" {
		t.Errorf("output %q was lost", out.String())
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

func TestBrokenPipe(t *testing.T) {
	f := newFixture(t, hello)
	f.session(SessionOptions{Stdout: brokenPipe{}, Stderr: io.Discard}, func(s *Session) {
		<-s.Output()
		if !s.BrokenPipe() {
			t.Error("a broken pipe was not noticed")
		}
	})
	// The log has what nobody read.
	if got := f.log(); !strings.Contains(got, "hello") {
		t.Errorf("log %q", got)
	}
}

func TestInterrupts(t *testing.T) {
	var i Interrupts
	for n, want := range []Action{
		{Signal: "SIGINT"}, {Signal: "SIGTERM", Grace: true}, {Signal: "SIGKILL"}, {Signal: "SIGKILL"},
	} {
		if got := i.Next(syscall.SIGINT); got != want {
			t.Errorf("Ctrl-C %d gives %+v, want %+v", n+1, got, want)
		}
	}
	for signal, want := range map[os.Signal]Action{
		syscall.SIGHUP:  {Detach: true},
		syscall.SIGTERM: {Signal: "SIGTERM"},
		syscall.SIGUSR1: {Signal: "SIGUSR1"},
		syscall.SIGPIPE: {},
	} {
		if got := new(Interrupts).Next(signal); got != want {
			t.Errorf("%s gives %+v, want %+v", signal, got, want)
		}
	}
}
