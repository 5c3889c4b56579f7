package rules

import (
	"fmt"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var descriptorWords = lazyregexp.New(`.*(?:Too many open files|打开的文件过多|打开文件过多|received 0 items of ancdata|\[Errno 24\]|EMFILE|unable to open shared memory object <[^>]*> in read-write mode(?:: Too many open files.*)?$).*`)

// descriptors: a process had as many files open as it may.
var descriptors = evidence.Rule{
	Code:  "nofile",
	Title: "a process reached its limit on open files (descriptors)",
	Mechanism: `Each tensor that DataLoader workers hand over takes a descriptor in both processes. At the limit open and socket fail with
"Too many open files"; a descriptor on its way through a socket is dropped by the kernel without a word, which PyTorch shows as
"received 0 items of ancdata". The limit is each process's own.
Source: getrlimit(2), RLIMIT_NOFILE; unix(7), SCM_RIGHTS; pytorch issue 973.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Words(descriptorWords)
		if m == nil || inotifyWords.MatchString(m[0]) || ownWords(c, m[0]) {
			return nil
		}
		f := &evidence.Finding{
			Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])},
			Cause: evidence.Say("a process had as many files open as it may", "进程打开的文件数达到上限"),
			Fix:   evidence.Say("--nofile 65536; or torch.multiprocessing.set_sharing_strategy('file_system'); batches kept in a list keep their descriptors: copy them (.clone())", "--nofile 65536；或 torch.multiprocessing.set_sharing_strategy('file_system')；列表中保存的 batch 会占用描述符：请 .clone()"),
		}
		if n := c.Peaks().Files; n != nil && c.Peaks().FilesLimit > 0 && n.Value >= c.Peaks().FilesLimit-c.Peaks().FilesLimit/32 {
			f.Sure = evidence.Certain
			f.Signs = append(f.Signs, evidence.Sign{What: "descriptors of " + c.Peaks().FilesOf, Value: fmt.Sprint(n.Value), Limit: fmt.Sprint(c.Peaks().FilesLimit), Time: n.Time})
		} else if held := c.Rlimit("nofile"); held > 0 {
			f.Signs = append(f.Signs, evidence.Sign{What: "nofile", Value: "held", Limit: fmt.Sprint(held)})
		}
		if held := c.Rlimit("nofile"); held > 0 {
			f.Cause = evidence.Say("a process had as many files open as it may (nofile %d)", "进程打开的文件数达到上限（nofile %d）", held)
			if held >= 65536 {
				f.Fix = evidence.Say("a limit this high is reached by a leak: copy batches that are kept (.clone()), close what is opened; or torch.multiprocessing.set_sharing_strategy('file_system')", "上限已很高，多半是泄漏：保存的 batch 请 .clone()，并关闭已打开的文件；或用 set_sharing_strategy('file_system')")
			}
		}
		return f
	},
}
