package inside

import (
	"fmt"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/plan"
)

var rlimitNumbers = map[string]int{
	"nofile":        unix.RLIMIT_NOFILE,
	"memlock":       unix.RLIMIT_MEMLOCK,
	"stack":         unix.RLIMIT_STACK,
	"core":          unix.RLIMIT_CORE,
	"address_space": unix.RLIMIT_AS,
}

// readProcess reads what belongs to the process and not to its cgroup.
func readProcess(l *Limits) { readProcessOf(0, l) }

// readProcessOf does so of the process pid; 0 is the calling one.
func readProcessOf(pid int, l *Limits) {
	l.Rlimits = map[string]Rlimit{}
	for name, number := range rlimitNumbers {
		var r unix.Rlimit
		if unix.Prlimit(pid, number, nil, &r) == nil {
			soft := clamp(r.Cur)
			l.Rlimits[name] = Rlimit{Soft: &soft, Hard: clamp(r.Max)}
		}
	}

	// The affinity, not the group's file: it is what the process can use, and
	// the kernel keeps it within the group's CPUs.
	var set unix.CPUSet
	if unix.SchedGetaffinity(pid, &set) == nil {
		var cpus []int
		for n := 0; len(cpus) < set.Count(); n++ {
			if set.IsSet(n) {
				cpus = append(cpus, n)
			}
		}
		l.CPUSet, l.CPUs = plan.FormatCPUSet(cpus), len(cpus)
	}
}

// clamp turns RLIM_INFINITY, and what no int64 holds, into plan.Unlimited.
func clamp(v uint64) int64 {
	if v > 1<<63-1 {
		return plan.Unlimited
	}
	return int64(v)
}

// readFilesystem asks the file system that path is on; nil where it cannot.
func readFilesystem(path string) *Filesystem {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return nil
	}
	name, ok := map[int64]string{
		unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.EXT4_SUPER_MAGIC: "ext4",
		unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.NFS_SUPER_MAGIC: "nfs", 0x2fc12fc1: "zfs",
	}[int64(s.Type)]
	if !ok {
		name = fmt.Sprintf("%#x", uint32(s.Type))
	}
	block := int64(s.Bsize)
	return &Filesystem{Type: name, Size: int64(s.Blocks) * block, Used: int64(s.Blocks-s.Bfree) * block}
}

// RaiseSoft sets the soft limits of what e raises (nofile, memlock, stack) to
// what it asks for, as far as the hard ones allow, so that the command starts
// with them. What the kernel refuses shows in what is read back.
func RaiseSoft(e Expectation) {
	for _, wish := range []struct {
		asked  *int64
		number int
	}{
		{e.NoFile, unix.RLIMIT_NOFILE}, {e.MemLock, unix.RLIMIT_MEMLOCK}, {e.Stack, unix.RLIMIT_STACK},
	} {
		var r unix.Rlimit
		if wish.asked == nil || unix.Getrlimit(wish.number, &r) != nil {
			continue
		}
		// As a number without a sign, Unlimited is RLIM_INFINITY. It is set also
		// where it is right already: Go raises its own nofile, and gives the
		// command the one from before unless the program has set one itself.
		r.Cur = min(uint64(*wish.asked), r.Max)
		_ = unix.Setrlimit(wish.number, &r)
	}
}
