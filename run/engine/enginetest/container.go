package enginetest

import (
	"io"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

// Process is a running command.
type Process struct {
	Plan    *plan.Plan
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Signals <-chan string // SIGKILL ends the command without it

	c *container
}

// WriteFile makes a file in the container.
func (p *Process) WriteFile(path string, data []byte) {
	p.c.fake.mu.Lock()
	defer p.c.fake.mu.Unlock()
	p.c.files[path] = data
}

// Paused tells whether somebody has paused the container.
func (p *Process) Paused() bool {
	p.c.fake.mu.Lock()
	defer p.c.fake.mu.Unlock()
	return p.c.state.Status == "paused"
}

// OOM makes the engine report that the container ran out of memory.
func (p *Process) OOM() {
	p.c.fake.mu.Lock()
	p.c.state.OOMKilled = true
	p.c.fake.mu.Unlock()
	p.c.event("oom", nil)
}

type container struct {
	fake     *Fake
	id       string
	plan     *plan.Plan
	secrets  map[string]string
	files    map[string][]byte
	state    engine.State
	attached bool
	waited   bool
	stdin    *buffer
	log      *buffer   // the engine's own copy
	streams  []*buffer // one for each that attached
	waiters  []chan engine.Exit
	events   []chan engine.Event
	signals  chan string
	killed   chan struct{}
	ended    chan struct{}
}
