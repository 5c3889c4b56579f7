// Package evidence holds what a verdict is drawn from, a Case, and what a rule
// finds in one, a Finding.
package evidence

import (
	"time"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// Case is all that is known of how a run ended. What is nil is not known: of a
// log alone nothing but Log is, and maybe ExitCode.
type Case struct {
	Plan   *plan.Plan
	State  *record.State
	Limits *inside.Limits
	Report *inside.Report
	Events []record.Event
	Log    Log

	// ExitCode is the command's own, or 128 + n for signal n. Signal names the
	// signal that ended it ("SIGKILL"), where that was seen.
	ExitCode *int
	Signal   string
}

// Clean tells whether the command ended as it should.
func (c *Case) Clean() bool {
	return c.ExitCode != nil && *c.ExitCode == 0 && c.Signal == "" && (c.State == nil || c.State.TmpdirUsed == 0)
}

// Recorded tells whether crun saw the run itself, so that what it did not see
// did not happen.
func (c *Case) Recorded() bool { return c.State != nil || c.Report != nil }

// Started tells whether the command ran.
func (c *Case) Started() bool {
	return c.State == nil || c.State.Phase != record.Failed && !c.State.Started.IsZero()
}

// Died tells whether the run ended by this signal: its command did, or a shell
// or launcher that stood before it passed the end on as 128 + n (Bash's manual,
// "Exit Status"), or as 256 - n (Python's negative codes of subprocesses). The
// latter counts for the signals that kill trainings alone: 255 and 252 are more
// often a program's own -1 and -4.
func (c *Case) Died(signal string) bool {
	if c.Signal != "" {
		return c.Signal == signal
	}
	if c.ExitCode == nil {
		return false
	}
	n := int(unix.SignalNum(signal))
	switch signal {
	case "SIGKILL", "SIGSEGV", "SIGABRT", "SIGBUS":
		if *c.ExitCode == 256-n {
			return true
		}
	}
	return *c.ExitCode == 128+n
}

// ByException tells whether the run ended by its last traceback: little stands
// behind it, or a launcher's words on it.
func (c *Case) ByException() bool {
	e := c.Log.Exception()
	return e != nil && (e.Launched || e.After <= linesBefore)
}

// Within tells whether the run ended at most this long after a time. What is
// not known is no objection.
func (c *Case) Within(at time.Time, d time.Duration) bool {
	ended := c.Ended()
	return ended.IsZero() || at.IsZero() || ended.Sub(at) <= d
}

// DisksSeen tells whether the monitor has looked at the disks of project, home
// and tmpdir at the end: it does so where the engine is on its own machine.
func (c *Case) DisksSeen() bool { return c.State != nil && c.State.Boot != "" }

// Counters are those of the end; an empty one where there are none.
func (c *Case) Counters() *inside.Counters {
	if c.Report == nil || c.Report.Counters == nil {
		return &inside.Counters{}
	}
	return c.Report.Counters
}

// OOMKills is how many processes of the run the kernel has killed for want of
// memory. The engine's word counts as one where nothing else is known.
func (c *Case) OOMKills() int64 {
	switch n := c.Counters().OOMKills; {
	case n != nil:
		return *n
	case c.State == nil:
		return 0
	case c.State.OOMKills == 0 && c.State.OOMKilled:
		return 1
	}
	return c.State.OOMKills
}

// Memory gives the limit and the peak in bytes, 0 where they are not known.
func (c *Case) Memory() (limit, peak int64) {
	if c.State != nil {
		limit, peak = c.State.MemoryLimit, c.State.MemoryPeak
	}
	if limit == 0 && c.Plan != nil {
		limit = record.Summarize(c.Plan).MemoryLimit
	}
	if n := c.Counters().MemoryPeak; peak == 0 && n != nil {
		peak = *n
	}
	return limit, peak
}

// Rlimit gives a limit of each process that the kernel held, by its name in a
// plan; 0 where it is not known or lifted.
func (c *Case) Rlimit(name string) int64 {
	if c.Limits == nil {
		return 0
	}
	r, ok := c.Limits.Rlimits[name]
	switch {
	case ok && r.Soft != nil && *r.Soft > 0:
		return *r.Soft
	case ok && r.Hard > 0:
		return r.Hard
	}
	return 0
}

// Place gives how full /dev/shm or /tmp was at the end and its size, in bytes.
// ok is false where it is not known, or lies on a disk.
func (c *Case) Place(path string) (used, size int64, ok bool) {
	if c.Plan == nil {
		return 0, 0, false
	}
	held := map[string]*int64{plan.ShmPath: c.Counters().ShmUsed, plan.TmpPath: c.Counters().TmpUsed}[path]
	size, ok = c.Plan.TmpfsSize(path)
	if held == nil || !ok || size == 0 {
		return 0, 0, false
	}
	return *held, size, true
}

// PlacePeak is Place with the most that was seen near the end: files in shared
// memory go with the processes that had them. What was full an hour before is
// not what a run ended for.
func (c *Case) PlacePeak(path string) (used, size int64, ok bool) {
	used, size, ok = c.Place(path)
	peak := map[string]*inside.Level{plan.ShmPath: c.Peaks().Shm, plan.TmpPath: c.Peaks().Tmp}[path]
	if ok && peak != nil && peak.Value > used && c.near(peak.Time) {
		used = peak.Value
	}
	return used, size, ok
}

// nearEnd is how long a program takes at most from a failure to its end:
// tracebacks, other workers, a checkpoint.
const nearEnd = time.Minute

func (c *Case) near(at time.Time) bool {
	return c.Report == nil || c.Report.Ended.Sub(at) < nearEnd
}

// Peaks are the highest values seen; an empty one where there are none.
func (c *Case) Peaks() *inside.Peaks {
	if c.Report == nil || c.Report.Peaks == nil {
		return &inside.Peaks{}
	}
	return c.Report.Peaks
}

// Full tells whether used is what a writer leaves who finds no room: its last
// write is not taken whole.
func Full(used, size int64) bool { return size > 0 && used >= size-size/32 }

// Ended is when the run ended; zero where it is not known.
func (c *Case) Ended() time.Time {
	switch {
	case c.State != nil:
		return c.State.Finished
	case c.Report != nil:
		return c.Report.Ended
	}
	return time.Time{}
}

// Happened gives the last event of this name, nil where none is in the record.
func (c *Case) Happened(what string) *record.Event {
	for i := len(c.Events) - 1; i >= 0; i-- {
		if c.Events[i].What == what {
			return &c.Events[i]
		}
	}
	return nil
}
