package inside

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"crun.dev/crun/run/plan"
)

// noLimit is where version 1's "unlimited" begins: it writes the largest
// number of pages that a counter holds, in bytes, which depends on the page.
const noLimit = 1 << 62

// limits fills in what the groups hold: the lowest of the process's own group
// and of those above it, whose limits bind as well.
func (c *cgroup) limits(l *Limits) {
	l.CgroupVersion = c.Version

	dirs, version := c.find("memory")
	if version == 1 {
		l.Memory = lowest(dirs, "memory.limit_in_bytes")
		l.MemorySwap = lowest(dirs, "memory.memsw.limit_in_bytes")
		// The kernel's own minimum, over groups that cannot be seen too.
		if len(dirs) > 0 {
			l.MemoryReservation = readInt(dirs[0], "memory.soft_limit_in_bytes")
			stat := readStat(dirs[0], "memory.stat")
			l.Memory = lower(l.Memory, stat["hierarchical_memory_limit"])
			if l.MemorySwap != nil {
				l.MemorySwap = lower(l.MemorySwap, stat["hierarchical_memsw_limit"])
			}
		}
	} else {
		l.Memory = lowest(dirs, "memory.max")
		l.MemorySwap = add(l.Memory, lowest(dirs, "memory.swap.max"))
		if len(dirs) > 0 {
			// Engines make memory.low of it (runc and crun do).
			l.MemoryReservation = readInt(dirs[0], "memory.low")
		}
	}

	dirs, version = c.find("cpu")
	for _, dir := range dirs {
		quota, period := readQuota(dir, version)
		if quota != nil && tighter(quota, period, l.CPUQuota, l.CPUPeriod) {
			l.CPUQuota, l.CPUPeriod = quota, period
		}
	}

	dirs, _ = c.find("pids")
	l.Pids = lowest(dirs, "pids.max")
}

// counters fills in what the process's own group has counted.
func (c *cgroup) counters(to *Counters) {
	if dirs, version := c.find("memory"); len(dirs) > 0 {
		memoryCounters(dirs[0], version, to)
	}
	if dirs, version := c.find("cpu"); len(dirs) > 0 {
		stat := readStat(dirs[0], "cpu.stat")
		to.CPUPeriods, to.ThrottledPeriods = stat["nr_periods"], stat["nr_throttled"]
		if version == 1 {
			to.ThrottledTime = duration(stat["throttled_time"], time.Nanosecond)
		} else {
			to.ThrottledTime = duration(stat["throttled_usec"], time.Microsecond)
			to.CPUUsage = duration(stat["usage_usec"], time.Microsecond)
		}
	}
	if dirs, version := c.find("cpuacct"); version == 1 {
		to.CPUUsage = duration(readInt(dirs[0], "cpuacct.usage"), time.Nanosecond)
	}
	if dirs, _ := c.find("pids"); len(dirs) > 0 {
		to.Pids = readInt(dirs[0], "pids.current")
		to.PidsPeak = readInt(dirs[0], "pids.peak") // since Linux 6.1
		to.PidsMax = readStat(dirs[0], "pids.events")["max"]
	}
}

func memoryCounters(dir string, version int, to *Counters) {
	stat := readStat(dir, "memory.stat")
	if version == 2 {
		to.MemoryPeak = readInt(dir, "memory.peak") // since Linux 5.19
		to.MemoryCurrent = readInt(dir, "memory.current")
		to.Swap = readInt(dir, "memory.swap.current")
		events := readStat(dir, "memory.events")
		to.MemoryMax, to.OOMKills, to.OOMs = events["max"], events["oom_kill"], events["oom"]
		to.Anon, to.Shmem = stat["anon"], stat["shmem"]
		to.File = less(stat["file"], to.Shmem)
		return
	}
	to.MemoryPeak = readInt(dir, "memory.max_usage_in_bytes")
	to.MemoryCurrent = readInt(dir, "memory.usage_in_bytes")
	to.MemoryMax = readInt(dir, "memory.failcnt")
	to.OOMKills = readStat(dir, "memory.oom_control")["oom_kill"]
	to.Anon, to.Shmem, to.Swap = stat["total_rss"], stat["total_shmem"], stat["total_swap"]
	to.File = less(stat["total_cache"], to.Shmem)
}

// readQuota reads the quota and the period of a group, in microseconds.
func readQuota(dir string, version int) (quota, period *int64) {
	if version == 1 {
		return readInt(dir, "cpu.cfs_quota_us"), readInt(dir, "cpu.cfs_period_us")
	}
	fields := strings.Fields(readText(dir, "cpu.max"))
	if len(fields) != 2 {
		return nil, nil
	}
	return parseLimit(fields[0]), parseLimit(fields[1])
}

// tighter tells whether a quota in its period is less than another.
func tighter(quota, period, than, thanPeriod *int64) bool {
	switch {
	case than == nil:
		return true
	case *quota < 0 || period == nil || *period <= 0:
		return false
	case *than < 0 || thanPeriod == nil || *thanPeriod <= 0:
		return true
	}
	return nano(*quota, *period) < nano(*than, *thanPeriod)
}

// lowest gives the lowest limit that a file of this name holds in any of dirs,
// nil where none of them has it.
func lowest(dirs []string, name string) *int64 {
	var min *int64
	for _, dir := range dirs {
		if value := readInt(dir, name); value != nil {
			min = lower(min, value)
		}
	}
	return min
}

// lower gives the lower of two limits; nil is unknown, below zero unlimited.
func lower(a, b *int64) *int64 {
	switch {
	case a == nil || b == nil:
		if a == nil {
			return b
		}
		return a
	case *a < 0:
		return b
	case *b < 0 || *a <= *b:
		return a
	}
	return b
}

// add gives the sum of two limits: unlimited where one is, nil where one is
// not known.
func add(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	if *a < 0 || *b < 0 || sum < 0 {
		sum = plan.Unlimited
	}
	return &sum
}

// less gives a without b, as far as they are known.
func less(a, b *int64) *int64 {
	if a == nil || b == nil {
		return a
	}
	n := max(0, *a-*b)
	return &n
}

func duration(n *int64, unit time.Duration) *plan.Duration {
	if n == nil {
		return nil
	}
	d := plan.Duration(time.Duration(*n) * unit)
	return &d
}

// readStat reads lines of a name and a number.
func readStat(dir, name string) map[string]*int64 {
	stat := map[string]*int64{}
	for line := range strings.Lines(readText(dir, name)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			stat[fields[0]] = parseLimit(fields[1])
		}
	}
	return stat
}

func readInt(dir, name string) *int64 { return parseLimit(readText(dir, name)) }

func readText(dir, name string) string {
	// A file that is not there, or not ours to read, counts as not known.
	data, _ := os.ReadFile(filepath.Join(dir, name))
	return strings.TrimSpace(string(data))
}

// parseLimit reads a number, or a limit that is lifted: "max" (version 2),
// below zero, or a number that no memory has (version 1).
func parseLimit(text string) *int64 {
	n, err := strconv.ParseUint(text, 10, 64)
	value := int64(n)
	switch {
	case text == "max" || strings.HasPrefix(text, "-") || err == nil && n >= noLimit:
		value = plan.Unlimited
	case err != nil:
		return nil
	}
	return &value
}
