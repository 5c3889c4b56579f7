package rules

import (
	"crun.dev/crun/run/why/evidence"
)

// memorySurvived: an OOM kill of a child or of a process started by exec that
// the command never noticed. The run is a success, and may still miss work.
var memorySurvived = evidence.Rule{
	Code:  "memory-survived",
	Title: "the run ended well, but the kernel killed a process of it for want of memory",
	Mechanism: `The counter oom_kill of the run's cgroup is above 0, and the command ended with 0: a child, a notebook's kernel or a process
of "crun exec" was killed. What it was to do is not done.
Source: kubernetes issues 50632 and 78973.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.OOMKills() == 0 || c.ExitCode == nil || *c.ExitCode != 0 || c.Signal != "" || !limitReached(c) {
			return nil
		}
		limit, _ := c.Memory()
		return &evidence.Finding{
			Sure: evidence.Certain, Signs: oomSigns(c),
			Cause: evidence.Say("the run ended with 0, but a process of it was killed at the memory limit of %s", "运行成功结束，但其中一个进程因达到内存上限 %s 被杀死", size(limit)),
			Fix:   moreMemory(c),
		}
	},
}
