package rules

import (
	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/why/evidence"
)

// limitsRefused: init read the limits from inside and found a difference.
var limitsRefused = evidence.Rule{
	Code:  "limits-refused",
	Title: "the kernel does not hold what was asked, so the command was not started",
	Mechanism: `Before the command starts, crun-init reads the limits that the kernel holds, from inside, and compares them with the plan. A ceiling
that is not held, or cannot be read, is a reason not to start.
Source: crun itself.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if !failed(c) || c.Report == nil || c.Report.Reason != inside.ReasonRefused {
			return nil
		}
		f := &evidence.Finding{
			Sure:  evidence.Certain,
			Cause: evidence.Say("the kernel does not hold the limits that were asked for", "内核并未实施所要求的限制"),
			Fix:   evidence.Say("crun doctor; crun inspect shows asked and held side by side", "crun doctor；crun inspect 并列显示要求值与实际值"),
		}
		for _, d := range c.Report.Differences {
			if d.Refuse {
				f.Signs = append(f.Signs, evidence.Sign{What: d.Field, Value: d.Effective, Limit: d.Asked})
			}
		}
		if len(f.Signs) == 0 {
			f.Signs = []evidence.Sign{{What: "init:", Value: evidence.Quote(c.Report.Message)}}
		}
		return f
	},
}
