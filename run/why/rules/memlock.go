package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/why/evidence"
)

var lockedWords = lazyregexp.New(`(?i)(?:mlock|memlock|pin memory|ibv_reg_mr|ibv_create_\w+|io_uring).*(?:Cannot allocate memory|Operation not permitted|failed|errno 12).*|(?:Cannot allocate memory|failed).*(?:mlock|memlock|ibv_).*`)

// memoryLocked: pinned buffers of InfiniBand and mlock count against memlock.
var memoryLocked = evidence.Rule{
	Code:  "memlock",
	Title: "the limit on locked memory was reached",
	Mechanism: `mlock, InfiniBand and some loaders lock pages so that they stay in memory. RLIMIT_MEMLOCK bounds that, often to 64 KiB or 8 MiB,
and the call fails with ENOMEM or EPERM although memory is free.
Source: getrlimit(2), RLIMIT_MEMLOCK.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Raised(lockedWords)
		if m == nil {
			if m = c.Words(lockedNCCL); m == nil {
				return nil
			}
		}
		f := &evidence.Finding{
			Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])},
			Cause: evidence.Say("memory could not be locked: the limit memlock is too low", "无法锁定内存：memlock 限制过低"),
			Fix:   evidence.Say("--memlock unlimited", "--memlock unlimited"),
		}
		if limit := c.Rlimit("memlock"); limit > 0 {
			f.Signs = append(f.Signs, evidence.Sign{What: "memlock", Value: "held", Limit: plan.FormatBytes(limit)})
		} else if c.Limits != nil {
			return nil // there is no such limit
		}
		return f
	},
}

// lockedNCCL is NCCL's warning, which stands before the traceback.
var lockedNCCL = lazyregexp.New(`NCCL WARN .*ibv_\w+ failed.*Cannot allocate memory.*`)
