package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var quotaWords = lazyregexp.New(`.*(?:Disk quota exceeded|超出磁盘限额|EDQUOT|\[Errno 122\]|errno = 122\b|os error 122\b).*`)

// quota: the user's share of a disk is used up, not the disk.
var quota = evidence.Rule{
	Code:  "quota",
	Title: "a disk quota was used up",
	Mechanism: `A quota bounds what one user or group may store; the write gets EDQUOT, "Disk quota exceeded", while df shows room.
Source: write(2), quota(1).`,
	Find: words(quotaWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("your disk quota is used up", "磁盘配额已用尽"),
			evidence.Say("quota -s shows it; remove files, or write to another root with --data", "用 quota -s 查看；删除文件，或用 --data 写到其他目录")
	}),
}
