package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

// terminated: SIGTERM from somebody that no record names.
var terminated = evidence.Rule{
	Code:  "terminated",
	Title: "the program got SIGTERM or SIGINT from somebody unknown",
	Mechanism: `SIGTERM asks a program to end. crun and the engine note theirs, so that this one came from inside the container or from a user of
the host who may signal the process: a supervisor, a shutdown, earlyoom.
Source: kill(2).`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if m := asked(c); m != nil && !c.Recorded() {
			return &evidence.Finding{
				Sure: evidence.Unknown, Signs: []evidence.Sign{status(c), said(m[0])},
				Cause: evidence.Say("somebody asked the program to end (SIGTERM or Ctrl-C); nothing here says who", "有人要求程序结束（SIGTERM 或 Ctrl-C）；没有迹象表明是谁"),
				Fix:   evidence.Say("a scheduler, a shutdown, docker stop or a user: their own logs would tell", "可能是调度系统、关机、docker stop 或某个用户：查看相应日志"),
			}
		}
		for _, signal := range []string{"SIGTERM", "SIGINT", "SIGQUIT"} {
			if c.Signal == signal || c.Signal == "" && c.Died(signal) {
				f := &evidence.Finding{
					Sure: evidence.Unknown, Signs: []evidence.Sign{status(c)},
					Cause: evidence.Say("somebody asked the program to end (%s); neither crun nor the engine did", "有人要求程序结束（%s）；并非 crun 或引擎所为", signal),
					Fix:   evidence.Say("a supervisor, a shutdown or earlyoom on the host: its journal would tell", "可能是监控程序、关机或主机上的 earlyoom：查看其日志"),
				}
				if !c.Recorded() {
					f.Cause = evidence.Say("somebody asked the program to end (%s); nothing here says who", "有人要求程序结束（%s）；没有迹象表明是谁", signal)
				}
				return f
			}
		}
		return nil
	},
}

// deathSignal fits what a program says that was asked to end.
var deathSignal = lazyregexp.New(`^(?:\[rank\d+\]: )?KeyboardInterrupt$|(?:.*\.)?SIGTERMException$|.*(?:Received (?:Signals\.SIGTERM|Signals\.SIGINT|15|2) death signal|SignalException: Process \d+ got signal: (?:15|2)\b).*`)

// asked gives what the program says of being asked to end, where it raised
// nothing else behind it.
func asked(c *evidence.Case) []string {
	if e := c.Log.Exception(); e != nil && !e.Launcher() && !deathSignal.MatchString(e.Line) {
		return nil
	}
	return c.Words(deathSignal)
}
