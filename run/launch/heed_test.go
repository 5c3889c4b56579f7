package launch

import (
	"slices"
	"testing"
	"time"

	"crun.dev/crun/run/engine/enginetest"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// until waits for what has to come about.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain waited: %s", what)
		}
	}
}

// begin starts the owner and gives what waits for its end.
func (f *fixture) begin() (wait func()) {
	f.t.Helper()
	done := make(chan error, 1)
	go func() { done <- f.owner.Start(f.t.Context(), nil, nil) }()
	until(f.t, "the run runs", func() bool { return f.state().Phase == record.Running })
	return func() {
		f.t.Helper()
		select {
		case err := <-done:
			if err != nil {
				f.t.Fatal(err)
			}
		case <-time.After(10 * time.Second):
			f.t.Fatal("the run does not end")
		}
	}
}

// deaf ends by SIGKILL alone.
func deaf(p *enginetest.Process) int {
	for range p.Signals {
	}
	return 0
}

// TestStopIsTheMonitors: whoever asked for the stop is gone in the grace time.
func TestStopIsTheMonitors(t *testing.T) {
	f := newFixture(t, deaf)
	wait := f.begin()
	asksToStop(f.record, "crun stop", 30*time.Millisecond)
	if err := Signal(t.Context(), f.fake, f.record, f.state().Container, "crun stop", "SIGTERM"); err != nil {
		t.Fatal(err)
	}
	wait()
	if s := f.clean("after the stop"); *s.ExitCode != 137 {
		t.Errorf("exit code %d, want 137", *s.ExitCode)
	}
}

// TestPause sees a container that somebody pauses, and lets it run on where it
// has to end.
func TestPause(t *testing.T) {
	t.Run("stop", func(t *testing.T) {
		f := newFixture(t, func(p *enginetest.Process) int {
			<-p.Signals
			for p.Paused() {
				time.Sleep(time.Millisecond)
			}
			return 143
		})
		wait := f.begin()
		f.fake.Pause(f.state().Container)
		until(t, "the record says paused", func() bool { return f.state().Paused })
		if err := Signal(t.Context(), f.fake, f.record, f.state().Container, "crun stop", "SIGTERM"); err != nil {
			t.Fatal(err)
		}
		wait()
		if s := f.clean("after the stop"); s.Paused || *s.ExitCode != 143 {
			t.Errorf("paused %v, exit code %d", s.Paused, *s.ExitCode)
		}
	})
	t.Run("time limit", func(t *testing.T) {
		f := newFixture(t, func(p *enginetest.Process) int {
			for !p.Paused() {
				time.Sleep(time.Millisecond)
			}
			for p.Paused() {
				time.Sleep(time.Millisecond)
			}
			return 124
		})
		p, err := f.record.Plan()
		if err != nil {
			t.Fatal(err)
		}
		limit := plan.Duration(50 * time.Millisecond)
		p.TimeLimit = &limit
		f.owner.plan = p
		running, err := f.owner.startWith(t, p)
		if err != nil {
			t.Fatal(err)
		}
		f.fake.Pause(f.state().Container)
		if err := f.owner.see(t.Context(), running); err != nil {
			t.Fatal(err)
		}
		f.clean("after the time limit")
		if !slices.Contains(f.fake.Calls(), "unpause") {
			t.Error("a paused run goes past its time limit")
		}
	})
}

func (f *fixture) plan() *plan.Plan {
	f.t.Helper()
	p, err := f.record.Plan()
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

func (o *Owner) startWith(t *testing.T, p *plan.Plan) (*connection, error) {
	if err := o.load(); err != nil {
		return nil, err
	}
	o.plan = p
	return o.start(t.Context(), nil, nil)
}

// TestStopOfWhatCannotBeWritten returns with a word where nobody completes the
// record.
func TestStopOfWhatCannotBeWritten(t *testing.T) {
	f := newFixture(t, nil)
	s := f.state()
	s.Phase, s.Container = record.Running, "gone"
	if err := f.record.SetState(s); err != nil {
		t.Fatal(err)
	}
	f.lock.Unlock()
	if err := Stop(t.Context(), f.fake, f.record, "crun stop", time.Hour); err == nil {
		t.Error("no word of a run whose record says running and is nobody's")
	}
}
