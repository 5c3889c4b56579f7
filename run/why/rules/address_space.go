package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var refusedMemory = lazyregexp.New(`(?:^|\.|\s)(?:MemoryError|_ArrayMemoryError)\b.*|Cannot allocate memory.*|can't allocate memory.*|failed to map segment from shared object.*|std::bad_alloc.*`)

// addressSpace: RLIMIT_AS bounds what a process maps, not what it uses; torch
// and CUDA map far more than they use.
var addressSpace = evidence.Rule{
	Code:  "address-space",
	Title: "the limit on address space was reached",
	Mechanism: `address_space (RLIMIT_AS) bounds what each process may map. Libraries map much that they never touch: importing torch takes some
gigabytes, CUDA tens of them. A mapping beyond fails with ENOMEM, which Python shows as MemoryError, while the memory of the run is far
below its limit.
Source: getrlimit(2), RLIMIT_AS.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		held := c.Rlimit("address_space")
		limit, peak := c.Memory()
		if held == 0 || c.OOMKills() > 0 {
			return nil
		}
		m := c.Raised(refusedMemory)
		if m == nil || limit > 0 && peak > limit-limit/8 {
			return nil
		}
		signs := []evidence.Sign{{What: "address_space", Value: "held", Limit: size(held)}, said(m[0])}
		if peak > 0 && limit > 0 {
			signs = append(signs, evidence.Sign{What: "memory peak", Value: size(peak), Limit: size(limit)})
		}
		return &evidence.Finding{
			Sure: evidence.Likely, Signs: signs,
			Cause: evidence.Say("an allocation was refused by the limit on address space of %s, with memory left", "内存分配因超出地址空间上限 %s 被拒绝，而内存仍有余量", size(held)),
			Fix:   evidence.Say("leave address_space out of the profile; memory is the limit that counts what is used", "从 profile 中去掉 address_space；memory 才限制实际用量"),
		}
	},
}
