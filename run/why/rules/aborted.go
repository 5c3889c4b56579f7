package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var faultFrame = lazyregexp.New(`^\s+File "([^"]+)", line (\d+)(?: in (\S+))?`)

// aborted: a library found something wrong and gave up.
var aborted = evidence.Rule{
	Code:  "aborted",
	Title: "a library gave up (abort)",
	Mechanism: `abort() sends SIGABRT to its own process: a failed assertion, a C++ exception that nobody caught, glibc's check of the heap. The
line before says which.
Source: abort(3).`,
	Find: func(c *evidence.Case) *evidence.Finding {
		line, ok := died(c, "SIGABRT")
		if c.Clean() || !ok {
			return nil
		}
		f := &evidence.Finding{
			Sure: evidence.Likely, Signs: []evidence.Sign{status(c)},
			Cause: evidence.Say("a library gave up (SIGABRT); its last words are above", "某个库中止了程序（SIGABRT）；原因见其最后输出"),
			Fix:   evidence.Say("read the last lines: crun logs --tail 20", "查看最后几行：crun logs --tail 20"),
		}
		if c.Signal == "SIGABRT" {
			f.Sure = evidence.Certain
		}
		if m := c.Words(abortWords); m != nil {
			f.Signs = append(f.Signs, said(m[0]))
		} else if line != "" {
			f.Signs = append(f.Signs, said(line))
		} else if n := len(c.Log.Lines); n > 0 {
			f.Signs = append(f.Signs, said(c.Log.Lines[n-1]))
		}
		return f
	},
}

// abortWords are what a library says before it gives up.
var abortWords = lazyregexp.New(`^\s*what\(\):.*|.*Assertion .* failed\.?$|^(?:free\(\)|malloc\(\)|double free|corrupted|munmap_chunk\(\)|malloc_consolidate\(\)).*`)
