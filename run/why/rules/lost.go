package rules

import (
	"crun.dev/crun/run/record"
	"crun.dev/crun/run/why/evidence"
)

// lost: the container vanished behind crun's back.
var lost = evidence.Rule{
	Code:  "lost",
	Title: "the container vanished before its end was seen",
	Mechanism: `Somebody removed the container (docker rm -f, docker system prune), or the engine lost it. How the command ended is in nobody's
hands any more; the log up to then is kept.
Source: crun itself.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.State == nil || c.State.Phase != record.Lost || c.State.Rebooted {
			return nil
		}
		return &evidence.Finding{
			Sure: evidence.Certain, Signs: []evidence.Sign{{What: "record:", Value: evidence.Quote(c.State.Message), Time: c.Ended()}},
			Cause: evidence.Say("the container was removed behind crun's back, so its end is not known", "容器被 crun 之外的操作删除，如何结束不得而知"),
			Fix:   evidence.Say("crun restart starts it again; docker events on the host may tell who removed it", "crun restart 重新运行；主机上的 docker events 可能显示谁删除了它"),
		}
	},
}
