package rules

import (
	"crun.dev/crun/run/why/evidence"
)

// engineFailed: the engine refused or failed before the command ran.
var engineFailed = evidence.Rule{
	Code:  "engine-failed",
	Title: "the engine could not start the run",
	Mechanism: `The container could not be made or started: the engine's own message says why. Nothing of the command ran.
Source: the engine.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if !failed(c) || c.State.Message == "" {
			return nil
		}
		return &evidence.Finding{
			Sure: evidence.Certain, Signs: []evidence.Sign{{What: "engine:", Value: evidence.Quote(c.State.Message), Time: c.Ended()}},
			Cause: evidence.Say("the run could not be started", "运行无法启动"),
			Fix:   evidence.Say("crun doctor looks for what is wrong with the engine and this machine", "crun doctor 会检查引擎和本机的问题"),
		}
	},
}
