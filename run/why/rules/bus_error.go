package rules

import (
	"crun.dev/crun/run/why/evidence"
)

// busError: SIGBUS with room in /dev/shm.
var busError = evidence.Rule{
	Code:  "bus-error",
	Title: "a page of a mapped file could not be had (Bus error)",
	Mechanism: `A process that touches a page of a mapped file gets SIGBUS where the file has become shorter, its disk fails or is full, or huge
pages are asked for that the cgroup does not give. The usual cause, a full /dev/shm, is shm-full: here it had room at the end,
or nobody looked.
Source: mmap(2), "Errors"; kubernetes issue 71233.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		line, ok := died(c, "SIGBUS")
		if c.Clean() || !ok {
			return nil
		}
		f := &evidence.Finding{
			Sure: evidence.Unknown, Signs: []evidence.Sign{status(c)},
			Cause: evidence.Say("a page of a mapped file could not be had (SIGBUS)", "无法取得映射文件的某一页（SIGBUS）"),
			Fix:   evidence.Say("a file that was cut while it was mapped (numpy.memmap, LMDB), or its disk; -e PYTHONFAULTHANDLER=1 shows the line", "映射期间文件被截断（numpy.memmap、LMDB）或磁盘故障；-e PYTHONFAULTHANDLER=1 可显示代码行"),
		}
		if !c.Recorded() {
			f.Cause = evidence.Say("a page of shared memory or of a mapped file could not be had (SIGBUS); nothing here says which", "无法取得共享内存或映射文件的某一页（SIGBUS）；没有迹象表明是哪一种")
			f.Fix = evidence.Say("most often /dev/shm is too small: --shm-size 2g; else a file that was cut while it was mapped, or its disk", "多半是 /dev/shm 太小：--shm-size 2g；否则是映射期间被截断的文件，或磁盘故障")
		}
		if line != "" {
			f.Signs = append(f.Signs, said(line))
		}
		return f
	},
}
