package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/why/evidence"
)

// noSpace is what programs say where a file system is full; PyTorch's writer
// has words of its own, in which "No space left" is not.
var noSpace = lazyregexp.New(`.*(?:[Nn]o space left on device|设备上没有空间|\d+ requested and \d+ written|ENOSPC|\[Errno 28\]|errno = 28\b|os error 28|NoSpaceLeftError|database or disk is full|enough free space in|[Nn]ot enough (?:free )?disk space|basic_ios::clear: iostream error|PytorchStreamWriter failed writing file|unexpected pos \d+ vs \d+|fd \d+ failed with (?:Input/output error|No space left)|write failed: No space).*`)

// tmpFull: the tmpfs on /tmp was full.
var tmpFull = evidence.Rule{
	Code:  "tmp-full",
	Title: "/tmp (TMPDIR) was full",
	Mechanism: `The run's /tmp has a size of its own. A write beyond gets ENOSPC, "No space left on device", while df on the host shows terabytes:
the message does not say which file system it means. Checkpoints that PyTorch writes first to a temporary file, pip, sort and caches go there.
Source: tmpfs(5), write(2).`,
	Find: func(c *evidence.Case) *evidence.Finding {
		used, held, ok := c.PlacePeak(plan.TmpPath)
		if !ok || c.Clean() {
			return nil
		}
		if !evidence.Full(used, held) {
			return tmpWasFull(c, held)
		}
		f := &evidence.Finding{
			Sure: evidence.Likely, Signs: []evidence.Sign{{What: plan.TmpPath, Value: size(used), Limit: size(held)}},
			Cause: evidence.Say("/tmp was full (%s of %s)", "/tmp 已满（%s，共 %s）", size(used), size(held)),
			Fix:   evidence.Say("--tmpdir %s, or --tmpdir 20g,disk", "--tmpdir %s，或 --tmpdir 20g,disk", more(held*4/3)),
		}
		if m := c.Raised(noSpace); m != nil {
			f.Sure, f.Signs = evidence.Certain, append(f.Signs, said(m[0]))
		} else if c.ByException() {
			f.Aside = true // full, but that is not what the program complains of
		}
		return f
	},
}

var (
	inTmp    = lazyregexp.New(`(?:^|[\s'":=])(?:/var)?/tmp/`)
	anywhere = lazyregexp.New(`['"]/[^'"]+['"]`)
)

// tmpWasFull is for a file in /tmp that is gone with the program that wrote it,
// before anybody looked: something was full, and no disk of the run is.
func tmpWasFull(c *evidence.Case, held int64) *evidence.Finding {
	m := c.Raised(noSpace)
	if m == nil || !c.DisksSeen() || len(fullDisks(c)) > 0 || !inTmp.MatchString(m[0]) && anywhere.MatchString(m[0]) {
		return nil
	}
	return &evidence.Finding{
		Sure:  evidence.Likely,
		Signs: []evidence.Sign{said(m[0]), {What: "disks of project, home and tmpdir", Value: "had room"}, {What: plan.TmpPath, Value: "has", Limit: size(held)}},
		Cause: evidence.Say("/tmp of %s was most likely full: something was, and not the disks of project, home and tmpdir", "/tmp（%s）很可能已满：有空间已用尽，而项目、home 和 tmpdir 所在磁盘均有余量", size(held)),
		Fix:   evidence.Say("--tmpdir %s, or --tmpdir 20g,disk", "--tmpdir %s，或 --tmpdir 20g,disk", more(held*4/3)),
	}
}
