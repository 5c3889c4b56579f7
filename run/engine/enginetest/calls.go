package enginetest

import (
	"context"
	"errors"
	"fmt"

	"crun.dev/crun/run/engine"
)

// Signal sends a signal.
func (f *Fake) Signal(ctx context.Context, id, signal string) error {
	if err := f.call(ctx, "signal"); err != nil {
		return err
	}
	c, err := f.get(id)
	if err != nil {
		return err
	}
	f.mu.Lock()
	running := c.state.Status == "running" || c.state.Status == "paused"
	f.mu.Unlock()
	if !running {
		return fmt.Errorf("container %s: %w", id, engine.ErrNotRunning)
	}
	c.event("kill", map[string]string{"signal": signal})
	if signal == "SIGKILL" {
		c.kill()
		return nil
	}
	select {
	case c.signals <- signal:
	default:
	}
	return nil
}

// Pause stops the container as somebody else does it: its command is to heed
// Process.Paused.
func (f *Fake) Pause(id string) {
	c, err := f.get(id)
	if err != nil {
		return
	}
	f.mu.Lock()
	c.state.Status = "paused"
	f.mu.Unlock()
	c.event("pause", nil)
}

// Unpause lets it run on.
func (f *Fake) Unpause(ctx context.Context, id string) error {
	if err := f.call(ctx, "unpause"); err != nil {
		return err
	}
	c, err := f.get(id)
	if err != nil {
		return err
	}
	f.mu.Lock()
	paused := c.state.Status == "paused"
	if paused {
		c.state.Status = "running"
	}
	f.mu.Unlock()
	if paused {
		c.event("unpause", nil)
	}
	return nil
}

// Resize does nothing.
func (f *Fake) Resize(ctx context.Context, id string, width, height uint) error {
	return f.call(ctx, "resize")
}

// State tells how the container stands.
func (f *Fake) State(ctx context.Context, id string) (engine.State, error) {
	if err := f.call(ctx, "state"); err != nil {
		return engine.State{}, err
	}
	c, err := f.get(id)
	if err != nil {
		return engine.State{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return c.state, nil
}

// Memory is 1 GiB for what runs.
func (f *Fake) Memory(ctx context.Context, id string) (int64, error) {
	if err := f.call(ctx, "memory"); err != nil {
		return 0, err
	}
	_, err := f.get(id)
	return 1 << 30, err
}

// Exec fails: commands here are functions.
func (f *Fake) Exec(ctx context.Context, id string, opts engine.ExecOptions) (engine.Execution, error) {
	return nil, errors.ErrUnsupported
}

// Logs reads the engine's copy.
func (f *Fake) Logs(ctx context.Context, id string, follow bool) (engine.Stream, error) {
	if err := f.call(ctx, "logs"); err != nil {
		return nil, err
	}
	c, err := f.get(id)
	if err != nil {
		return nil, err
	}
	return &stream{c: c, out: c.log.reader(follow)}, nil
}

// Remove removes the container.
func (f *Fake) Remove(ctx context.Context, id string) error {
	if err := f.call(ctx, "remove"); err != nil {
		return err
	}
	c, err := f.get(id)
	if err != nil {
		return nil
	}
	c.kill()
	f.mu.Lock()
	delete(f.containers, id)
	f.mu.Unlock()
	f.done("remove")
	return nil
}

// List lists the containers.
func (f *Fake) List(ctx context.Context) ([]engine.Container, error) {
	if err := f.call(ctx, "list"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []engine.Container
	for _, c := range f.containers {
		all = append(all, engine.Container{ID: c.id, Run: c.plan.ID, Status: c.state.Status, Labels: c.plan.Spec.Annotations})
	}
	return all, nil
}

// Events streams what happens from now on.
func (f *Fake) Events(ctx context.Context, id string) (<-chan engine.Event, error) {
	if err := f.call(ctx, "events"); err != nil {
		return nil, err
	}
	c, err := f.get(id)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan engine.Event, 32)
	c.events = append(c.events, ch)
	return ch, nil
}

// Close does nothing.
func (f *Fake) Close() error { return nil }
