package rules

import (
	"crun.dev/crun/run/why/evidence"
)

// traceback: the script raised an exception: it says itself what is wrong.
var traceback = evidence.Rule{
	Code:  "traceback",
	Title: "the script ended with an exception of its own",
	Mechanism: `Python printed a traceback and ended with 1. No limit of the run, no kernel and no engine had a part in it, as far as their
counters tell.
Source: Python, sys.excepthook.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.Clean() || c.Signal != "" {
			return nil
		}
		e := c.Log.Exception()
		if e == nil {
			return nil
		}
		signs := []evidence.Sign{said(e.Line)}
		if e.Where != "" {
			signs = append(signs, evidence.Sign{What: "at", Value: e.Where})
		}
		sure := evidence.Likely
		if c.Recorded() && c.ExitCode != nil && *c.ExitCode == 1 {
			sure = evidence.Certain
		}
		return &evidence.Finding{
			Code: "traceback", Sure: sure, Signs: signs,
			Cause: evidence.Say("the script raised %s; no limit had a part in it", "脚本抛出 %s；与任何限制无关", e.Type),
			Fix:   evidence.Say("read the traceback: crun logs --tail 30", "查看 traceback：crun logs --tail 30"),
		}
	},
}
