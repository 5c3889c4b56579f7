package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var forkWords = lazyregexp.New(`OSError: \[Errno 12\].*|fork: (?:retry: )?(?:Cannot allocate memory|无法分配内存).*`)

// forkMemory: a fork is refused rather than anything killed: the parent is so
// large that the kernel will not promise it twice.
var forkMemory = evidence.Rule{
	Code:  "fork-memory",
	Title: "a new process was refused for want of memory",
	Mechanism: `fork copies the parent's promise of memory. With a large parent, a strict overcommit rule, or memory nearly gone, the kernel
refuses with ENOMEM and kills nobody. It shows when DataLoader workers start: at the first batch, or at the first of a validation.
Source: fork(2), ENOMEM.`,
	Find: words(forkWords, func(c *evidence.Case, m []string) (cause, fix evidence.Text) {
		if c.Words(forkCalls) == nil {
			return cause, fix // a mapping was refused
		}
		return evidence.Say("the kernel refused a new process: there was no memory to promise it", "内核拒绝创建新进程：可分配的内存不足"),
			evidence.Say("fewer workers, persistent_workers=True so that they start early, or --memory", "减少 workers，使用 persistent_workers=True 提前启动，或增大 --memory")
	}),
}
