package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/record"
)

// endTime bounds the wait for a monitor to complete a record behind SIGKILL.
const endTime = 30 * time.Second

// Stop ends a run: SIGTERM, and SIGKILL after grace, or SIGKILL at once where
// grace is negative. It returns when its monitor has written the end. by is who asks, for the record ("crun stop").
func Stop(ctx context.Context, e engine.Engine, r *record.Record, by string, grace time.Duration) error {
	state, err := r.State()
	if err != nil || state.Phase.Over() {
		return err
	}
	if state.Phase == record.Creating {
		return fmt.Errorf("run %s has not started yet: try again in a moment", r.ID)
	}
	type step struct {
		signal string
		wait   time.Duration
	}
	steps := []step{{"SIGTERM", grace}, {"SIGKILL", endTime}}
	if grace < 0 {
		steps = steps[1:]
	}
	asksToStop(r, by, max(0, grace))
	gone := false
	for _, step := range steps {
		if !gone {
			if gone, err = send(ctx, e, r, state.Container, by, step.signal); err != nil {
				return err
			}
		}
		if gone && !r.Owned() {
			// Nobody is about to write the end.
			if state, err := r.State(); err != nil || state.Phase.Over() {
				return err
			}
			return fmt.Errorf("run %s has ended, and its record cannot be written: see whether there is room in %s, and who may write there", r.ID, r.Dir())
		}
		if over, err := WaitOver(ctx, r, step.wait); over || err != nil {
			return err
		}
	}
	return fmt.Errorf("run %s got SIGKILL %s ago and its end is not in its record: crun ps adopts a run whose monitor died", r.ID, endTime)
}

// Signal sends a signal to a run and notes who did. A run that has ended in
// this moment is no error, and one that is paused runs on.
func Signal(ctx context.Context, e engine.Engine, r *record.Record, container, by, signal string) error {
	_, err := send(ctx, e, r, container, by, signal)
	return err
}

// send is Signal, and tells whether there is nothing that could get one.
func send(ctx context.Context, e engine.Engine, r *record.Record, container, by, signal string) (gone bool, err error) {
	r.AddEvent(record.Event{By: by, What: "signal", Attrs: map[string]string{"signal": signal}})
	if container == "" { // between two attempts
		return true, nil
	}
	err = e.Signal(ctx, container, signal)
	switch {
	case err == nil:
		letRun(ctx, e, r, container)
		return false, nil
	case errors.Is(err, engine.ErrNotRunning), errors.Is(err, engine.ErrNotFound):
		return true, nil
	}
	return false, fmt.Errorf("sending %s to run %s: %w", signal, r.ID, err)
}

// Kill sends SIGKILL to the run, where it is running, for by. It may be
// called beside Start and Adopt.
func (o *Owner) Kill(ctx context.Context, by string) {
	state, err := o.Record.State()
	if err == nil && !state.Phase.Over() && state.Container != "" {
		err = Signal(ctx, o.Engine, o.Record, state.Container, by, "SIGKILL")
	}
	if err != nil && ctx.Err() == nil {
		o.event("signal failed", map[string]string{"message": err.Error()})
	}
}

// WaitOver waits until the record says that the run is over and its container
// removed, for at most limit.
func WaitOver(ctx context.Context, r *record.Record, limit time.Duration) (bool, error) {
	deadline := time.After(limit)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		state, err := r.State()
		if err != nil || state.Phase.Over() && state.Complete {
			return true, err
		}
		// One that cannot be removed now is over all the same.
		if state.Phase.Over() && !r.Owned() {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-deadline:
			return state.Phase.Over(), nil
		case <-time.After(pause):
		}
	}
}
