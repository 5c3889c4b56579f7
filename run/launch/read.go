package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/record"
)

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
