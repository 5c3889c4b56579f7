package rules

import (
	"strings"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/record"
	"crun.dev/crun/run/why/evidence"
)

func failed(c *evidence.Case) bool { return c.State != nil && c.State.Phase == record.Failed }

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
			Code: "limits-refused", Sure: evidence.Certain,
			Cause: evidence.Say("the kernel does not hold the limits that were asked for", "内核未能执行所要求的限制"),
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

// noCommand: there is no such program in the image.
var noCommand = evidence.Rule{
	Code:  "command-missing",
	Title: "the command is not in the image, or cannot be executed",
	Mechanism: `The program was looked for on the image's PATH and was not there (127), or is no program (126): a script without a #! line or
without x, or one for another architecture.
Source: POSIX, Shell Command Language, 2.8.2.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if !failed(c) {
			return nil
		}
		code := 0
		if c.ExitCode != nil {
			code = *c.ExitCode
		}
		if code != inside.ExitMissing && code != inside.ExitNotExec {
			return nil
		}
		message := c.State.Message
		f := &evidence.Finding{Code: "command-missing", Sure: evidence.Certain, Signs: []evidence.Sign{{What: "init:", Value: evidence.Quote(message)}}}
		f.Cause = evidence.Say("the command could not be executed in the image", "命令无法在镜像中执行")
		f.Fix = evidence.Say("chmod +x, or name its interpreter: crun run python FILE", "chmod +x，或指明解释器：crun run python FILE")
		if code == inside.ExitMissing {
			f.Cause = evidence.Say("the command is not in the image", "镜像中没有该命令")
			f.Fix = evidence.Say("its package in environment.yml, then crun build; or a path that begins with ./", "把对应的包写入 environment.yml 并 crun build；或使用以 ./ 开头的路径")
		}
		return f
	},
}

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
			Code: "engine-failed", Sure: evidence.Certain, Signs: []evidence.Sign{{What: "engine:", Value: evidence.Quote(c.State.Message), Time: c.Ended()}},
			Cause: evidence.Say("the run could not be started", "运行无法启动"),
			Fix:   evidence.Say("crun doctor looks for what is wrong with the engine and this machine", "crun doctor 会检查引擎和本机的问题"),
		}
	},
}

// lost: the container vanished behind crun's back.
var lost = evidence.Rule{
	Code:  "lost",
	Title: "the container vanished before its end was seen",
	Mechanism: `Somebody removed the container (docker rm -f, docker system prune), or the engine lost it. How the command ended is in nobody's
hands any more; the log up to then is kept.
Source: crun itself.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.State == nil || c.State.Phase != record.Lost || c.State.Rebooted {
			return nil
		}
		return &evidence.Finding{
			Code: "lost", Sure: evidence.Certain, Signs: []evidence.Sign{{What: "record:", Value: evidence.Quote(c.State.Message), Time: c.Ended()}},
			Cause: evidence.Say("the container was removed behind crun's back, so its end is not known", "容器被他人删除，结束原因不得而知"),
			Fix:   evidence.Say("crun restart starts it again; docker events on the host may tell who removed it", "crun restart 重新运行；主机上的 docker events 可能显示谁删除了它"),
		}
	},
}

// rebooted: the machine went down under the run.
var rebooted = evidence.Rule{
	Code:  "reboot",
	Title: "the machine was rebooted while the run went on",
	Mechanism: `Each boot has an id of its own (/proc/sys/kernel/random/boot_id). The record was begun in another boot than this one, so the run
ended with it. A shutdown sends SIGTERM to all that runs: a run that it reached, and that nobody else had asked to end, has an exit code too.
Source: random(4), systemctl(1).`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.State == nil || !c.State.Rebooted {
			return nil
		}
		return &evidence.Finding{
			Code: "reboot", Sure: evidence.Certain, Signs: []evidence.Sign{{What: "record:", Value: evidence.Quote(c.State.Message), Time: c.Ended()}},
			Cause: evidence.Say("the machine was rebooted while the run went on", "运行期间机器重启"),
			Fix:   evidence.Say("crun restart, from its last checkpoint; last -x reboot tells when", "crun restart 从最近的检查点继续；last -x reboot 显示重启时间"),
		}
	},
}

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
			Code: "time-limit", Sure: evidence.Certain, Signs: []evidence.Sign{{What: "time", Value: timeText(durationOf(c)), Limit: limit, Time: c.Ended()}},
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
			if e.What != "stop" && (e.What != "signal" || !c.Died(signal) && signal != "SIGTERM" && signal != "SIGINT") {
				continue
			}
			sign := evidence.Sign{What: e.By, Value: "asked for the end", Time: e.Time}
			if signal != "" {
				sign.Value = "sent " + signal
			}
			return &evidence.Finding{
				Code: "stopped", Sure: evidence.Certain, Signs: []evidence.Sign{sign},
				Cause: evidence.Say("it was ended by %s", "由 %s 结束", e.By),
				Fix:   evidence.Say("nothing is wrong; crun restart starts it again", "没有问题；crun restart 可重新运行"),
			}
		}
		return nil
	},
}

// engineStopped: docker stop, docker kill, or the engine's own end.
var engineStopped = evidence.Rule{
	Code:  "engine-stopped",
	Title: "somebody ended the container through the engine",
	Mechanism: `The engine's events name each signal that it was asked to send: docker stop and docker kill, a shutdown of the engine. crun sent
none.
Source: docker events, "kill", "stop", "die".`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.Clean() || c.OOMKills() > 0 {
			return nil
		}
		for i := len(c.Events) - 1; i >= 0; i-- {
			e := c.Events[i]
			if e.By != "engine" || e.What != "kill" && e.What != "stop" {
				continue
			}
			signal := signalName(e.Attrs["signal"])
			if e.What == "kill" && !c.Died(signal) {
				continue
			}
			return &evidence.Finding{
				Code: "engine-stopped", Sure: evidence.Certain, Signs: []evidence.Sign{{What: "engine event", Value: strings.TrimSpace(e.What + " " + signal), Time: e.Time}},
				Cause: evidence.Say("the container was ended through the engine (docker stop, docker kill, or the engine's own end), not by crun", "容器经由引擎被结束（docker stop、docker kill 或引擎退出），并非 crun"),
				Fix:   evidence.Say("ask who did it; crun restart starts it again", "询问是谁操作的；crun restart 可重新运行"),
			}
		}
		return nil
	},
}
