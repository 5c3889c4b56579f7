package rules

import (
	"fmt"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

// memory: the processes of the run held as much as its limit, the kernel found
// nothing to give back, and its out-of-memory killer ended the command with
// SIGKILL. It counts that in memory.oom_control (cgroup v1) or memory.events
// (v2) as oom_kill. The engine's OOMKilled is true only where PID 1 was hit, and
// with crun-init it never is.
var memory = evidence.Rule{
	Code:  "memory",
	Title: "the run reached its memory limit, and the kernel killed it",
	Mechanism: `The kernel counts what all processes of the run hold: their own memory, shared memory, and files in a tmpfs such as /tmp or
/dev/shm. Page cache counts as well, but is given back first and never ends a run. Where the limit is reached and nothing is left to
give back, the kernel kills the largest process with SIGKILL, which nothing can catch, and counts it in oom_kill. Memory at its limit
without that counter is no sign: page cache fills what is free.
Source: Linux, Documentation/admin-guide/cgroup-v2.rst, "memory.events".`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if !c.Recorded() {
			return memorySaid(c)
		}
		if c.OOMKills() == 0 || !c.Died("SIGKILL") || !limitReached(c) {
			return nil
		}
		limit, _ := c.Memory()
		return &evidence.Finding{
			Sure: evidence.Certain, Signs: oomSigns(c),
			Cause: evidence.Say("the run reached its memory limit of %s and the kernel killed it", "内存达到上限 %s，进程被内核杀死", size(limit)),
			Fix:   moreMemory(c),
		}
	},
}

// limitReached tells whether it was the run's own limit that was reached: a host
// out of memory kills too, and counts in the same place. Version 2 counts the
// limit's own reasons apart; version 1 notifies the engine of these alone, whose
// event is in the record (Linux, Documentation/admin-guide/cgroup-v1/memory.rst,
// "OOM Control"). Its failcnt stays at 0 where memory and swap have one limit.
func limitReached(c *evidence.Case) bool {
	limit, peak := c.Memory()
	if limit <= 0 {
		return false
	}
	if n := c.Counters().OOMs; n != nil {
		return *n > 0
	}
	if c.Happened("oom") != nil || c.State != nil && c.State.OOMKilled {
		return true
	}
	if peak > 0 {
		return peak >= limit-limit/16
	}
	hits := c.Counters().MemoryMax
	return hits == nil || *hits > 0
}

// oomSigns is the evidence of a kill for want of memory.
func oomSigns(c *evidence.Case) []evidence.Sign {
	limit, peak := c.Memory()
	kills := evidence.Sign{What: "oom_kill", Value: fmt.Sprint(c.OOMKills())}
	if e := c.Happened("oom"); e != nil {
		kills.Time = e.Time
	}
	signs := []evidence.Sign{kills}
	if limit > 0 && peak > 0 {
		signs = append(signs, evidence.Sign{What: "memory peak", Value: size(peak), Limit: size(limit)})
	}
	return signs
}

func moreMemory(c *evidence.Case) evidence.Text {
	limit, _ := c.Memory()
	return evidence.Say("--memory %s, or a smaller batch or fewer workers", "--memory %s，或减小 batch、减少 workers", more(limit))
}

// memorySaid goes by the kernel's or Slurm's own line, where somebody put it into
// the log.
func memorySaid(c *evidence.Case) *evidence.Finding {
	m := c.Words(oomWords)
	if m == nil {
		return nil
	}
	return &evidence.Finding{
		Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])},
		Cause: evidence.Say("a memory limit was reached and the kernel killed a process, says the log", "日志显示：达到内存上限，内核杀死了进程"),
		Fix:   evidence.Say("more memory for the job (--memory, --mem), or a smaller batch or fewer workers", "为任务增加内存（--memory、--mem），或减小 batch、减少 workers"),
	}
}

var oomWords = lazyregexp.New(`.*(?:Memory cgroup out of memory|oom-kill:constraint=CONSTRAINT_MEMCG|[Dd]etected \d+ oom[-_]kill event|srun: error: .*Out [Oo]f Memory|slurmstepd: error: .*oom-kill).*`)
