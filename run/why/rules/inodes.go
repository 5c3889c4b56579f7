package rules

import (
	"strings"

	"crun.dev/crun/run/why/evidence"
)

// inodes: the disk has room, but not for one more file.
var inodes = evidence.Rule{
	Code:  "inodes",
	Title: "a disk had no inodes left",
	Mechanism: `Many file systems have a fixed number of inodes, one a file. Without any left a new file gets ENOSPC, while df shows free bytes;
df -i tells. Data sets of millions of small files do it.
Source: df(1), mke2fs(8).`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.State == nil || c.Clean() {
			return nil
		}
		for _, full := range c.State.Full {
			if strings.Contains(full, "no inodes left") {
				f := &evidence.Finding{
					Sure: evidence.Likely, Signs: []evidence.Sign{{What: "disk:", Value: full}},
					Cause: evidence.Say("a disk of the run had no inodes left: no new file can be made there", "磁盘 inode 已用尽：无法创建新文件"),
					Fix:   evidence.Say("df -i shows it; remove or pack small files", "用 df -i 查看；删除或打包小文件"),
				}
				f.Aside = true // unless the program complains of it
				if m := c.Raised(noSpace); m != nil {
					f.Aside = false
					f.Sure, f.Signs = evidence.Certain, append(f.Signs, said(m[0]))
				}
				return f
			}
		}
		return nil
	},
}
