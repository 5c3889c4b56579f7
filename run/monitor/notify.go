package monitor

import (
	"context"
	"errors"
	"slices"

	"crun.dev/crun/run/record"
)

// Words of the events that say how the telling of an end went.
const (
	Notified     = "notified"
	NotifyFailed = "notify failed"
)

// notify tells of the end of a run, once, and notes that. One whose command
// was never started has been told of by crun run.
func (s *Server) notify(ctx context.Context, r *record.Record) {
	if s.Notify == nil {
		return
	}
	state, err := r.State()
	if err != nil || !state.Phase.Over() || state.Started.IsZero() {
		return
	}
	events, err := r.Events()
	if err != nil || slices.ContainsFunc(events, func(e record.Event) bool { return e.What == Notified || e.What == NotifyFailed }) {
		return
	}
	p, err := r.Plan()
	if err != nil {
		return
	}
	event := record.Event{By: "monitor", What: Notified}
	if err := s.Notify(ctx, r, p, &state); errors.Is(err, ErrNobody) {
		return
	} else if err != nil {
		event.What, event.Attrs = NotifyFailed, map[string]string{"message": err.Error()}
	}
	_ = r.AddEvent(event) // a run is over with or without it
}

// ErrNobody says that nobody wants to know.
var ErrNobody = errors.New("nobody is to be told")
