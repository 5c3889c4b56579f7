package rules

import (
	"fmt"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
	"crun.dev/crun/run/why/evidence"
)

// signalName gives "SIGKILL" for an engine's "9".
func signalName(text string) string {
	if n, err := strconv.Atoi(text); err == nil {
		if name := unix.SignalName(syscall.Signal(n)); name != "" {
			return name
		}
	}
	return text
}

func timeText(d plan.Duration) string {
	return plan.FormatDuration(time.Duration(d).Round(time.Second))
}

func durationOf(c *evidence.Case) plan.Duration {
	if c.Report != nil && c.Report.Duration > 0 {
		return c.Report.Duration
	}
	if c.State != nil && !c.State.Finished.IsZero() {
		return plan.Duration(c.State.Finished.Sub(c.State.Started))
	}
	return 0
}

// throttled is the share of the scheduler's periods in which the run had to wait
// for its quota, in percent.
func throttled(c *evidence.Case) int64 {
	n := c.Counters()
	if n.CPUPeriods == nil || n.ThrottledPeriods == nil || *n.CPUPeriods < 100 {
		return 0
	}
	return *n.ThrottledPeriods * 100 / *n.CPUPeriods
}

func percentText(n int64) string { return fmt.Sprintf("%d %%", n) }

// status is the wait status as a sign.
func status(c *evidence.Case) evidence.Sign {
	sign := evidence.Sign{What: "ended", Value: "how is not known", Time: c.Ended()}
	switch {
	case c.Signal != "":
		sign.Value = "by " + c.Signal
	case c.ExitCode != nil:
		sign.Value = fmt.Sprintf("with exit code %d", *c.ExitCode)
	}
	return sign
}

// signaled begins a finding on an end by a signal: the wait status, and the line
// that tells of it, where there is one. It is certain where the command itself
// was seen to end by it.
func signaled(c *evidence.Case, signal string, m []string) *evidence.Finding {
	f := &evidence.Finding{Sure: evidence.Likely, Signs: []evidence.Sign{status(c)}}
	if m != nil {
		f.Signs = append(f.Signs, said(m[0]))
	}
	if c.Signal == signal {
		f.Sure = evidence.Certain
	}
	return f
}

func failed(c *evidence.Case) bool { return c.State != nil && c.State.Phase == record.Failed }
