package rules

import (
	"crun.dev/crun/run/why/evidence"
)

// tmpdirDisk: a tmpdir on disk is watched, and the monitor ended the run.
var tmpdirDisk = evidence.Rule{
	Code:  "tmpdir-disk",
	Title: "the run's tmpdir on disk grew above its size, and crun ended the run",
	Mechanism: `A tmpdir of kind disk is a folder that no file system bounds. The monitor looks at what it holds and ends a run that takes more
than the profile gives, so that one run does not fill the scratch disk for all.
Source: crun itself.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.State == nil || c.State.TmpdirUsed == 0 {
			return nil
		}
		var asked int64
		if c.Plan != nil {
			asked = c.Plan.ScratchSize
		}
		return &evidence.Finding{
			Sure: evidence.Certain, Signs: []evidence.Sign{{What: "tmpdir", Value: size(c.State.TmpdirUsed), Limit: size(asked), Time: c.Ended()}},
			Cause: evidence.Say("the tmpdir on disk took %s of its %s, and crun ended the run", "磁盘上的 tmpdir 用了 %s（上限 %s），crun 结束了运行", size(c.State.TmpdirUsed), size(asked)),
			Fix:   evidence.Say("--tmpdir %s,disk", "--tmpdir %s,disk", more(c.State.TmpdirUsed)),
		}
	},
}
