package rules

import (
	"crun.dev/crun/run/why/evidence"
)

// rebooted: the machine went down under the run.
var rebooted = evidence.Rule{
	Code:  "reboot",
	Title: "the machine was rebooted while the run went on",
	Mechanism: `Each boot has an id of its own (/proc/sys/kernel/random/boot_id). The record was begun in another boot than this one, so the run
ended with it. A shutdown sends SIGTERM to all that runs: a run that it reached, and that nobody else had asked to end, has an exit code too.
Source: random(4), systemctl(1).`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.State == nil || !c.State.Rebooted {
			return nil
		}
		return &evidence.Finding{
			Sure: evidence.Certain, Signs: []evidence.Sign{{What: "record:", Value: evidence.Quote(c.State.Message), Time: c.Ended()}},
			Cause: evidence.Say("the machine was rebooted while the run went on", "运行期间机器重启"),
			Fix:   evidence.Say("crun restart, from its last checkpoint; last -x reboot tells when", "crun restart 从最近的检查点继续；last -x reboot 显示重启时间"),
		}
	},
}
