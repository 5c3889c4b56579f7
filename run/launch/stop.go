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

// Stop ends a run: SIGTERM, and SIGKILL after grace. It returns when its
// monitor has written the end. by is who asks, for the record ("crun stop").
func Stop(ctx context.Context, e engine.Engine, r *record.Record, by string, grace time.Duration) error {
	state, err := r.State()
	if err != nil || state.Phase.Over() {
		return err
	}
	if state.Phase == record.Creating {
		return fmt.Errorf("run %s has not started yet: try again in a moment", r.ID)
	}
	if err := Signal(ctx, e, r, state.Container, by, "SIGTERM"); err != nil {
		return err
	}
	if over, err := WaitOver(ctx, r, grace); over || err != nil {
		return err
	}
	if err := Signal(ctx, e, r, state.Container, by, "SIGKILL"); err != nil {
		return err
	}
	over, err := WaitOver(ctx, r, endTime)
	if err == nil && !over {
		err = fmt.Errorf("run %s got SIGKILL %s ago and its end is not in its record: crun ps adopts a run whose monitor died", r.ID, endTime)
	}
	return err
}

// Signal sends a signal to a run and notes who did. A run that has ended in
// this moment is no error.
func Signal(ctx context.Context, e engine.Engine, r *record.Record, container, by, signal string) error {
	r.AddEvent(record.Event{By: by, What: "signal", Attrs: map[string]string{"signal": signal}})
	err := e.Signal(ctx, container, signal)
	if err == nil || errors.Is(err, engine.ErrNotRunning) || errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	return fmt.Errorf("sending %s to run %s: %w", signal, r.ID, err)
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
