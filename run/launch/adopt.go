package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/record"
)

// Adopt takes up the run of a monitor that died: one that still runs is
// followed to its end, one that has ended is completed, one that never started
// is cleaned up. It returns when the record is complete. ErrUnreachable: the
// engine cannot be asked, and the record is as it was.
func (o *Owner) Adopt(ctx context.Context) error {
	if err := o.load(); err != nil {
		return err
	}
	o.event("adopted", nil)
	c, err := o.resume(ctx)
	if err != nil || c == nil {
		return err
	}
	return o.see(ctx, c)
}

// resume finds out how the run stands and does what that asks for. It gives a
// connection where the container still runs, and nil where the record has been
// completed.
func (o *Owner) resume(ctx context.Context) (*connection, error) {
	if err := o.findContainer(ctx); err != nil {
		return nil, err
	}
	var err error
	if o.log == nil {
		if o.log, err = o.Record.OpenLog(o.Log); err != nil {
			return nil, err
		}
	}
	if o.state.Phase.Over() {
		o.finish(ctx)
		return nil, o.complete()
	}
	var container engine.State
	if o.state.Container == "" {
		err = engine.ErrNotFound
	} else {
		container, err = o.Engine.State(ctx, o.state.Container)
	}
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil, o.vanished(ctx)
	case err != nil:
		return nil, err
	case container.Status == "created":
		why := errors.New("crun was killed before the start")
		if err := o.undo(ctx, o.state.Container, why); err != why {
			return nil, err
		}
		o.tellEnded()
		return nil, nil
	}
	c, err := o.rejoin(ctx)
	if err != nil {
		return nil, err
	}
	o.state.Monitor = os.Getpid()
	if tell := o.Started; c.over {
		// Whoever waits for word of the run waits for its end.
		o.Started = nil
		defer func() { o.Started = tell }()
	}
	if o.state.Phase == record.Creating {
		o.started(container.Started)
	} else {
		if err := o.Record.SetState(o.state); err != nil {
			o.warn(err)
		}
		if o.Started != nil {
			o.Started()
		}
	}
	return c, nil
}

// noteReboot makes of a run whose end nobody has seen one that a reboot has
// ended, where there was one. What an engine tells of the end of a container
// that it finds after a reboot is its own guess.
func (o *Owner) noteReboot() {
	s := &o.state
	if s.Boot == "" || o.Boot == "" || s.Boot == o.Boot {
		return
	}
	s.Phase, s.Rebooted, s.ExitCode, s.OOMKilled = record.Lost, true, nil, false
	s.Message = "the machine was rebooted while the run went on; what it had written by then is in its log"
}

// findContainer looks for a container that was created and not written down.
func (o *Owner) findContainer(ctx context.Context) error {
	if o.state.Container != "" || o.state.Removed {
		return nil
	}
	id, err := o.listed(ctx)
	if id != "" {
		o.state.Container = id
	}
	return err
}

// listed gives the id of the run's container as the engine lists it, or "".
func (o *Owner) listed(ctx context.Context) (string, error) {
	all, err := o.Engine.List(ctx)
	if err != nil {
		return "", err
	}
	for _, c := range all {
		if c.Run == o.Record.ID {
			return c.ID, nil
		}
	}
	return "", nil
}

// finish removes what may be left of a run that is over.
func (o *Owner) finish(ctx context.Context) {
	if !o.state.Removed && o.state.Container != "" {
		o.remove(ctx, o.state.Container)
		return
	}
	o.removeScratch()
	o.state.Removed = true
}

// vanished writes that there is no container.
func (o *Owner) vanished(ctx context.Context) error {
	o.removeScratch()
	s := &o.state
	s.Finished = time.Now().UTC()
	if s.Phase == record.Creating {
		return o.unmade(ctx)
	}
	s.Removed = true
	if n := len(s.Attempts); n > 0 && s.Container == "" {
		return o.endWith(s.Attempts[n-1], "its monitor was killed between two attempts")
	}
	s.Phase, s.Message = record.Lost, "the container vanished while nobody watched; how the run ended is not known"
	o.noteReboot()
	var r inside.Report
	if report := o.shared(inside.ReportPath); report != nil && json.Unmarshal(report, &r) == nil {
		// Init has written the end, and the monitor died before it could.
		o.Record.Put(record.ReportFile, report)
		s.Phase, s.Message, s.ExitCode, s.Rebooted = record.Ended, "", &r.ExitCode, false
		o.readReport(&r)
	}
	o.event(string(s.Phase), nil)
	return errors.Join(o.Record.SetState(*s), o.complete())
}

