package rules

import (
	"time"

	"crun.dev/crun/run/why/evidence"
)

// stopped: somebody ended the run through crun.
var stopped = evidence.Rule{
	Code:  "stopped",
	Title: "somebody ended the run through crun",
	Mechanism: `crun stop, crun kill and Ctrl-C at crun run leave their names and the signal in the record before they send it.
Source: crun itself.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.Clean() || c.OOMKills() > 0 && c.Died("SIGKILL") {
			return nil
		}
		for i := len(c.Events) - 1; i >= 0; i-- {
			e := c.Events[i]
			if e.By == "engine" || e.By == "init" || e.By == "monitor" {
				continue
			}
			signal := e.Attrs["signal"]
			// A notebook is interrupted and goes on; a script saves, and trains on.
			if !c.Within(e.Time, graceOf(c)+settleTime) {
				continue
			}
			if e.What != "stop" && (e.What != "signal" || !c.Died(signal) && signal != "SIGTERM" && signal != "SIGINT") {
				continue
			}
			sign := evidence.Sign{What: e.By, Value: "asked for the end", Time: e.Time}
			if signal != "" {
				sign.Value = "sent " + signal
			}
			return &evidence.Finding{
				Sure: evidence.Certain, Signs: []evidence.Sign{sign},
				Cause: evidence.Say("it was ended by %s", "由 %s 结束", e.By),
				Fix:   evidence.Say("nothing is wrong; crun restart starts it again", "没有问题；crun restart 可重新运行"),
			}
		}
		return nil
	},
}

// settleTime is what a program takes to end behind a signal that it heeds, and
// its container to go, beside the grace time.
const settleTime = 20 * time.Second

func graceOf(c *evidence.Case) time.Duration {
	if c.Plan == nil {
		return 0
	}
	return time.Duration(c.Plan.Grace)
}
