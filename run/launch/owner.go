package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// Exit codes where the command gives none.
const (
	ExitFailed  = 125 // crun or the engine failed
	ExitNotExec = 126
	ExitMissing = 127
)

// ErrAbandoned says that whoever asked for the run was gone, or wanted it no
// more, before its command was started. The container is removed.
var ErrAbandoned = errors.New("the run was given up before its start")

// Owner drives one run. The caller holds the record's lock.
type Owner struct {
	Engine engine.Engine
	Record *record.Record
	Log    record.LogLimits

	// Boot names the boot of this machine; "" where nobody knows.
	Boot string

	// GoingDown tells whether this machine is about to shut down. It is asked
	// where a run was ended and nobody is known to have done it; nil is no.
	GoingDown func() bool

	// Share says that the engine is on this machine, so that the container can
	// be given a folder of the record.
	Share bool

	// Backoff is the pause before the first restart of a run that failed; each
	// further one is twice as long, up to a minute. Zero means a second.
	Backoff time.Duration

	// Retry is the pause between two tries to reach an engine that went away.
	Retry time.Duration

	// Pause is the least time between two looks at a tmpdir on disk: a second
	// where it is not set.
	Pause time.Duration

	// Linger is how long adoption looks for the container of a monitor that
	// died before it could write that there is one: an engine finishes what it
	// has begun.
	Linger time.Duration

	// Created is called once the container is there.
	Created func(container string, warnings []string)
	// Ready is called once the log is attached too; the command is started
	// when it returns nil, and not at all otherwise.
	Ready func() error
	// Started is called once the command runs.
	Started func()
	// Noted is called with what whoever follows the run should know while it
	// goes on. It is among the state's warnings at the end.
	Noted func(text string)
	// Ended is called once the container is removed and the state written, or
	// the removal failed; what is left to do then may take a while.
	Ended func(record.State)

	// early gives what keepEarly has put into the record, by name.
	early <-chan map[string][]byte

	// reported says that init's report of the end is in the record.
	reported bool

	// engineLost says that the engine went away while the command ran.
	engineLost bool

	plan   *plan.Plan
	starts bool // this owner has what a start needs
	state  record.State
	log    *record.LogWriter
	told   bool      // Ended has been called
	stops  time.Time // of the last request to stop that has been heeded
}

// cleanupTime bounds what is done behind a run that failed or was given up.
const cleanupTime = 30 * time.Second

// Start takes the run from its plan to its end and returns when its record is
// complete. secrets holds the values of the plan's SecretEnv, files what to
// put into the container. The error, if any, is in the record's state too, but
// for ErrAbandoned, which leaves the record as it was.
func (o *Owner) Start(ctx context.Context, secrets map[string]string, files []engine.File) error {
	if err := o.load(); err != nil {
		return err
	}
	o.starts = true
	for {
		running, err := o.start(ctx, secrets, files)
		if err != nil {
			return err
		}
		if err := o.see(ctx, running); !errors.Is(err, errAgain) {
			return err
		}
		// Whoever asked for the run has been told of its start.
		o.Created, o.Ready, o.Started = nil, nil, nil
	}
}

func (o *Owner) load() (err error) {
	if o.plan, err = o.Record.Plan(); err != nil {
		return err
	}
	o.state, err = o.Record.State()
	return err
}

// connection is what holds a running container: its output and its end.
type connection struct {
	id      string
	exit    <-chan engine.Exit
	events  <-chan engine.Event // those that ask for something: see heed
	drained chan struct{}       // closed when the output has ended
	stream  engine.Stream
	cancel  context.CancelFunc // ends wait and events
	over    bool               // the container had ended when it was connected to
	watched <-chan struct{}    // closed when no event is written into the record any more
}

func (c *connection) close() {
	if c.stream != nil {
		c.stream.Close()
	}
	c.cancel()
	if c.watched != nil {
		<-c.watched
	}
}

// start creates and starts the container. Whatever fails, none stays behind.
func (o *Owner) start(ctx context.Context, secrets map[string]string, files []engine.File) (running *connection, err error) {
	if o.log == nil {
		if o.log, err = o.Record.OpenLog(o.Log); err != nil {
			return nil, o.failed(err)
		}
	}
	if err := o.makeScratch(); err != nil {
		return nil, o.failed(err)
	}
	p := o.plan
	if o.Share {
		if p, err = o.share(files); err != nil {
			o.removeScratch()
			return nil, o.failed(err)
		}
		files = nil
	}
	id, warnings, err := o.Engine.Create(ctx, p, secrets, files)
	if err != nil {
		o.removeScratch()
		return nil, o.failed(err)
	}
	defer func() {
		if err != nil {
			err = o.undo(ctx, id, err)
		}
	}()
	if o.Created != nil {
		o.Created(id, warnings)
	}
	o.event("created", map[string]string{"container": id})
	o.state.Container, o.state.Monitor = id, os.Getpid()
	if o.Share {
		o.state.Boot = o.Boot
	}
	o.state.Warnings = append(o.state.Warnings, warnings...)
	written, state := make(chan error, 1), o.state
	go func() { written <- o.Record.SetState(state) }()
	c, err := o.attach(ctx, id)
	if err = errors.Join(<-written, err); err != nil {
		if c != nil {
			c.close()
		}
		return nil, err
	}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if o.Ready != nil {
		if err := o.Ready(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAbandoned, err)
		}
	}
	if err := o.Engine.Start(ctx, id); err != nil {
		return nil, err
	}
	o.started(time.Now())
	return c, nil
}

