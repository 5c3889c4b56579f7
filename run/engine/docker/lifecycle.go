package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

// Wait gives the exit once the container has ended the next time. It is
// registered when Wait returns. One Exit comes, then the channel is closed;
// where ctx ends first, or the engine does, Exit.Err says so.
func (e *Engine) Wait(ctx context.Context, id string) (<-chan engine.Exit, error) {
	if err := e.connect(ctx); err != nil {
		return nil, err
	}
	result, errs := e.api.ContainerWait(ctx, id, container.WaitConditionNextExit)
	select {
	case err := <-errs:
		return nil, e.explain(err, subject{container: id})
	default:
	}
	exit := make(chan engine.Exit, 1)
	go func() {
		defer close(exit)
		select {
		case r := <-result:
			x := engine.Exit{Code: int(r.StatusCode)}
			if r.Error != nil && r.Error.Message != "" {
				x.Err = e.explain(errors.New(r.Error.Message), subject{container: id})
			}
			exit <- x
		case err := <-errs:
			exit <- engine.Exit{Err: e.explain(err, subject{container: id})}
		}
	}()
	return exit, nil
}

// Start starts the container. A command that is not there gives
// engine.ErrNoCommand, one that cannot be executed engine.ErrNotExec. After an
// error the container is still there, and the caller's to remove.
func (e *Engine) Start(ctx context.Context, id string) error {
	if err := e.connect(ctx); err != nil {
		return err
	}
	return e.explain(e.api.ContainerStart(ctx, id, container.StartOptions{}), subject{container: id, plan: e.planOf(id)})
}

// Signal sends a signal, by name ("SIGTERM"), to the container's PID 1. One
// that does not run gives engine.ErrNotRunning.
func (e *Engine) Signal(ctx context.Context, id, signal string) error {
	if err := e.connect(ctx); err != nil {
		return err
	}
	return e.explain(e.api.ContainerKill(ctx, id, signal), subject{container: id})
}

// Unpause lets a container run on that somebody has paused.
func (e *Engine) Unpause(ctx context.Context, id string) error {
	state, err := e.State(ctx, id)
	if err != nil || state.Status != "paused" {
		return err
	}
	return e.explain(e.api.ContainerUnpause(ctx, id), subject{container: id})
}

// Resize sets the size of the container's terminal, in characters. One that
// does not run gives engine.ErrNotRunning.
func (e *Engine) Resize(ctx context.Context, id string, width, height uint) error {
	if err := e.connect(ctx); err != nil {
		return err
	}
	return e.explain(e.api.ContainerResize(ctx, id, container.ResizeOptions{Width: width, Height: height}), subject{container: id})
}

// State tells how the container stands; engine.ErrNotFound where it is gone.
func (e *Engine) State(ctx context.Context, id string) (engine.State, error) {
	if err := e.connect(ctx); err != nil {
		return engine.State{}, err
	}
	got, err := e.api.ContainerInspect(ctx, id)
	if err != nil {
		return engine.State{}, e.explain(err, subject{container: id})
	}
	if got.ContainerJSONBase == nil || got.State == nil {
		return engine.State{}, fmt.Errorf("the engine at %s tells no state of container %.12s", e.ep, id)
	}
	state := engine.State{
		Status:    string(got.State.Status),
		ExitCode:  got.State.ExitCode,
		OOMKilled: got.State.OOMKilled,
		Error:     got.State.Error,
		Started:   when(got.State.StartedAt),
		Finished:  when(got.State.FinishedAt),
	}
	// An engine can note the start of a short command after its end.
	if !state.Finished.IsZero() && state.Finished.Before(state.Started) {
		state.Started = state.Finished
	}
	return state, nil
}

// when reads a time of the engine. What has not happened is in the year 1,
// which is Go's zero time too.
func when(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Remove removes the container, running or not, and its anonymous volumes.
// Removing one that is gone is no error.
func (e *Engine) Remove(ctx context.Context, id string) error {
	if err := e.connect(ctx); err != nil {
		return err
	}
	err := e.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && strings.Contains(err.Error(), "is already in progress") {
		err = e.removed(ctx, id)
	}
	if err != nil && !errdefs.IsNotFound(err) {
		return e.explain(err, subject{container: id})
	}
	e.made.Delete(id)
	return nil
}

// removed waits until a container that somebody else removes is gone.
func (e *Engine) removed(ctx context.Context, id string) error {
	result, errs := e.api.ContainerWait(ctx, id, container.WaitConditionRemoved)
	select {
	case <-result:
		return nil
	case err := <-errs:
		return err
	}
}

// List finds the containers of crun runs on this engine, whoever's they are.
func (e *Engine) List(ctx context.Context) ([]engine.Container, error) {
	if err := e.connect(ctx); err != nil {
		return nil, err
	}
	list, err := e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", plan.LabelPrefix+"run"))})
	if err != nil {
		return nil, e.explain(err, subject{})
	}
	containers := make([]engine.Container, 0, len(list))
	for _, c := range list {
		containers = append(containers, engine.Container{ID: c.ID, Run: c.Labels[plan.LabelPrefix+"run"], Status: string(c.State), Labels: c.Labels})
	}
	return containers, nil
}

// Events streams what happens to the container. It is subscribed when Events
// returns. The channel is closed when ctx ends, or when the engine ends the
// stream or refuses it: State tells then.
func (e *Engine) Events(ctx context.Context, id string) (<-chan engine.Event, error) {
	if err := e.connect(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	messages, errs := e.api.Events(ctx, events.ListOptions{
		// An engine sends its headers a moment before it subscribes. What
		// happens between the two is in its memory, which Since asks for.
		Since:   fmt.Sprintf("%d.%09d", now.Unix(), now.Nanosecond()),
		Filters: filters.NewArgs(filters.Arg("type", string(events.ContainerEventType)), filters.Arg("container", id)),
	})
	out := make(chan engine.Event)
	go func() {
		defer close(out)
		for {
			select {
			case m := <-messages:
				select {
				case out <- engine.Event{Time: time.Unix(0, m.TimeNano), Action: string(m.Action), Attrs: m.Actor.Attributes}:
				case <-ctx.Done():
					return
				}
			case <-errs:
				return
			}
		}
	}()
	return out, nil
}
