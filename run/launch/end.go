package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"crun.dev/crun/run/engine"
)

// drainTime bounds the wait for output behind the end of a container, and for
// the end behind the output.
const drainTime = 10 * time.Second

// see follows a running container to its end and completes the record.
func (o *Owner) see(ctx context.Context, c *connection) error {
	for {
		watched, stop := context.WithCancel(ctx)
		tmpdir := o.watchTmpdir(watched, c.id)
		exit, err := o.exit(ctx, c)
		stop()
		o.seen(tmpdir)
		if err == nil {
			select {
			case <-c.drained:
			case <-time.After(drainTime):
				o.log.Gap(0, "the engine did not end the output")
			}
			err := o.conclude(ctx, c.id, exit)
			c.close()
			return err
		}
		// The engine went away, and maybe the container with it.
		c.close()
		<-c.drained
		o.event("engine lost", map[string]string{"message": err.Error()})
		o.engineLost = true
		if c, err = o.reconnect(ctx); err != nil || c == nil {
			return err
		}
	}
}

// errOutputLost says that the output ended, and the container did not.
var errOutputLost = errors.New("the engine ended the output of a running container")

// exit waits for the end. An error says that this connection does not tell it,
// or not the output up to it.
func (o *Owner) exit(ctx context.Context, c *connection) (int, error) {
	drained := c.drained
	var late <-chan time.Time
	limit := o.timeLimit()
	for {
		select {
		case e := <-c.events:
			o.heed(ctx, e)
		case <-limit:
			limit = o.unpause(ctx, c.id)
		case exit := <-c.exit:
			return exit.Code, exit.Err
		case <-drained:
			// As a rule the end comes right behind.
			drained, late = nil, time.After(drainTime)
			o.keepEarly()
		case <-late:
			if container, err := o.Engine.State(ctx, c.id); err == nil && (container.Status == "running" || container.Status == "paused") {
				return 0, errOutputLost
			}
			late = nil
		}
	}
}

// reconnect waits for the engine to come back. It gives nil where the run is
// over and its record complete.
func (o *Owner) reconnect(ctx context.Context) (*connection, error) {
	for {
		c, err := o.resume(ctx)
		if !errors.Is(err, engine.ErrUnreachable) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(o.Retry):
		}
	}
}

// conclude completes the record of a run whose container has ended.
func (o *Owner) conclude(ctx context.Context, id string, code int) error {
	outer := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	o.read(ctx, id, code)
	if o.mayRestart() && o.prepareRestart(ctx, id) {
		return o.pause(outer)
	}
	attrs := map[string]string{}
	if o.state.ExitCode != nil {
		attrs["exit_code"] = fmt.Sprint(*o.state.ExitCode)
	}
	o.event("ended", attrs)
	written := o.writeEnd(ctx, id)
	if written != nil && !errors.Is(written, fs.ErrNotExist) {
		o.warn(written)
	}
	return errors.Join(written, o.complete())
}

// writeEnd writes the end into the record and removes the container. What
// cannot be written down stays in the container, unless somebody has removed
// the record. Where init's report is in the record already, nothing is lost
// with the container, and both are done at once: whoever adopts the run reads
// the report.
func (o *Owner) writeEnd(ctx context.Context, id string) (err error) {
	if !o.reported {
		if err = o.Record.SetState(o.state); err == nil || errors.Is(err, fs.ErrNotExist) {
			o.remove(ctx, id)
		}
		return err
	}
	written, state := make(chan error, 1), o.state
	go func() { written <- o.Record.SetState(state) }()
	defer func() { err = <-written }()
	o.remove(ctx, id)
	return nil
}

// remove removes the container and the run's tmpdir.
func (o *Owner) remove(ctx context.Context, id string) {
	if err := o.Engine.Remove(ctx, id); err != nil {
		o.warn(fmt.Errorf("the container is still there: %w", err))
		return
	}
	o.removeScratch()
	o.state.Removed = true
}

// complete does what remains once the container has been seen to.
func (o *Owner) complete() error {
	if err := o.log.Err(); err != nil {
		o.warn(fmt.Errorf("the log is not whole: %w", err))
	}
	o.log.Close()
	o.tellEnded()
	err := o.Record.CompressLog()
	if o.state.Removed {
		o.unshare()
	}
	o.state.Complete = o.state.Removed && err == nil
	return errors.Join(err, o.Record.SetState(o.state))
}

// tellEnded calls Ended, once.
func (o *Owner) tellEnded() {
	if o.Ended != nil && !o.told {
		o.told = true
		o.Ended(o.state)
	}
}
