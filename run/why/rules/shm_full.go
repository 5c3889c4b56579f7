package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/why/evidence"
)

var busWords = lazyregexp.New(`DataLoader worker \(pid(?:\(s\))? [\d, ]+\) is killed by signal: Bus error.*|insufficient shared memory \(shm\).*|unable to (?:write to|mmap|allocate|resize) (?:file|shared memory).*(?:/torch_|/dev/shm|No space left|shared memory).*|Unexpected bus error encountered in worker.*|OSError: \[Errno 28\] No space left on device: '/(?:psm|torch|sem)_?.*`)

// shmFull: a page of shared memory that cannot be had is no error of a call: the
// process that touches it gets SIGBUS.
var shmFull = evidence.Rule{
	Code:  "shm-full",
	Title: "/dev/shm was full",
	Mechanism: `DataLoader workers hand batches over through files in /dev/shm. A file there is made larger without taking space; the page is
taken when it is touched, and where none is left the process gets SIGBUS ("Bus error"). Docker's own size is 64 MB. What is in /dev/shm is
memory and counts for the run's limit.
Source: tmpfs(5); pytorch issue 5040.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		used, held, known := c.PlacePeak(plan.ShmPath)
		m := c.Raised(busWords)
		full := known && evidence.Full(used, held)
		if m == nil && full {
			m = c.Raised(noSpace)
		}
		if c.Clean() || m == nil && !(full && c.Died("SIGBUS")) {
			return nil
		}
		f := &evidence.Finding{Sure: evidence.Likely}
		if known {
			f.Signs = append(f.Signs, evidence.Sign{What: plan.ShmPath, Value: size(used), Limit: size(held)})
		}
		if m != nil {
			f.Signs = append(f.Signs, said(m[0]))
		}
		switch {
		case full:
			f.Sure = evidence.Certain
			f.Cause = evidence.Say("/dev/shm was full (%s of %s)", "/dev/shm 已满（%s，共 %s）", size(used), size(held))
			f.Fix = evidence.Say("--shm-size %s, or a smaller num_workers", "--shm-size %s，或减小 num_workers", moreShm(held))
		case known:
			f.Cause = evidence.Say("/dev/shm of %s was too small for the batches on their way", "/dev/shm（%[1]s）不足以容纳传输中的 batch", size(held))
			f.Fix = evidence.Say("--shm-size %s, or a smaller num_workers", "--shm-size %s，或减小 num_workers", moreShm(held))
		default:
			f.Cause = evidence.Say("/dev/shm was too small: 64 MB where docker run is not told otherwise", "/dev/shm 太小：docker run 默认仅 64 MB")
			f.Fix = evidence.Say("crun run --shm-size 2g (docker run --shm-size 2g)", "crun run --shm-size 2g（或 docker run --shm-size 2g）")
		}
		return f
	},
}

// moreShm is twice what there was, and 1 GiB at least.
func moreShm(held int64) string { return more(max(held*4/3, 512<<20)) }
