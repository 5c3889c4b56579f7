package inside

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"crun.dev/crun/run/plan"
)

// Changed gives what is other in after than in before, of what can be changed
// from outside while a run lasts: its groups' limits and its file systems. Each
// Difference has before's value as what was asked.
func Changed(before, after Limits) []Difference {
	if before.Foreign { // the groups are somebody else's to change
		for _, l := range []*Limits{&before, &after} {
			l.Memory, l.MemorySwap, l.CPUQuota, l.CPUPeriod, l.CPUSet, l.Pids = nil, nil, nil, nil, "", nil
		}
	}
	e := Expectation{Memory: before.Memory, MemorySwap: before.MemorySwap, CPUSet: before.CPUSet, Pids: before.Pids}
	if q := before.CPUQuota; q != nil && *q != plan.Unlimited {
		e.CPUQuota, e.CPUPeriod = q, before.CPUPeriod
	}
	if f := before.Shm; f != nil && f.Type == "tmpfs" {
		e.ShmSize = &f.Size
	}
	if f := before.Tmp; f != nil && f.Type == "tmpfs" {
		e.TmpSize = &f.Size
	}
	found := Check(e, after)
	// What was not held at the start, Check takes for not asked.
	for _, limit := range []struct {
		field         string
		before, after *int64
		format        func(int64) string
	}{
		{"memory", before.Memory, after.Memory, bytes}, {"memory_swap", before.MemorySwap, after.MemorySwap, bytes}, {"pids", before.Pids, after.Pids, count},
		{"cpus", cpusOf(before), cpusOf(after), plan.FormatCPUs},
	} {
		if b, a := limit.before, limit.after; b != nil && *b == plan.Unlimited && a != nil && *a != plan.Unlimited {
			found = append(found, Difference{Field: limit.field, Asked: unlimited, Effective: limit.format(*a)})
		}
	}
	for i := range found {
		found[i].Refuse = false
	}
	return found
}

// cpusOf is the quota of l in 1e-9 CPUs, plan.Unlimited, or nil where it is not
// known.
func cpusOf(l Limits) *int64 {
	if l.CPUQuota == nil || *l.CPUQuota == plan.Unlimited {
		return l.CPUQuota
	}
	if l.CPUPeriod == nil || *l.CPUPeriod <= 0 {
		return nil
	}
	n := nano(*l.CPUQuota, *l.CPUPeriod)
	return &n
}

// CheckCommand looks at the user's command behind an image's entrypoint, below
// the process pid: the entrypoint may have changed what it was given. ok is
// false where the command does not run yet. l is what init was given.
func CheckCommand(e Expectation, l Limits, pid int) (found []Difference, ok bool) {
	for _, id := range descendants(pid) {
		dir := filepath.Join("/proc", strconv.Itoa(id))
		if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err != nil || string(line) != strings.Join(e.Command, "\x00")+"\x00" {
			continue
		}
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil {
			continue
		}
		now := l
		readProcessOf(id, &now)
		now.Env = watched(e, strings.Split(string(environ), "\x00"))
		known := Check(e, l)
		return slices.DeleteFunc(Check(e, now), func(d Difference) bool { return slices.Contains(known, d) }), true
	}
	return nil, false
}

// descendants gives pid and the processes that it has started, nearest first.
func descendants(pid int) []int {
	children := map[int][]int{}
	// The pattern is fixed: no error.
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, file := range files {
		dir := filepath.Dir(file)
		id, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		for line := range strings.Lines(readText(dir, "status")) {
			if text, ok := strings.CutPrefix(line, "PPid:"); ok {
				if parent, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
					children[parent] = append(children[parent], id)
				}
				break
			}
		}
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}
