package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/monitor"
	"crun.dev/crun/run/record"
)

// follow follows the run to its end and says how that was.
func (f *foreground) follow(ctx context.Context, container string) error {
	p := f.job.plan
	follow := &monitor.Foreground{
		Record: f.record, Session: f.session, Client: f.client, Signals: f.signals,
		Grace: time.Duration(p.Grace),
		Send: func(signal string) error {
			return launch.Signal(ctx, f.job.engine, f.record, container, "crun run", signal)
		},
		Warn: func(err error) { f.app.warn(err.Error()) },
		Noted: func(text string) {
			f.app.warn(text)
			f.noted = append(f.noted, text)
		},
	}
	state, err := follow.Follow(ctx)
	f.session.Close()
	switch {
	case errors.Is(err, monitor.ErrDetached):
		return f.leave(exitSIGHUP)
	case errors.Is(err, monitor.ErrLeft):
		return f.leave(0)
	case errors.Is(err, monitor.ErrBrokenPipe):
		if state.Phase == "" {
			f.app.note("nobody reads the output any more; run %s goes on, and crun stop %s ends it", p.Name, p.Name)
		}
		return &exitError{code: exitSIGPIPE}
	case err != nil:
		return fmt.Errorf("following run %s: %w", p.Name, err)
	}
	return f.ended(&state)
}

// leave says where to find a run that goes on, and gives the exit code.
func (f *foreground) leave(code int) error {
	name := f.job.plan.Name
	f.app.note("run %s goes on; crun logs -f %s shows it, crun stop %s ends it", name, name, name)
	if code == 0 {
		return nil
	}
	return &exitError{code: code}
}

// ended says how the run ended, and gives its exit code.
func (f *foreground) ended(s *record.State) error {
	said := *s
	said.Warnings = slices.DeleteFunc(slices.Clone(s.Warnings), func(w string) bool { return slices.Contains(f.noted, w) })
	f.app.sayEnd(f.record, f.job.plan, &said, f.warned)
	if code := exitCodeOf(s); code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// exitCodeOf is what crun run ends with for a run that is over.
func exitCodeOf(s *record.State) int {
	if s.ExitCode == nil {
		return exitEngine
	}
	return *s.ExitCode
}
