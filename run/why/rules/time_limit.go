package rules

import (
	"crun.dev/crun/run/why/evidence"
)

// timeLimit: init kept the time limit.
var timeLimit = evidence.Rule{
	Code:  "time-limit",
	Title: "the run reached its time limit",
	Mechanism: `At time_limit crun-init sends SIGTERM, and SIGKILL when the grace time is over.
Source: crun itself.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.State == nil || !c.State.TimedOut {
			return nil
		}
		limit := ""
		if c.Plan != nil && c.Plan.TimeLimit != nil {
			limit = timeText(*c.Plan.TimeLimit)
		}
		f := &evidence.Finding{
			Sure: evidence.Certain, Signs: []evidence.Sign{{What: "time", Value: timeText(durationOf(c)), Limit: limit, Time: c.Ended()}},
			Cause: evidence.Say("the run reached its time limit of %s", "达到时间上限 %s", limit),
			Fix:   evidence.Say("--time-limit, or signal_before_kill so that the script saves a checkpoint in time", "--time-limit，或用 signal_before_kill 让脚本及时保存检查点"),
		}
		if share := throttled(c); share >= 50 {
			f.Signs = append(f.Signs, evidence.Sign{What: "throttled", Value: percentText(share) + " of the periods"})
			f.Fix = evidence.Say("it waited for CPU most of the time: --cpus, or fewer threads (OMP_NUM_THREADS)", "大部分时间在等待 CPU：增大 --cpus，或减少线程（OMP_NUM_THREADS）")
		}
		return f
	},
}
