package rules

import (
	"crun.dev/crun/run/why/evidence"
)

// exited: the program chose its exit code.
var exited = evidence.Rule{
	Code:  "exited",
	Title: "the program ended by itself, with an exit code of its own",
	Mechanism: `The wait status says that the command called exit and no signal ended it, whatever the number looks like: 137 by exit is no
SIGKILL. A shell passes the end of its last command on in the same way, so that a child may have died.
Source: wait(2).`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.Clean() || c.Signal != "" || c.ExitCode == nil || !c.Started() {
			return nil
		}
		// Whoever told the number may have made it of a signal.
		if !c.Recorded() && *c.ExitCode > 128 {
			return nil
		}
		if ended(c) {
			return nil
		}
		f := &evidence.Finding{
			Sure: evidence.Likely, Signs: []evidence.Sign{status(c)},
			Cause: evidence.Say("the program ended by itself with exit code %d and did not say why", "程序自行以退出码 %d 结束，未说明原因", *c.ExitCode),
			Fix:   evidence.Say("read its last lines: crun logs --tail 30", "查看最后几行：crun logs --tail 30"),
		}
		if !c.Recorded() {
			f.Cause = evidence.Say("the program ended by itself with exit code %d; its log names no cause that crun knows", "程序自行以退出码 %d 结束；日志中没有 crun 认得的原因", *c.ExitCode)
			f.Fix = evidence.Say("read the last lines of the log", "查看日志的最后几行")
		}
		if c.Recorded() {
			f.Sure = evidence.Certain
		}
		if *c.ExitCode > 128 && *c.ExitCode < 160 {
			f.Cause = evidence.Say("the program ended by itself with exit code %d: no signal ended it", "程序自行以退出码 %d 结束，并非被信号终止", *c.ExitCode)
			f.Sure = evidence.Likely // a shell passes a child's end on like this
		}
		if n := len(c.Log.Lines); n > 0 {
			f.Signs = append(f.Signs, said(c.Log.Lines[n-1]))
		}
		return f
	},
}
