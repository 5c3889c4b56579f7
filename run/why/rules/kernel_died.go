package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var kernelDiedWords = lazyregexp.New(`.*(?:AsyncIOLoopKernelRestarter: restarting kernel|KernelRestarter: restarting kernel|[Kk]ernel (?:appears to have )?died|DeadKernelError|Kernel Restarting).*`)

// kernelDied: a notebook's kernel is a child of the server.
var kernelDied = evidence.Rule{
	Code:  "kernel-died",
	Title: "a notebook's kernel died, while its server went on",
	Mechanism: `The kernel is a process beside Jupyter's server; the server sees that it is gone and starts another, and knows no more. With
oom_kill above 0 it was memory (see memory-child); otherwise its last output tells.
Source: jupyter help issue 418.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Log.Match(kernelDiedWords)
		if m == nil {
			return nil
		}
		f := &evidence.Finding{
			Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])},
			Cause: evidence.Say("a notebook's kernel died; why is not in the server's log", "notebook 的内核意外终止；服务器日志没有说明原因"),
			Fix:   evidence.Say("run the cell's code with crun run: its verdict says more", "用 crun run 运行该代码：会给出更多信息"),
			Aside: c.Clean(),
		}
		if c.OOMKills() > 0 && limitReached(c) {
			f.Sure, f.Signs = evidence.Certain, append(oomSigns(c), f.Signs...)
			limit, _ := c.Memory()
			f.Cause = evidence.Say("a notebook's kernel was killed at the run's memory limit of %s", "notebook 的内核因达到内存上限 %s 被杀死", size(limit))
			f.Fix = moreMemory(c)
		}
		return f
	},
}