// started notes that the command runs. That this cannot be written must not
// end the run: the engine knows it too.
func (o *Owner) started(at time.Time) {
	o.state.Phase, o.state.Started = record.Running, at.UTC()
	if err := o.Record.SetState(o.state); err != nil {
		o.warn(err)
	}
	o.event("started", nil)
	if o.Started != nil {
		o.Started()
	}
}

// attach connects the log, the wait and the events, in time for a start.
func (o *Owner) attach(ctx context.Context, id string) (*connection, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := o.Engine.Attach(ctx, id, engine.AttachOptions{TTY: o.plan.Spec.Process.Terminal})
	if err != nil {
		cancel()
		return nil, err
	}
	c := &connection{id: id, stream: stream, cancel: cancel, drained: make(chan struct{})}
	if c.exit, err = o.Engine.Wait(ctx, id); err != nil {
		c.close()
		return nil, err
	}
	c.events, c.watched = o.watch(ctx, id)
	go func() {
		defer close(c.drained)
		stream.Demux(o.log.Stdout(), o.log.Stderr())
	}()
	return c, nil
}

// eventAttrs are what a record keeps of an engine's event; the others repeat
// the container's labels.
var eventAttrs = []string{"signal", "exitCode"}

// watch writes the engine's events into the record, and gives those on that
// the owner heeds. A run does not fail for want of them. ended is closed when
// the last one is written, soon after ctx has ended.
func (o *Owner) watch(ctx context.Context, id string) (heeded <-chan engine.Event, ended <-chan struct{}) {
	events, err := o.Engine.Events(ctx, id)
	if err != nil {
		o.warn(fmt.Errorf("the engine's events are not in the record: %w", err))
		return nil, nil
	}
	asking, done := make(chan engine.Event), make(chan struct{})
	go func() {
		defer close(done)
		for {
			e, ok := next(ctx, events)
			if !ok {
				return
			}
			switch e.Action {
			case "oom", "die", "kill", "stop", "pause", "unpause", "restart":
			default:
				continue
			}
			attrs := make(map[string]string)
			for _, name := range eventAttrs {
				if value := e.Attrs[name]; value != "" {
					attrs[name] = value
				}
			}
			o.Record.AddEvent(record.Event{Time: e.Time, By: "engine", What: e.Action, Attrs: attrs})
			switch e.Action {
			case "kill", "pause", "unpause":
				select {
				case asking <- e:
				case <-ctx.Done():
				}
			}
		}
	}()
	return asking, done
}

// next gives the next event, or of those that are there already where ctx has
// ended.
func next(ctx context.Context, events <-chan engine.Event) (e engine.Event, ok bool) {
	select {
	case e, ok = <-events:
		return e, ok
	case <-ctx.Done():
	}
	select {
	case e, ok = <-events:
	default:
	}
	return e, ok
}

// undo removes a container that was not started. It returns why.
func (o *Owner) undo(ctx context.Context, id string, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	removed := o.Engine.Remove(ctx, id)
	o.removeScratch()
	if removed == nil && errors.Is(why, ErrAbandoned) {
		return why
	}
	if removed == nil {
		o.state.Removed = true
	} else {
		o.warn(fmt.Errorf("the container is still there: %w", removed))
	}
	return o.failed(why)
}

// failed writes that the command never ran, and why.
func (o *Owner) failed(why error) error {
	o.state.Phase, o.state.Finished = record.Failed, time.Now().UTC()
	o.state.Message = why.Error()
	code := ExitCode(why)
	o.state.ExitCode = &code
	if o.state.Container == "" {
		o.state.Removed = true
	}
	o.state.Complete = o.state.Removed
	o.event("failed", map[string]string{"message": why.Error()})
	if o.log != nil {
		o.log.Close()
	}
	// Nothing was written to the log; an empty one has no use.
	if o.state.Complete {
		o.Record.CompressLog()
		o.unshare()
	}
	if err := o.Record.SetState(o.state); err != nil {
		return errors.Join(why, err)
	}
	return why
}

// ExitCode is what crun ends with when a run could not be started for err.
func ExitCode(err error) int {
	switch {
	case errors.Is(err, engine.ErrNotExec):
		return ExitNotExec
	case errors.Is(err, engine.ErrNoCommand):
		return ExitMissing
	}
	return ExitFailed
}

func (o *Owner) warn(err error) {
	o.state.Warnings = append(o.state.Warnings, err.Error())
}

// event notes what the monitor did. A run does not fail for want of it.
func (o *Owner) event(what string, attrs map[string]string) {
	o.Record.AddEvent(record.Event{By: "monitor", What: what, Attrs: attrs})
}

// Fail writes that the run could not even be tried, and gives why back.
func (o *Owner) Fail(why error) error {
	if err := o.load(); err != nil {
		return errors.Join(why, err)
	}
	return o.failed(why)
}
