package rules

import (
	"strings"

	"crun.dev/crun/run/why/evidence"
)

// engineStopped: docker stop, docker kill, or the engine's own end.
var engineStopped = evidence.Rule{
	Code:  "engine-stopped",
	Title: "somebody ended the container through the engine",
	Mechanism: `The engine's events name each signal that it was asked to send: docker stop and docker kill, a shutdown of the engine. crun sent
none.
Source: docker events, "kill", "stop", "die".`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.Clean() || c.OOMKills() > 0 {
			return nil
		}
		for i := len(c.Events) - 1; i >= 0; i-- {
			e := c.Events[i]
			if e.By != "engine" || e.What != "kill" && e.What != "stop" {
				continue
			}
			signal := signalName(e.Attrs["signal"])
			if e.What == "kill" && !c.Died(signal) {
				continue
			}
			return &evidence.Finding{
				Sure: evidence.Certain, Signs: []evidence.Sign{{What: "engine event", Value: strings.TrimSpace(e.What + " " + signal), Time: e.Time}},
				Cause: evidence.Say("the container was ended through the engine (docker stop, docker kill, or the engine's own end), not by crun", "容器经由引擎被结束（docker stop、docker kill 或引擎退出），并非由 crun 结束"),
				Fix:   evidence.Say("ask who did it; crun restart starts it again", "询问是谁操作的；crun restart 可重新运行"),
			}
		}
		return nil
	},
}
