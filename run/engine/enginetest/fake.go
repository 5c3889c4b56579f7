// Package enginetest holds an Engine for tests. It keeps containers in memory,
// runs Go functions in place of commands, and holds its caller to the protocol
// of package engine: attach and wait before start, remove once, leave nothing
// behind.
package enginetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

var _ engine.Engine = (*Fake)(nil)

// T is what Fake needs of a *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Fake is an Engine in memory. Set its fields before it is used.
type Fake struct {
	T T
	// Command is what every container runs; nil ends at once with 0.
	Command func(*Process) int
	// Fault is asked before each call, by its name in lower case ("create",
	// "start", ...); a non-nil error is the call's.
	Fault func(call string) error
	// After is called after each call that succeeded.
	After func(call string)

	mu         sync.Mutex
	containers map[string]*container
	serial     int
	calls      []string
}

// call begins a call of the interface.
func (f *Fake) call(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	f.calls = append(f.calls, name)
	f.mu.Unlock()
	if f.Fault != nil {
		return f.Fault(name)
	}
	return nil
}

func (f *Fake) done(name string) {
	if f.After != nil {
		f.After(name)
	}
}

// Calls gives the names of the calls up to now.
func (f *Fake) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Containers gives the ids of the containers that are there.
func (f *Fake) Containers() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.containers))
}

// Vanish removes a container behind everybody's back.
func (f *Fake) Vanish(id string) {
	f.mu.Lock()
	c := f.containers[id]
	delete(f.containers, id)
	f.mu.Unlock()
	if c != nil {
		c.kill()
	}
}

// Break ends every wait with an error, as the death of the engine does; the
// commands live on.
func (f *Fake) Break(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.containers {
		for _, w := range c.waiters {
			w <- engine.Exit{Err: err}
		}
		c.waiters = nil
		for _, s := range c.streams {
			s.close()
		}
		c.streams = nil
	}
}

func (f *Fake) get(id string) (*container, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.containers[id]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("container %s: %w", id, engine.ErrNotFound)
}

// Facts is those of a host with 8 CPUs and 16 GiB.
func (f *Fake) Facts(ctx context.Context) (engine.Facts, error) {
	if err := f.call(ctx, "facts"); err != nil {
		return engine.Facts{}, err
	}
	return engine.Facts{Endpoint: "fake", Name: "Fake", Version: "1.0", Arch: "amd64", CPUs: 8, Memory: 16 << 30, CgroupVersion: 1, SwapLimit: true}, nil
}

// Image finds every reference but those that begin with "missing".
func (f *Fake) Image(ctx context.Context, ref string) (engine.Image, error) {
	if err := f.call(ctx, "image"); err != nil {
		return engine.Image{}, err
	}
	if len(ref) >= 7 && ref[:7] == "missing" {
		return engine.Image{}, fmt.Errorf("image %s: %w", ref, engine.ErrNotFound)
	}
	return engine.Image{ID: "sha256:0123456789abcdef", Tags: []string{ref}, Architecture: "amd64"}, nil
}

// Create makes a container.
func (f *Fake) Create(ctx context.Context, p *plan.Plan, secrets map[string]string, files []engine.File) (string, []string, error) {
	if err := f.call(ctx, "create"); err != nil {
		return "", nil, err
	}
	f.mu.Lock()
	for _, c := range f.containers {
		if c.plan.ID == p.ID {
			f.mu.Unlock()
			f.T.Helper()
			f.T.Errorf("create: container crun-%s is there already", p.ID)
			return "", nil, fmt.Errorf("container crun-%s is there already", p.ID)
		}
	}
	f.serial++
	c := &container{
		fake: f, id: fmt.Sprintf("c%d", f.serial), plan: p, secrets: maps.Clone(secrets),
		files: make(map[string][]byte), state: engine.State{Status: "created"},
		stdin: newBuffer(), log: newBuffer(), signals: make(chan string, 16),
		killed: make(chan struct{}), ended: make(chan struct{}),
	}
	for _, file := range files {
		data, err := file.Content()
		if err != nil {
			f.mu.Unlock()
			return "", nil, err
		}
		c.files[file.Path] = data
	}
	if f.containers == nil {
		f.containers = make(map[string]*container)
	}
	f.containers[c.id] = c
	f.mu.Unlock()
	f.done("create")
	return c.id, nil, nil
}

// ReadFile reads what Create or the command put there.
func (f *Fake) ReadFile(ctx context.Context, id, path string) ([]byte, error) {
	if err := f.call(ctx, "readfile"); err != nil {
		return nil, err
	}
	c, err := f.get(id)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	data, ok := c.files[path]
	if !ok {
		return nil, fmt.Errorf("%s in container %s: %w", path, id, engine.ErrNotFound)
	}
	return data, nil
}

// Attach connects to the streams.
func (f *Fake) Attach(ctx context.Context, id string, opts engine.AttachOptions) (engine.Stream, error) {
	if err := f.call(ctx, "attach"); err != nil {
		return nil, err
	}
	c, err := f.get(id)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	c.attached = true
	out := newBuffer()
	c.streams = append(c.streams, out)
	f.mu.Unlock()
	f.done("attach")
	s := &stream{c: c, out: out}
	if opts.Stdin {
		s.in = c.stdin
	}
	return s, nil
}

// Wait registers for the exit.
func (f *Fake) Wait(ctx context.Context, id string) (<-chan engine.Exit, error) {
	if err := f.call(ctx, "wait"); err != nil {
		return nil, err
	}
	c, err := f.get(id)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	c.waited = true
	w := make(chan engine.Exit, 2)
	c.waiters = append(c.waiters, w) // the next end, as an engine has it
	f.mu.Unlock()
	f.done("wait")
	return w, nil
}

// Start starts the command.
func (f *Fake) Start(ctx context.Context, id string) error {
	if err := f.call(ctx, "start"); err != nil {
		return err
	}
	c, err := f.get(id)
	if err != nil {
		return err
	}
	f.T.Helper()
	f.mu.Lock()
	if !c.attached || !c.waited || c.state.Status != "created" {
		f.T.Errorf("start: attached %v, waited %v, status %s: want attach, wait, start", c.attached, c.waited, c.state.Status)
	}
	c.state.Status, c.state.Started = "running", time.Now()
	f.mu.Unlock()
	c.event("start", nil)
	go c.run()
	f.done("start")
	return nil
}
