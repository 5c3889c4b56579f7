package rules

import (
	"fmt"

	"crun.dev/crun/run/why/evidence"
)

// killed: SIGKILL, and nobody who would say so.
var killed = evidence.Rule{
	Code:  "killed",
	Title: "the run was killed (SIGKILL), by whom is not known",
	Mechanism: `SIGKILL leaves no word. The kernel's counter of kills for want of memory did not move, and neither crun nor the engine sent it: a
user of the host or root did, systemd-oomd, or the program itself.
Source: signal(7).`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.Clean() || !c.Died("SIGKILL") {
			return nil
		}
		f := &evidence.Finding{
			Code: "killed", Sure: evidence.Unknown, Signs: []evidence.Sign{status(c)},
			Cause: evidence.Say("the run was killed (SIGKILL), and nothing here says by whom", "运行被杀死（SIGKILL），没有迹象表明是谁所为"),
			Fix:   evidence.Say("dmesg -T | grep -i kill and journalctl -u systemd-oomd on the host would tell", "在主机上查看 dmesg -T | grep -i kill 和 journalctl -u systemd-oomd"),
		}
		if n := c.Counters().OOMKills; n != nil {
			f.Signs = append(f.Signs, evidence.Sign{What: "oom_kill", Value: fmt.Sprint(*n)})
			f.Cause = evidence.Say("the run was killed (SIGKILL), not by the kernel for memory, and neither crun nor the engine did it", "运行被杀死（SIGKILL）；内核没有因内存而杀进程，也不是 crun 或引擎所为")
		}
		return f
	},
}
