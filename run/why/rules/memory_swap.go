package rules

import (
	"crun.dev/crun/run/why/evidence"
)

// memorySwap: a run that may swap is slow before it dies: the kernel kills when
// memory and swap are both full.
var memorySwap = evidence.Rule{
	Code:  "memory-swap",
	Title: "the run filled its memory and its swap, and the kernel killed it",
	Mechanism: `Where memory_swap is above memory the kernel moves pages to swap at the limit, which is some hundred times slower than memory, and
kills when swap is full too. A run in that state seems to hang for a long time.
Source: Linux, Documentation/admin-guide/cgroup-v2.rst, "memory.swap.max".`,
	Find: func(c *evidence.Case) *evidence.Finding {
		limit, _ := c.Memory()
		swap := c.Counters().Swap
		if c.OOMKills() == 0 || c.Clean() || !limitReached(c) || swap == nil || *swap < limit/8 {
			return nil
		}
		return &evidence.Finding{
			Sure:  evidence.Certain,
			Signs: append(oomSigns(c), evidence.Sign{What: "swap", Value: size(*swap)}),
			Cause: evidence.Say("the run filled its memory of %s and %s of swap, and the kernel killed it", "内存 %s 和交换空间 %s 均已用尽，进程被内核杀死", size(limit), size(*swap)),
			Fix:   evidence.Say("--memory %s", "--memory %s", more(limit+*swap)),
		}
	},
}
