package rules

import (
	"crun.dev/crun/run/why/evidence"
)

// busError: SIGBUS with room in /dev/shm.
var busError = evidence.Rule{
	Code:  "bus-error",
	Title: "a page of a mapped file could not be had (Bus error)",
	Mechanism: `A process that touches a page of a mapped file gets SIGBUS where the file has become shorter, its disk fails or is full, or huge
pages are asked for that the cgroup does not give. /dev/shm had room at the end, so that it is not the usual cause.
Source: mmap(2), "Errors"; kubernetes issue 71233.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.Clean() || !c.Died("SIGBUS") {
			return nil
		}
		return &evidence.Finding{
			Code: "bus-error", Sure: evidence.Unknown, Signs: []evidence.Sign{status(c)},
			Cause: evidence.Say("a page of a mapped file could not be had (SIGBUS)", "无法取得映射文件的某一页（SIGBUS）"),
			Fix:   evidence.Say("a file that was cut while it was mapped (numpy.memmap, LMDB), or its disk; -e PYTHONFAULTHANDLER=1 shows the line", "映射期间文件被截断（numpy.memmap、LMDB）或磁盘故障；-e PYTHONFAULTHANDLER=1 可显示代码行"),
		}
	},
}
