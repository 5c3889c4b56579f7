package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/record"
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

// read fills the state with all that is known of the end.
func (o *Owner) read(ctx context.Context, id string, code int) {
	var (
		container      engine.State
		limits, report []byte
		stateErr       error
		kept           [2]error
		all            sync.WaitGroup
	)
	shares := o.shares()
	asked := !shares || !tellsAll(o.shared(inside.ReportPath))
	if asked {
		all.Go(func() { container, stateErr = o.Engine.State(ctx, id) })
	}
	early := map[string][]byte{} // in the record already
	if o.early != nil {
		early = <-o.early
		o.early = nil
	}
	read := func(path, name string, to *[]byte, kept *error) {
		if shares {
			*to = o.shared(path)
		} else {
			*to, _ = o.Engine.ReadFile(ctx, id, path)
		}
		if had, ok := early[name]; !ok || !bytes.Equal(had, *to) {
			*kept = o.keep(name, *to)
		}
	}
	all.Go(func() { read(inside.LimitsPath, record.LimitsFile, &limits, &kept[0]) })
	all.Go(func() { read(inside.ReportPath, record.ReportFile, &report, &kept[1]) })
	all.Wait()

	o.reported = false
	s := &o.state
	s.Phase, s.ExitCode, s.Finished, s.Paused = record.Ended, &code, time.Now().UTC(), false
	if asked && stateErr == nil {
		s.OOMKilled = container.OOMKilled
		if !container.Started.IsZero() {
			s.Started = container.Started.UTC()
		}
		if !container.Finished.IsZero() {
			s.Finished = container.Finished.UTC()
		}
	}
	if memory := o.plan.Spec.Linux.Resources.Memory; memory != nil && memory.Limit != nil {
		s.MemoryLimit = *memory.Limit
	}
	if err := errors.Join(kept[:]...); err != nil {
		o.warn(err)
	}
	var r inside.Report
	if report == nil || json.Unmarshal(report, &r) != nil {
		if o.noteReboot(); s.Rebooted {
			return
		}
		// Init itself was ended. SIGKILL can do that at any time; another
		// signal only before init listens, and then Go's runtime, which cannot
		// die of it as PID 1, exits with 2, but not before its other threads had
		// time to go on: the limits may be there.
		if code == 128+9 {
			s.Signal = "SIGKILL"
		} else if sent := o.lastSignal(); code == 2 && sent != "" && s.Finished.Sub(s.Started) < earlyEnd {
			early := 128 + int(unix.SignalNum(sent))
			s.Signal, s.ExitCode = sent, &early
			s.Message = sent + " came before the command was started"
		}
		return
	}
	o.reported = shares && kept[1] == nil
	o.readReport(&r)
}

// tellsAll tells whether a report of init's has what an engine knows of the end:
// when it was, and whether the kernel has killed for want of memory.
func tellsAll(report []byte) bool {
	var r inside.Report
	return report != nil && json.Unmarshal(report, &r) == nil && !r.Started.IsZero() && !r.Ended.IsZero() &&
		r.Counters != nil && r.Counters.OOMKills != nil
}

// earlyEnd bounds how long a run may have lasted of which a signal came before
// init listened.
const earlyEnd = 10 * time.Second

// lastSignal names the last signal that crun has sent to the run, or "".
func (o *Owner) lastSignal() (name string) {
	events, err := o.Record.Events()
	if err != nil {
		return ""
	}
	for _, e := range events {
		if e.What == "signal" && unix.SignalNum(e.Attrs["signal"]) != 0 {
			name = e.Attrs["signal"]
		}
	}
	return name
}

// shares tells whether the container has a folder of the record.
func (o *Owner) shares() bool {
	_, err := os.Lstat(ShareDir(o.Record.Dir()))
	return err == nil
}

// keepEarly keeps what init has written once the output has ended: an engine
// tells the end a tenth of a second later, and the record need not wait for it.
func (o *Owner) keepEarly() {
	if o.early != nil || !o.shares() {
		return
	}
	early := make(chan map[string][]byte, 1)
	o.early = early
	go func() {
		kept := make(map[string][]byte)
		for path, name := range map[string]string{inside.LimitsPath: record.LimitsFile, inside.ReportPath: record.ReportFile} {
			if data := o.shared(path); data != nil && o.keep(name, data) == nil {
				kept[name] = data
			}
		}
		early <- kept
	}()
}

// keep puts a file of init's into the record, where there is one.
func (o *Owner) keep(name string, data []byte) error {
	if data == nil {
		return nil
	}
	return o.Record.Put(name, data)
}

// readReport fills the state with what init saw.
func (o *Owner) readReport(r *inside.Report) {
	s := &o.state
	for _, e := range r.Early {
		attrs := map[string]string{"signal": e.Signal, "limit": e.Limit, "reason": e.Reason, "pids": strings.Trim(fmt.Sprint(e.PIDs), "[]")}
		o.Record.AddEvent(record.Event{Time: e.Time, By: "init", What: "early signal", Attrs: attrs})
	}
	for _, d := range r.Changed {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%s was %s at the start and is %s at the end: it was changed from outside while the run lasted", d.Field, d.Asked, d.Effective))
	}
	s.Signal = r.Signal
	if r.Reason == inside.ReasonSignaled || r.Reason == inside.ReasonExited && r.ExitCode != 0 {
		s.Full = o.fullPlaces(r.Counters)
	}
	s.TimedOut = r.Reason == inside.ReasonTimeLimit
	switch r.Reason {
	case inside.ReasonRefused, inside.ReasonNotFound, inside.ReasonNotExec, inside.ReasonInitFailed:
		s.Phase, s.Message = record.Failed, r.Message
		if r.Reason == inside.ReasonRefused && s.Message == "" {
			s.Message = refusal(r.Differences)
		}
	default:
		// The engine's own times count the making of the container too.
		if !r.Started.IsZero() && !r.Ended.IsZero() {
			s.Started, s.Finished = r.Started.UTC(), r.Ended.UTC()
		}
	}
	if o.wentDown(r) {
		s.Rebooted, s.Message = true, "the machine went down while the run went on"
	}
	if c := r.Counters; c != nil {
		if c.MemoryPeak != nil {
			s.MemoryPeak = *c.MemoryPeak
		}
		if c.OOMKills != nil {
			s.OOMKills = *c.OOMKills
		}
	}
}

// wentDown tells whether a shutdown of the machine has ended the run: it sends
// SIGTERM to all that runs, and nobody else did.
func (o *Owner) wentDown(r *inside.Report) bool {
	if r.Signal != "SIGTERM" && !slices.Contains(r.Got, "SIGTERM") {
		return false
	}
	if ended := r.Reason == inside.ReasonExited || r.Reason == inside.ReasonSignaled; !ended || o.lastSignal() != "" || o.state.Boot == "" {
		return false
	}
	if o.Boot != "" && o.Boot != o.state.Boot {
		return true
	}
	return o.GoingDown != nil && o.GoingDown()
}

// refusal is the sentence for limits that the kernel does not hold.
func refusal(all []inside.Difference) string {
	var texts []string
	for _, d := range all {
		if d.Refuse {
			texts = append(texts, d.String())
		}
	}
	return "the kernel does not hold what was asked: " + strings.Join(texts, "; ")
}
