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
		line, ok := died(c, "SIGKILL")
		if c.Clean() || !ok {
			return childGone(c)
		}
		f := &evidence.Finding{
			Sure: evidence.Unknown, Signs: []evidence.Sign{status(c)},
			Cause: evidence.Say("the run was killed (SIGKILL), and nothing here says by whom", "运行被杀死（SIGKILL），没有迹象表明是谁所为"),
			Fix:   evidence.Say("dmesg -T | grep -i kill and journalctl -u systemd-oomd on the host would tell", "在主机上查看 dmesg -T | grep -i kill 和 journalctl -u systemd-oomd"),
		}
		if n := c.Counters().OOMKills; n != nil {
			f.Signs = append(f.Signs, evidence.Sign{What: "oom_kill", Value: fmt.Sprint(*n)})
			f.Cause = evidence.Say("the run was killed (SIGKILL), not by the kernel for memory, and neither crun nor the engine did it", "运行被杀死（SIGKILL）；内核没有因内存而杀进程，也不是 crun 或引擎所为")
		}
		switch {
		case line != "" && c.Counters().OOMKills == nil:
			f.Signs = append(f.Signs, said(line))
			f.Cause = evidence.Say("a process of the run was killed (SIGKILL), most often for want of memory; nothing here says by whom", "运行中的一个进程被杀死（SIGKILL），多半因内存不足；没有迹象表明是谁所为")
		case line != "":
			f.Signs = append(f.Signs, said(line))
			f.Cause = evidence.Say("a process of the run was killed (SIGKILL), and not by the kernel for memory", "运行中的一个进程被杀死（SIGKILL），但不是内核因内存不足所为")
		case !c.Recorded():
			f.Cause = evidence.Say("the run was killed (SIGKILL), most often for want of memory; nothing here says by whom", "运行被杀死（SIGKILL），多半因内存不足；没有迹象表明是谁所为")
		}
		return f
	},
}

// childGone is for a log that says that a worker is gone, and not how.
func childGone(c *evidence.Case) *evidence.Finding {
	if c.Recorded() {
		return nil // whose counters tell
	}
	m := gone(c)
	if m == nil {
		return nil
	}
	return &evidence.Finding{
		Sure: evidence.Unknown, Signs: []evidence.Sign{said(m[0])},
		Cause: evidence.Say("a worker process was gone all at once: killed, most often for want of memory, or crashed; nothing here says which", "某个 worker 进程突然消失：可能被杀死（多半因内存不足），也可能崩溃；没有迹象表明是哪一种"),
		Fix:   evidence.Say("dmesg -T | grep -i kill on the host would tell; a single worker shows its own error", "在主机上查看 dmesg -T | grep -i kill；只用一个 worker 可看到它自身的错误"),
	}
}
