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
		if e == nil || !c.ByException() {
			return nil
		}
		if ended(c) {
			return nil
		}
		signs := []evidence.Sign{said(e.Line)}
		if e.Where != "" {
			signs = append(signs, evidence.Sign{What: "at", Value: e.Where})
		}
		sure := evidence.Likely
		cause := evidence.Say("the script raised %s", "脚本抛出 %s", e.Type)
		if c.Recorded() {
			cause = evidence.Say("the script raised %s; no limit that crun knows of had a part in it", "脚本抛出 %s；与 crun 所知的任何限制无关", e.Type)
		}
		// Python ends with 1, and its traceback is the last that it prints.
		if c.Recorded() && c.ExitCode != nil && *c.ExitCode == 1 && e.After == 0 {
			sure = evidence.Certain
		}
		f := &evidence.Finding{
			Sure: sure, Signs: signs,
			Cause: cause,
			Fix:   evidence.Say("read the traceback: crun logs --tail 30", "查看 traceback：crun logs --tail 30"),
		}
		if !c.Recorded() { // no counter was looked at
			f.Cause = evidence.Say("the script raised %s; the log names no other cause", "脚本抛出 %s；日志中没有其他原因", e.Type)
			f.Fix = evidence.Say("read the traceback: its last line and the innermost frame", "查看 traceback 的最后一行和最内层的调用")
		}
		if e.Launcher() {
			f.Cause = evidence.Say("a process that was started failed, and left no words of its own here (%s)", "启动的子进程失败，且此处没有它自己的输出（%s）", e.Type)
			f.Fix = evidence.Say("look for the first error further up in the log, or in the worker's own log", "在日志更前面或 worker 自己的日志中查找第一个错误")
		}
		return f
	},
}
