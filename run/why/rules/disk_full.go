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
	Mechanism: `A write to a full file system gets ENOSPC. crun asks every file system of the run for its free space when it ends; the program
says which file it was about, and seldom which disk. Some servers answer EIO instead, and PyTorch's writer has words of its own.
Source: write(2); pytorch issue 10577; h2o-llmstudio issue 214.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Raised(noSpace)
		if c.Clean() || m == nil {
			return nil
		}
		f := &evidence.Finding{Code: "disk-full", Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])}}
		for _, full := range fullDisks(c) {
			f.Sure = evidence.Certain
			f.Signs = append(f.Signs, evidence.Sign{What: "disk:", Value: full})
		}
		f.Cause = evidence.Say("there was no space left where the run wrote", "运行写入的位置已无剩余空间")
		f.Fix = evidence.Say("df -h on the folder that the message names, and make room there", "对消息中的目录执行 df -h，并清理空间")
		if f.Sure == evidence.Certain {
			place, _, _ := strings.Cut(strings.TrimPrefix(fullDisks(c)[0], "the disk of "), " was full")
			f.Cause = evidence.Say("the disk of %s was full", "%s 所在磁盘已满", place)
			f.Fix = evidence.Say("make room there; crun prune frees images and caches", "清理该磁盘；crun prune 可释放镜像和缓存")
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

var quotaWords = lazyregexp.New(`.*(?:Disk quota exceeded|EDQUOT).*`)

// quota: the user's share of a disk is used up, not the disk.
var quota = evidence.Rule{
	Code:  "quota",
	Title: "a disk quota was used up",
	Mechanism: `A quota bounds what one user or group may store; the write gets EDQUOT, "Disk quota exceeded", while df shows room.
Source: write(2), quota(1).`,
	Find: words("quota", quotaWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("your disk quota is used up", "磁盘配额已用尽"),
			evidence.Say("quota -s shows it; remove files, or write to another root with --data", "用 quota -s 查看；删除文件，或用 --data 写到其他目录")
	}),
}

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
					Code: "inodes", Sure: evidence.Likely, Signs: []evidence.Sign{{What: "disk:", Value: full}},
					Cause: evidence.Say("a disk of the run had no inodes left: no new file can be made there", "磁盘 inode 已用尽：无法创建新文件"),
					Fix:   evidence.Say("df -i shows it; remove or pack small files", "用 df -i 查看；删除或打包小文件"),
				}
				if m := c.Raised(noSpace); m != nil {
					f.Sure, f.Signs = evidence.Certain, append(f.Signs, said(m[0]))
				}
				return f
			}
		}
		return nil
	},
}

var inotifyWords = lazyregexp.New(`.*inotify (?:watch|instance) limit reached.*|.*Failed to (?:add|initialize) inotify.*`)

// inotify has limits of its own, a user's over the whole host, and borrows the
// error numbers of full disks and of descriptors.
var inotify = evidence.Rule{
	Code:  "inotify",
	Title: "the host's limit on watched files was reached",
	Mechanism: `Notebooks, Streamlit and TensorBoard watch folders through inotify. fs.inotify.max_user_watches and max_user_instances bound that
a user over the whole host, and the errors are those of a full disk (28) or of too many files (24).
Source: inotify(7), "/proc interfaces".`,
	Find: words("inotify", inotifyWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("the host's limit on watched files (inotify) was reached; disk and descriptors are free", "达到主机的文件监视（inotify）上限；磁盘和描述符并未耗尽"),
			evidence.Say("on the host: sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512; or switch watching off", "在主机上执行 sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512；或关闭文件监视")
	}),
}
