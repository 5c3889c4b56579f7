package launch

import (
	"errors"
	"strings"
	"testing"
	"time"

	"crun.dev/crun/run/engine/enginetest"
	"crun.dev/crun/run/record"
)

// TestReboot: a run that goes on when the machine goes down says so afterwards,
// whether the engine has kept its container or not, and whatever exit code it
// guesses.
func TestReboot(t *testing.T) {
	for _, kept := range []bool{true, false} {
		f := newFixture(t, func(p *enginetest.Process) int {
			p.Stdout.Write([]byte("before\n"))
			<-p.Signals
			return 255
		})
		f.owner.Boot, f.owner.Share = "first", true
		running, err := f.owner.startWith(t, f.plan())
		if err != nil {
			t.Fatal(err)
		}
		if s := f.state(); s.Boot != "first" {
			t.Errorf("the record has boot %q", s.Boot)
		}
		until(t, "it writes", func() bool { return strings.Contains(f.log(), "before") })
		running.close() // the monitor is gone, and all the rest
		container := f.state().Container
		if kept {
			if err := f.fake.Signal(t.Context(), container, "SIGTERM"); err != nil {
				t.Fatal(err)
			}
			until(t, "the container has ended", func() bool {
				state, err := f.fake.State(t.Context(), container)
				return err == nil && state.Status == "exited"
			})
		} else {
			f.fake.Vanish(container)
		}
		next := f.newOwner()
		next.Boot = "second"
		if err := next.Adopt(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := f.clean("after the reboot")
		if s.Phase != record.Lost || !s.Rebooted || s.ExitCode != nil || !strings.Contains(s.Message, "rebooted") {
			t.Errorf("kept %v: state %+v", kept, s)
		}
		if got := f.log(); !strings.HasPrefix(got, "before\n") {
			t.Errorf("kept %v: log %q", kept, got)
		}
	}
}

// TestNoReboot: in the same boot an engine's word counts.
func TestNoReboot(t *testing.T) {
	f := newFixture(t, nil)
	f.owner.Boot, f.owner.Share = "first", true
	if err := f.owner.Start(t.Context(), nil, nil); err != nil && !errors.Is(err, ErrAbandoned) {
		t.Fatal(err)
	}
	if s := f.clean("at the end"); s.Phase != record.Ended || s.Rebooted || s.Elapsed(time.Now()) < 0 {
		t.Errorf("state %+v", s)
	}
}
