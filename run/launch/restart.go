package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"crun.dev/crun/run/record"
)

// errAgain says that the command is to be started once more.
var errAgain = errors.New("to be started again")

// Pauses before a restart, and how often a request to stop is looked for in
// one.
const (
	firstBackoff = time.Second
	maxBackoff   = time.Minute
	stopLook     = 100 * time.Millisecond
)

// mayRestart tells whether the run, whose end is in the state, is to be started
// again. What will fail in the same way is not: a command that cannot be
// executed, a limit that cannot be had or is used up. Nor is what somebody has
// ended.
func (o *Owner) mayRestart() bool {
	s := &o.state
	switch {
	case len(s.Attempts) >= o.plan.Restarts,
		s.Phase != record.Ended, s.ExitCode == nil, *s.ExitCode == 0,
		s.OOMKills > 0, s.OOMKilled, s.TimedOut, len(s.Full) > 0,
		*s.ExitCode == ExitFailed, *s.ExitCode == ExitNotExec, *s.ExitCode == ExitMissing:
		return false
	}
	if o.endAsked() {
		return false
	}
	if !o.starts {
		o.warn(errors.New("not started again: the monitor that could do so was killed"))
	}
	return o.starts
}

// ending are the signals by which people end a run, as crun and as an engine
// write them.
var ending = []string{"SIGINT", "SIGQUIT", "SIGTERM", "SIGKILL", "2", "3", "15", "9"}

// endAsked tells whether somebody has asked for the end of the attempt.
func (o *Owner) endAsked() bool {
	events, err := o.Record.Events()
	if err != nil {
		return true // nobody knows
	}
	return slices.ContainsFunc(events, func(e record.Event) bool {
		asked := e.What == stopWhat && e.By != "engine" || (e.What == "signal" || e.What == "kill") && slices.Contains(ending, e.Attrs["signal"])
		return asked && e.Time.After(o.since())
	})
}

// since is when the last attempt that failed had ended.
func (o *Owner) since() time.Time {
	if n := len(o.state.Attempts); n > 0 {
		return o.state.Attempts[n-1].Finished
	}
	return time.Time{}
}

// prepareRestart writes the attempt that has failed into the record and removes
// its container. It tells whether another one may follow.
func (o *Owner) prepareRestart(ctx context.Context, id string) bool {
	before := o.state
	o.remove(ctx, id)
	if !o.state.Removed {
		return false
	}
	o.unshare()
	s := &o.state
	failed := record.Attempt{Started: s.Started, Finished: s.Finished, ExitCode: *s.ExitCode, Signal: s.Signal}
	how := fmt.Sprintf("exit code %d", failed.ExitCode)
	if failed.Signal != "" {
		how = failed.Signal
	}
	s.Attempts = append(s.Attempts, failed)
	o.event("attempt failed", map[string]string{"attempt": fmt.Sprint(len(s.Attempts)), "exit_code": fmt.Sprint(failed.ExitCode)})
	o.log.Gap(0, fmt.Sprintf("attempt %d ended with %s; attempt %d of at most %d starts in %s", len(s.Attempts), how, len(s.Attempts)+1, o.plan.Restarts+1, o.backoff()))
	s.Phase, s.Container, s.Removed, s.Finished, s.ExitCode, s.Signal = record.Running, "", false, time.Time{}, nil, ""
	s.MemoryPeak, s.LogBefore = 0, o.log.Total()
	if err := o.Record.SetState(*s); err != nil {
		o.state = before
		o.state.Removed = true
		o.warn(err)
		return false
	}
	return true
}

// backoff is the pause behind the last attempt.
func (o *Owner) backoff() time.Duration {
	pause := o.Backoff
	if pause == 0 {
		pause = firstBackoff
	}
	for range len(o.state.Attempts) - 1 {
		pause = min(2*pause, maxBackoff)
	}
	return pause
}

// pause waits before the next attempt. It gives errAgain, or completes the
// record where somebody has asked for the end meanwhile.
func (o *Owner) pause(ctx context.Context) error {
	for end := time.Now().Add(o.backoff()); time.Now().Before(end); {
		if o.endAsked() {
			s := &o.state
			s.Removed = true
			return o.endWith(s.Attempts[len(s.Attempts)-1], "")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(stopLook, time.Until(end))):
		}
	}
	return errAgain
}

// endWith completes the record of a run whose last attempt is the failed one.
func (o *Owner) endWith(last record.Attempt, message string) error {
	s := &o.state
	s.Attempts = s.Attempts[:len(s.Attempts)-1]
	s.Phase, s.Message, s.Started, s.Finished = record.Ended, message, last.Started, last.Finished
	s.ExitCode, s.Signal = &last.ExitCode, last.Signal
	o.event("ended", map[string]string{"exit_code": fmt.Sprint(last.ExitCode)})
	return errors.Join(o.Record.SetState(*s), o.complete())
}
