package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var hangupWords = lazyregexp.New(`.*(?:closing signal SIGHUP|Received (?:1|Signals\.SIGHUP) death signal|got signal: 1\b).*|^(?:.*: (?:line|行) ?\d+: +\d+ )?(?:Hangup\b|挂起|挂断).*`)

// hangup: the terminal went away, and took the program with it.
var hangup = evidence.Rule{
	Code:  "hangup",
	Title: "a terminal or login was closed, and the program ended with it (SIGHUP)",
	Mechanism: `When a terminal closes, the kernel sends SIGHUP to what runs in it. torchrun installs a handler of its own, so that nohup does not
keep it. A run of crun goes on: its container is in no terminal.
Source: signal(7); pytorch issue 67538.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Words(hangupWords)
		if m == nil && c.Signal != "SIGHUP" || c.Clean() {
			return nil
		}
		f := signaled(c, "SIGHUP", m)
		f.Cause = evidence.Say("the program ended by SIGHUP: the terminal or login that it ran in was closed", "程序因 SIGHUP 结束：其终端或登录会话被关闭")
		f.Fix = evidence.Say("crun run -d: the run stays when you log out", "crun run -d：退出登录后运行仍会继续")
		return f
	},
}
