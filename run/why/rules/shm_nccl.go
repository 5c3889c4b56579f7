package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/why/evidence"
)

var ncclWords = lazyregexp.New(`NCCL WARN .*(?:[Uu]nable to allocate shared memory .*No space left|posix_fallocate failed: No space left|failed to extend /dev/shm/nccl.*No space left|/dev/shm/nccl.*No space left).*|.*shared memory segment /dev/shm/nccl.*No space left.*`)

// shmNCCL: NCCL takes a segment of /dev/shm for each pair of ranks.
var shmNCCL = evidence.Rule{
	Code:  "shm-nccl",
	Title: "/dev/shm was too small for NCCL",
	Mechanism: `NCCL connects the ranks of a machine through segments of some 10 MB in /dev/shm, a pair each. Its warning names the size and
"No space left on device". The same line without these words has another cause (a CUDA call on the segment failed), and more room does not
help there.
Source: NCCL's documentation, "Troubleshooting", "Shared memory"; nccl issues 342 and 1518.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Words(ncclWords)
		if m == nil {
			return nil
		}
		f := &evidence.Finding{
			Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])},
			Cause: evidence.Say("/dev/shm was too small for NCCL's segments", "/dev/shm 太小，NCCL 无法创建共享内存段"),
			Fix:   evidence.Say("--shm-size 1g or more", "--shm-size 1g 或更大"),
		}
		if used, held, ok := c.PlacePeak(plan.ShmPath); ok {
			f.Signs = append(f.Signs, evidence.Sign{What: plan.ShmPath, Value: size(used), Limit: size(held)})
			f.Fix = evidence.Say("--shm-size %s", "--shm-size %s", moreShm(held))
		}
		return f
	},
}
