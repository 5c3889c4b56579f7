package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

// childWords are what programs say of a child that was killed: a shell (in the
// languages of its users), torchrun, Python's subprocess and process pools.
var childWords = lazyregexp.New(`(?i)(?:^|: |\s)(?:killed|已杀死|已终止|getötet|tué)(?:\s|$)|SIGKILL|exitcode:? -9\b|Signal 9\b|died with <Signals\.SIGKILL|terminated abruptly|code -9\b`)

// memoryChild: the kernel kills the largest process, which may be a child; the
// command that started it goes on and ends by itself, often with a word that
// does not say why.
var memoryChild = evidence.Rule{
	Code:  "memory-child",
	Title: "the kernel killed a child process for want of memory",
	Mechanism: `At the memory limit the kernel kills the largest process of the run, not the run. If that was a child, its parent sees an end by
SIGKILL and does with it what it likes: raise an exception, print "Killed", wait for ever. The counter oom_kill of the run's cgroup counts
it all the same.
Source: Linux, Documentation/admin-guide/cgroup-v2.rst, "memory.events"; kubernetes issue 50632.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.OOMKills() == 0 || c.Clean() || c.Died("SIGKILL") || !limitReached(c) {
			return nil
		}
		f := &evidence.Finding{Sure: evidence.Likely, Signs: oomSigns(c), Fix: moreMemory(c)}
		limit, _ := c.Memory()
		f.Cause = evidence.Say("a child process was killed at the memory limit of %s, and the run did not get over it", "子进程因达到内存上限 %s 被杀死，随后运行失败", size(limit))
		if m := c.Words(childWords); m != nil {
			f.Sure, f.Signs = evidence.Certain, append(f.Signs, said(m[0]))
			return f
		}
		if e := c.Log.Exception(); e != nil && c.ByException() && e.Type != "RuntimeError" && e.Type != "BrokenPipeError" && e.Type != "EOFError" && e.Type != "ConnectionResetError" {
			f.Aside = true // the run got over it, and died of something else
		}
		return f
	},
}
