package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var passwdWords = lazyregexp.New(`.*(?:getpwuid\(\): uid not found: (\d+)|I have no name!|No user exists for uid|cannot find name for user ID).*`)

var noPasswd = evidence.Rule{
	Code:  "no-passwd",
	Title: "the user has no line in /etc/passwd of the container",
	Mechanism: `A container that runs as a uid which its image does not know has no name for it. getpass.getuser() and torch from 2.8 ask.
Source: pytorch issue 140765.`,
	Find: words(passwdWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("the run's user has no line in /etc/passwd", "运行用户在 /etc/passwd 中没有条目"),
			evidence.Say("crun run adds one; with docker run: -e USER=me -e LOGNAME=me -e TORCHINDUCTOR_CACHE_DIR=/tmp/inductor", "crun run 会自动添加；docker run 则用 -e USER=me -e LOGNAME=me -e TORCHINDUCTOR_CACHE_DIR=/tmp/inductor")
	}),
}