// unmade writes that the run was never started. Its container may be on its
// way still.
func (o *Owner) unmade(ctx context.Context) error {
	s := &o.state
	code := ExitFailed
	s.Phase, s.Message, s.ExitCode = record.Failed, "crun was killed before the start", &code
	o.event(string(s.Phase), nil)
	if err := o.Record.SetState(*s); err != nil {
		return err
	}
	o.tellEnded()
	if err := o.linger(ctx); err != nil {
		return err // the next command looks again
	}
	s.Removed = true
	return o.complete()
}

// linger removes the container of a run that was never started until the
// engine lists none. One that is being made can be asked for and removed, with
// the answer that it does not exist, before it is there: so what counts is the
// list, and an empty one only after a while.
func (o *Owner) linger(ctx context.Context) error {
	listed := false
	for end := time.Now().Add(o.Linger); ; {
		id, err := o.listed(ctx)
		switch {
		case err != nil:
			return err
		case id != "":
			listed, o.state.Container = true, id
			if err := o.Engine.Remove(ctx, id); err != nil {
				return err
			}
		case listed || !time.Now().Before(end):
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(o.Retry):
		}
	}
}

// rejoin connects to a container that was started by another: the whole log is
// read from the engine's copy, and what the record has already is passed over.
func (o *Owner) rejoin(ctx context.Context) (*connection, error) {
	id := o.state.Container
	ctx, cancel := context.WithCancel(ctx)
	stream, err := o.Engine.Logs(ctx, id, true)
	if err != nil {
		cancel()
		return nil, err
	}
	c := &connection{id: id, stream: stream, cancel: cancel, drained: make(chan struct{})}
	if c.exit, err = o.Engine.Wait(ctx, id); err != nil {
		c.close()
		return nil, err
	}
	// One that has ended already does not end once more.
	container, err := o.Engine.State(ctx, id)
	if err != nil {
		c.close()
		return nil, err
	}
	over := container.Status == "exited" || container.Status == "dead"
	c.over = over
	if over {
		ended := make(chan engine.Exit, 1)
		ended <- engine.Exit{Code: container.ExitCode}
		c.exit = ended
	}
	c.events, c.watched = o.watch(ctx, id)
	o.state.Paused = container.Status == "paused"
	o.heedStops(ctx)
	stdout := &follower{to: o.log.Stdout(), have: o.Record.ReadLog(), log: o.log}
	stderr := &follower{to: o.log.Stderr(), have: o.Record.ReadLog(), log: o.log, stderr: true}
	// Each reads up to here and not what the other writes meanwhile.
	stdout.until, stderr.until = o.log.Total(), o.log.Total()
	stdout.from, stderr.from = o.state.LogBefore, o.state.LogBefore
	go func() {
		defer close(c.drained)
		defer stdout.have.Close()
		defer stderr.have.Close()
		stream.Demux(stdout, stderr)
		if over && o.engineLost {
			o.log.Gap(0, "the run ended while the engine was away; its last output may be missing here")
		}
	}()
	return c, nil
}

// follower writes one stream of the engine's copy into the log and leaves out
// what is there already. Where the two differ the engine has dropped the
// beginning of its copy (it is bounded), and a gap says so.
type follower struct {
	to     io.Writer
	log    *record.LogWriter
	stderr bool

	have  *record.LogReader
	from  int64  // bytes of output in have that are of attempts before
	until int64  // bytes of output to read of have
	seen  int64  // of them read
	rest  []byte // read of this stream and not compared yet
	done  bool   // nothing is left to compare
}

func (f *follower) Write(p []byte) (int, error) {
	n := len(p)
	for !f.done && len(p) > 0 {
		if len(f.rest) == 0 && !f.more() {
			f.done = true
			break
		}
		m := min(len(f.rest), len(p))
		if !bytes.Equal(f.rest[:m], p[:m]) {
			f.log.Gap(0, "the monitor was killed; output may be missing here, or repeated")
			f.done = true
			break
		}
		f.rest, p = f.rest[m:], p[m:]
	}
	if len(p) > 0 {
		if _, err := f.to.Write(p); err != nil {
			return 0, fmt.Errorf("writing the log: %w", err)
		}
	}
	return n, nil
}

// more reads the next piece of this stream from the log.
func (f *follower) more() bool {
	for f.seen < f.until {
		frame, err := f.have.Next()
		if err != nil {
			return false
		}
		if frame.Gap != nil {
			f.seen += frame.Gap.Bytes
			continue // the comparison will tell
		}
		f.seen += int64(len(frame.Data))
		if f.seen <= f.from {
			continue
		}
		if frame.Stderr == f.stderr {
			f.rest = bytes.Clone(frame.Data)
			return true
		}
	}
	return false
}
