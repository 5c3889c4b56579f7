package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var segfaultWords = lazyregexp.New(`.*(?:Segmentation fault|SIGSEGV|Unexpected segmentation fault encountered in worker).*`)

// segfault: a wild pointer in compiled code.
var segfault = evidence.Rule{
	Code:  "segfault",
	Title: "compiled code touched memory that is not its own (segmentation fault)",
	Mechanism: `A bug in a compiled library, libraries that do not fit one another, or a failure that a library did not check (a thread that could
not be started). Python's fault handler prints the line of the script.
Source: signal(7), SIGSEGV; Python, faulthandler.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Words(segfaultWords)
		if m != nil && (guesses.MatchString(m[0]) || ownWords(c, m[0])) {
			m = nil
		}
		if line, ok := died(c, "SIGSEGV"); ok && line != "" {
			m = []string{line}
		}
		if c.Clean() || m == nil && !c.Died("SIGSEGV") {
			return nil
		}
		f := signaled(c, "SIGSEGV", m)
		f.Cause = evidence.Say("compiled code crashed (segmentation fault)", "编译的库代码崩溃（段错误）")
		f.Fix = evidence.Say("-e PYTHONFAULTHANDLER=1 shows the line; num_workers=0 shows whether a worker does it; crun check looks at the libraries", "-e PYTHONFAULTHANDLER=1 显示代码行；num_workers=0 判断是否在 worker 中；crun check 检查库")
		if c.Recorded() { // whose Python has the fault handler
			f.Fix = evidence.Say("num_workers=0 shows whether a worker does it; crun check looks at the libraries", "num_workers=0 判断是否在 worker 中；crun check 检查库")
		}
		if at := faultLine(c); at != "" {
			f.Signs = append(f.Signs, evidence.Sign{What: "at", Value: at})
		}
		return f
	},
}

// faultLine is the innermost line of Python's fault handler.
func faultLine(c *evidence.Case) string {
	for i, line := range c.Log.Lines {
		if fatalLine.MatchString(line) {
			for _, next := range c.Log.Lines[i+1:] {
				if m := faultFrame.FindStringSubmatch(next); m != nil {
					return m[1] + ":" + m[2]
				}
			}
		}
	}
	return ""
}

var fatalLine = lazyregexp.New(`^Fatal Python error: `)

// guesses are lines that list what may have happened (Ray's).
var guesses = lazyregexp.New(`potential root causes`)
