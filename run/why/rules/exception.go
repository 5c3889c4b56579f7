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
		f := &evidence.Finding{
			Code: "exited", Sure: evidence.Likely, Signs: []evidence.Sign{status(c)},
			Cause: evidence.Say("the program ended by itself with exit code %d and did not say why", "程序自行以退出码 %d 结束，未说明原因", *c.ExitCode),
			Fix:   evidence.Say("read its last lines: crun logs --tail 30", "查看最后几行：crun logs --tail 30"),
		}
		if c.Recorded() {
			f.Sure = evidence.Certain
		}
		if *c.ExitCode > 128 && *c.ExitCode < 160 {
			f.Cause = evidence.Say("the program ended by itself with exit code %d: no signal ended it", "程序自行以退出码 %d 结束：不是被信号终止", *c.ExitCode)
			f.Sure = evidence.Likely // a shell passes a child's end on like this
		}
		if n := len(c.Log.Lines); n > 0 {
			f.Signs = append(f.Signs, said(c.Log.Lines[n-1]))
		}
		return f
	},
}
