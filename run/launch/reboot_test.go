package launch

import (
	"errors"
	"strings"
	"testing"
	"time"

	"crun.dev/crun/run/engine/enginetest"
	"crun.dev/crun/run/inside"
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

// TestShutdown: a shutdown that leaves a run the time to end is its cause, but
// not where crun was asked to end the run, and not for one that ended by itself.
func TestShutdown(t *testing.T) {
	for _, test := range []struct {
		name      string
		report    inside.Report
		boot      string // at the end
		goingDown bool
		asked     bool
		want      bool
	}{
		{"by the signal", inside.Report{Reason: inside.ReasonSignaled, Signal: "SIGTERM", ExitCode: 143}, "second", false, false, true},
		{"a script that has saved and ended", inside.Report{Reason: inside.ReasonExited, Got: []string{"SIGTERM"}}, "second", false, false, true},
		{"seen to the end", inside.Report{Reason: inside.ReasonSignaled, Signal: "SIGTERM", ExitCode: 143}, "first", true, false, true},
		{"no shutdown", inside.Report{Reason: inside.ReasonSignaled, Signal: "SIGTERM", ExitCode: 143}, "first", false, false, false},
		{"crun stop before", inside.Report{Reason: inside.ReasonSignaled, Signal: "SIGTERM", ExitCode: 143}, "second", false, true, false},
		{"ended before", inside.Report{Reason: inside.ReasonExited, ExitCode: 1}, "second", true, false, false},
		{"killed before", inside.Report{Reason: inside.ReasonSignaled, Signal: "SIGKILL", ExitCode: 137}, "second", false, false, false},
		{"its time limit before", inside.Report{Reason: inside.ReasonTimeLimit, Signal: "SIGTERM", ExitCode: 143}, "second", false, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, nil)
			f.owner.Boot, f.owner.GoingDown = test.boot, func() bool { return test.goingDown }
			f.plan()
			if err := f.owner.load(); err != nil {
				t.Fatal(err)
			}
			f.owner.state.Boot = "first"
			if test.asked {
				f.owner.Record.AddEvent(record.Event{By: "crun stop", What: "signal", Attrs: map[string]string{"signal": "SIGTERM"}})
			}
			f.owner.readReport(&test.report)
			if s := f.owner.state; s.Rebooted != test.want || test.want != strings.Contains(s.Message, "went down") {
				t.Errorf("state %+v", s)
			}
		})
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
