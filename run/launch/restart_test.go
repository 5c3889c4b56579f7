package launch

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"crun.dev/crun/run/engine/enginetest"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// restarting is a fixture whose run may be started again twice.
func restarting(t *testing.T, command func(attempt int, p *enginetest.Process) int) (*fixture, *atomic.Int32) {
	t.Helper()
	var attempts atomic.Int32
	f := newFixture(t, func(p *enginetest.Process) int { return command(int(attempts.Add(1)), p) })
	p, err := f.record.Plan()
	if err != nil {
		t.Fatal(err)
	}
	p.Restarts = 2
	f.record = f.remade(p)
	f.owner.Record, f.owner.Backoff = f.record, time.Millisecond
	return f, &attempts
}

func TestRestart(t *testing.T) {
	f, attempts := restarting(t, func(attempt int, p *enginetest.Process) int {
		fmt.Fprintf(p.Stdout, "attempt %d\n", attempt)
		if attempt < 3 {
			return attempt
		}
		return 0
	})
	if err := f.owner.Start(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	s := f.clean("after the last attempt")
	if n := attempts.Load(); n != 3 || *s.ExitCode != 0 || len(s.Attempts) != 2 || s.Attempts[0].ExitCode != 1 || s.Attempts[1].ExitCode != 2 {
		t.Errorf("%d attempts, state %+v", n, s)
	}
	if got := f.log(); got != "attempt 1\n[]attempt 2\n[]attempt 3\n" {
		t.Errorf("log %q", got)
	}
}

// TestNoRestart: what fails in the same way is not tried again, nor what
// somebody has ended.
func TestNoRestart(t *testing.T) {
	for name, c := range map[string]struct {
		command func(*fixture, *enginetest.Process) int
		want    int // attempts
	}{
		"a failure":     {func(*fixture, *enginetest.Process) int { return 1 }, 3},
		"success":       {func(*fixture, *enginetest.Process) int { return 0 }, 1},
		"out of memory": {func(_ *fixture, p *enginetest.Process) int { p.OOM(); return 137 }, 1},
		"not found":     {func(*fixture, *enginetest.Process) int { return 127 }, 1},
		"not exec":      {func(*fixture, *enginetest.Process) int { return 126 }, 1},
		"refused":       {func(*fixture, *enginetest.Process) int { return 125 }, 1},
		"crun stop":     {func(f *fixture, _ *enginetest.Process) int { asksToStop(f.record, "crun stop", time.Hour); return 143 }, 1},
		"Ctrl-C": {func(f *fixture, _ *enginetest.Process) int {
			f.record.AddEvent(record.Event{By: "crun run", What: "signal", Attrs: map[string]string{"signal": "SIGINT"}})
			return 130
		}, 1},
		"SIGUSR1": {func(f *fixture, _ *enginetest.Process) int {
			f.record.AddEvent(record.Event{By: "crun kill", What: "signal", Attrs: map[string]string{"signal": "SIGUSR1"}})
			return 1
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var f *fixture
			var attempts *atomic.Int32
			f, attempts = restarting(t, func(_ int, p *enginetest.Process) int { return c.command(f, p) })
			if err := f.owner.Start(t.Context(), nil, nil); err != nil {
				t.Fatal(err)
			}
			f.clean("at the end")
			if got := int(attempts.Load()); got != c.want {
				t.Errorf("%d attempts, want %d", got, c.want)
			}
		})
	}
}

// TestStopBetweenAttempts ends the pause.
func TestStopBetweenAttempts(t *testing.T) {
	f, attempts := restarting(t, func(int, *enginetest.Process) int { return 4 })
	f.owner.Backoff = time.Hour
	done := make(chan error, 1)
	go func() { done <- f.owner.Start(t.Context(), nil, nil) }()
	until(t, "the first attempt has failed", func() bool { return len(f.state().Attempts) == 1 })
	if err := Stop(t.Context(), f.fake, f.record, "crun stop", 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	s := f.clean("after the stop")
	if *s.ExitCode != 4 || len(s.Attempts) != 0 || attempts.Load() != 1 {
		t.Errorf("state %+v", s)
	}
}

// remade makes a record of p in the place of the fixture's.
func (f *fixture) remade(p *plan.Plan) *record.Record {
	f.t.Helper()
	if err := f.store.Remove(f.record, f.lock); err != nil {
		f.t.Fatal(err)
	}
	r, lock, err := f.store.Create(p, record.NewState(time.Now(), nil))
	if err != nil {
		f.t.Fatal(err)
	}
	f.lock = lock
	f.t.Cleanup(func() { lock.Unlock() })
	return r
}
