package rules

import (
	"fmt"

	"crun.dev/crun/run/why/evidence"
)

// hostMemory: the host itself ran out, and the kernel took a process of this
// run though the run was below its limit. The same counter counts it, but the
// limit was never reached.
var hostMemory = evidence.Rule{
	Code:  "host-memory",
	Title: "the host ran out of memory, and the kernel killed the run",
	Mechanism: `When the whole machine is out of memory the kernel kills the process with the highest score, whatever its own limit. oom_kill of
the run's cgroup counts that too, but memory.events oom, which counts its own limit, does not. It happens where the limits of all
runs add up to more than the machine has, or where others run without limits.
Source: Linux, Documentation/admin-guide/cgroup-v2.rst, "memory.events": oom_kill counts processes killed by any kind of OOM killer.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.OOMKills() == 0 || c.Clean() || limitReached(c) || !c.Died("SIGKILL") && c.Words(childWords) == nil {
			return nil
		}
		limit, peak := c.Memory()
		signs := []evidence.Sign{{What: "oom_kill", Value: fmt.Sprint(c.OOMKills())}}
		if limit > 0 {
			signs = append(signs, evidence.Sign{What: "memory peak", Value: size(peak), Limit: size(limit)})
		}
		if n := c.Counters().OOMs; n != nil {
			signs = append(signs, evidence.Sign{What: "own limit reached", Value: "0 times"})
		}
		return &evidence.Finding{
			Sure: evidence.Likely, Signs: signs,
			Cause: evidence.Say("the host ran out of memory and the kernel killed the run, which was below its own limit", "主机内存耗尽，内核杀死了该进程；运行本身并未达到上限"),
			Fix:   evidence.Say("crun ps shows who holds memory now; crun doctor adds up the limits; start it again when others have ended", "用 crun ps 查看谁在占用内存，crun doctor 汇总各上限；待他人任务结束后重跑"),
		}
	},
}
