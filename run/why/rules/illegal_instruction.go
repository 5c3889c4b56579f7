package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var illegalWords = lazyregexp.New(`.*(?:Illegal instruction|SIGILL|died with <Signals\.SIGILL).*`)

// illegal: the program uses instructions that this CPU does not have.
var illegal = evidence.Rule{
	Code:  "illegal-instruction",
	Title: "the program uses instructions that this CPU does not have",
	Mechanism: `A package was compiled for a newer CPU (AVX, AVX-512), or the machine is virtual with a CPU model that hides them. The process gets
SIGILL.
Source: signal(7); docker-mozillatts issue 17.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Words(illegalWords)
		if line, ok := died(c, "SIGILL"); ok && line != "" {
			m = []string{line}
		}
		// 132 without the words is a number that a program of its own chose.
		if c.Clean() || m == nil && c.Signal != "SIGILL" {
			return nil
		}
		f := signaled(c, "SIGILL", m)
		f.Cause = evidence.Say("the program used an instruction that this CPU does not have", "程序使用了该 CPU 不支持的指令")
		f.Fix = evidence.Say("grep -o 'avx[^ ]*' /proc/cpuinfo shows what it has; another host, or an older build of the package that the traceback names", "用 grep -o 'avx[^ ]*' /proc/cpuinfo 查看支持的指令；换主机，或改用较旧版本的软件包")
		return f
	},
}
