package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/why/evidence"
)

// noCommand: there is no such program in the image.
var noCommand = evidence.Rule{
	Code:  "command-missing",
	Title: "the command is not in the image, or cannot be executed",
	Mechanism: `The program was looked for on the image's PATH and was not there (127), or is no program (126): a script without a #! line or
without x, or one for another architecture.
Source: POSIX, Shell Command Language, 2.8.2.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if !failed(c) {
			return notFound(c)
		}
		code := 0
		if c.ExitCode != nil {
			code = *c.ExitCode
		}
		if code != inside.ExitMissing && code != inside.ExitNotExec {
			return nil
		}
		message := c.State.Message
		f := &evidence.Finding{Sure: evidence.Certain, Signs: []evidence.Sign{{What: "init:", Value: evidence.Quote(message)}}}
		f.Cause = evidence.Say("the command could not be executed in the image", "命令无法在镜像中执行")
		f.Fix = evidence.Say("chmod +x, or name its interpreter: crun run python FILE", "chmod +x，或指明解释器：crun run python FILE")
		if code == inside.ExitMissing {
			f.Cause = evidence.Say("the command is not in the image", "镜像中没有该命令")
			f.Fix = evidence.Say("its package in environment.yml, then crun build; or a path that begins with ./", "把对应的包写入 environment.yml 并 crun build；或使用以 ./ 开头的路径")
		}
		return f
	},
}

var notFoundWords = lazyregexp.New(`.*(?:: (?:command )?not found|未找到命令|executable file not found in \$PATH.*|: Permission denied|: cannot execute.*|: No such file or directory|[Ee]xec format error.*)$`)

// notFound goes by the word of a shell that the run or somebody else started.
func notFound(c *evidence.Case) *evidence.Finding {
	if c.Clean() || c.Signal != "" || c.ExitCode == nil || *c.ExitCode != inside.ExitMissing && *c.ExitCode != inside.ExitNotExec {
		return nil
	}
	m := c.Words(notFoundWords)
	if m == nil {
		return nil
	}
	f := &evidence.Finding{Sure: evidence.Likely, Signs: []evidence.Sign{status(c), said(m[0])}}
	f.Cause = evidence.Say("a command is not in the image", "镜像中没有某个命令")
	f.Fix = evidence.Say("its package in environment.yml, then crun build; or a path that begins with ./", "把对应的包写入 environment.yml 并 crun build；或使用以 ./ 开头的路径")
	if *c.ExitCode == inside.ExitNotExec {
		f.Cause = evidence.Say("a file could not be executed", "文件无法执行")
		f.Fix = evidence.Say("chmod +x, or name its interpreter: bash FILE, python FILE", "chmod +x，或指明解释器：bash FILE、python FILE")
	}
	return f
}
