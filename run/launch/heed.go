package launch

import (
	"context"
	"errors"
	"time"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/record"
)

// heed does what an event of the engine asks of the owner.
func (o *Owner) heed(ctx context.Context, e engine.Event) {
	switch e.Action {
	case "pause", "unpause":
		o.state.Paused = e.Action == "pause"
		if err := o.Record.SetState(o.state); err != nil {
			o.warn(err)
		}
	case "kill":
		// Whoever has sent it may die before the grace time is over.
		o.heedStops(ctx)
	}
}

// Words of the event by which Stop asks for an end.
const (
	stopWhat  = "stop"
	stopGrace = "grace" // as time.Duration writes it
)

// heedStops has SIGKILL sent at the end of the grace time of each request to
// stop in the record that was not heeded before.
func (o *Owner) heedStops(ctx context.Context) {
	events, err := o.Record.Events()
	if err != nil {
		return
	}
	for _, e := range events {
		grace, err := time.ParseDuration(e.Attrs[stopGrace])
		if e.What != stopWhat || e.By == "engine" || err != nil || !e.Time.After(o.stops) {
			continue
		}
		o.stops = e.Time
		go func() {
			select {
			case <-ctx.Done():
			case <-time.After(time.Until(e.Time.Add(grace))):
				o.Kill(ctx, e.By)
			}
		}()
	}
}

// timeLimit comes when the run's time limit is over, by the clock of the host.
// Init keeps that limit, and cannot while the container is paused. It is nil
// where there is none.
func (o *Owner) timeLimit() <-chan time.Time {
	if o.plan.TimeLimit == nil {
		return nil
	}
	return time.After(time.Until(o.state.Started.Add(time.Duration(*o.plan.TimeLimit))))
}

// unpauseAgain is the pause between two looks at a run past its time limit.
const unpauseAgain = 2 * time.Second

// unpause lets a paused run past its time limit run on, so that init can end
// it, and gives when to look again.
func (o *Owner) unpause(ctx context.Context, id string) <-chan time.Time {
	if state, err := o.Engine.State(ctx, id); err == nil && state.Status == "paused" {
		o.event("time limit while paused", nil)
		o.Engine.Unpause(ctx, id) // or the next look does
	}
	return time.After(unpauseAgain)
}

// asksToStop notes that a run is to end, for its monitor: whoever asks may be
// gone when the grace time is over.
func asksToStop(r *record.Record, by string, grace time.Duration) {
	// A disk that is full keeps this from the monitor. The one who asks waits.
	_ = r.AddEvent(record.Event{By: by, What: stopWhat, Attrs: map[string]string{stopGrace: grace.String()}})
}

// letRun resumes a paused container that got a signal: it has to run to see it.
func letRun(ctx context.Context, e engine.Engine, r *record.Record, container string) {
	if state, err := r.State(); err != nil || !state.Paused {
		return
	}
	if err := e.Unpause(ctx, container); err == nil || errors.Is(err, engine.ErrNotRunning) {
		_ = r.AddEvent(record.Event{By: "crun", What: "unpause"}) // a word for the reader alone
	}
}
