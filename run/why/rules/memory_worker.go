package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var (
	workerKilled = lazyregexp.New(`DataLoader worker \(pid(?:\(s\))? [\d, ]+\) is killed by signal: Killed.*`)
	workerGone   = lazyregexp.New(`DataLoader worker \(pid(?:\(s\))? [\d, ]+\) exited unexpectedly.*`)
)

// memoryWorker: PyTorch's DataLoader turns the SIGKILL of a worker into an
// exception of the main process, so that the run ends with 1 and not 137.
var memoryWorker = evidence.Rule{
	Code:  "memory-worker",
	Title: "the kernel killed a DataLoader worker for want of memory",
	Mechanism: `Each DataLoader worker is a process that holds its own copy of what it touches, and batches on their way. At the memory limit the
kernel kills one; the main process raises "DataLoader worker is killed by signal: Killed" and ends with 1.
Source: pytorch issue 8976.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Raised(workerKilled)
		if m == nil && c.OOMKills() > 0 {
			m = c.Raised(workerGone) // which does not say how
		}
		if m == nil || c.Recorded() && c.OOMKills() == 0 {
			return nil
		}
		limit, _ := c.Memory()
		f := &evidence.Finding{Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])}}
		if c.Recorded() && limitReached(c) {
			f.Sure, f.Signs = evidence.Certain, append(oomSigns(c), f.Signs...)
			f.Cause = evidence.Say("a DataLoader worker was killed at the run's memory limit of %s", "DataLoader 的 worker 因达到内存上限 %s 被杀死", size(limit))
			f.Fix = evidence.Say("--memory %s, or a smaller num_workers", "--memory %s，或减小 num_workers", more(limit))
			return f
		}
		f.Cause = evidence.Say("a DataLoader worker was killed, as the kernel does for want of memory", "DataLoader 的 worker 被杀死，通常是因为内存不足")
		f.Fix = evidence.Say("more memory, or a smaller num_workers", "增加内存，或减小 num_workers")
		return f
	},
}
