package rules

import (
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/why/evidence"
)

// memoryTmpfs: files in a tmpfs are memory of the run: the limit is reached
// though no process is large, and df shows room.
var memoryTmpfs = evidence.Rule{
	Code:  "memory-tmpfs",
	Title: "files in /tmp or /dev/shm took the run's memory",
	Mechanism: `A tmpfs keeps its files in memory, and what a run writes there counts for its memory limit. A tmpfs may be larger than the limit,
so that df shows free space when none can be had. The kernel then kills a process, which frees nothing.
Source: tmpfs(5); moby issue 47967.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		limit, _ := c.Memory()
		if c.OOMKills() == 0 || c.Clean() || !limitReached(c) {
			return nil
		}
		var held int64
		signs := oomSigns(c)
		for _, path := range []string{plan.TmpPath, plan.ShmPath} {
			if used, size_, ok := c.Place(path); ok && used > 0 {
				held += used
				signs = append(signs, evidence.Sign{What: path, Value: size(used), Limit: size(size_)})
			}
		}
		if held < limit/3 {
			return nil
		}
		return &evidence.Finding{
			Sure: evidence.Certain, Signs: signs,
			Cause: evidence.Say("files in memory (/tmp, /dev/shm) held %s of the run's memory limit of %s, and the kernel killed it", "内存中的文件（/tmp、/dev/shm）占用了 %s，内存上限 %s 被用尽，进程被内核杀死", size(held), size(limit)),
			Fix:   evidence.Say("--tmpdir 20g,disk for files, or --memory %s", "用 --tmpdir 20g,disk 存放临时文件，或 --memory %s", more(limit+held)),
		}
	},
}
