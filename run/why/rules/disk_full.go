package rules

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

// diskFull: a file system of the host was full: the project's, the home's, the
// scratch root's.
var diskFull = evidence.Rule{
	Code:  "disk-full",
	Title: "a disk of the host was full",
	Mechanism: `A write to a full file system gets ENOSPC. crun asks the disks of project, home and tmpdir for their free space when a run ends; the
program says which file it was about, and seldom which disk. Some servers answer EIO instead, and PyTorch's writer has words of its own.
Source: write(2); pytorch issue 10577; h2o-llmstudio issue 214.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Raised(noSpace)
		if c.Clean() || m == nil {
			return nil
		}
		f := &evidence.Finding{Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])}}
		for _, full := range fullDisks(c) {
			f.Sure = evidence.Certain
			f.Signs = append(f.Signs, evidence.Sign{What: "disk:", Value: full})
		}
		f.Cause = evidence.Say("there was no space left where the run wrote", "运行写入的位置已无剩余空间")
		if !spaceWords.MatchString(m[0]) {
			f.Cause = evidence.Say("a file could not be written to its end: its disk was most likely full, or the quota used up", "文件未能写完：磁盘很可能已满，或配额已用尽")
		}
		f.Fix = evidence.Say("df -h on the folder that the message names, and make room there", "对消息中的目录执行 df -h，并清理空间")
		if f.Sure == evidence.Certain {
			place, _, _ := strings.Cut(strings.TrimPrefix(fullDisks(c)[0], "the disk of "), " was full")
			f.Cause = evidence.Say("the disk of %s was full", "%s 所在磁盘已满", place)
			f.Fix = evidence.Say("make room there: du -xhd1 FOLDER | sort -h shows what takes it", "清理该磁盘：du -xhd1 目录 | sort -h 显示占用")
		}
		return f
	},
}

func fullDisks(c *evidence.Case) (disks []string) {
	if c.State != nil {
		for _, full := range c.State.Full {
			if strings.HasPrefix(full, "the disk of ") && strings.Contains(full, " was full") {
				disks = append(disks, full)
			}
		}
	}
	return disks
}

// spaceWords are those that name the lack of room; PyTorch's writer does not.
var spaceWords = lazyregexp.New(`(?i)space|设备上没有空间|ENOSPC|Errno 28|errno = 28|os error 28|is full`)
