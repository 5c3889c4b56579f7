package inside

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"crun.dev/crun/run/plan"
)

const (
	unlimited  = "unlimited"
	unreadable = "unreadable"
)

// Check compares what the kernel holds with what was asked, and gives every
// difference. A ceiling (memory, memory_swap, cpus, cpuset, pids, core,
// address_space, GPUs) must not be exceeded, and one that cannot be read is
// not proved: both refuse the run. So do sizes of /dev/shm and /tmp, users and
// variables that are not as asked. A ceiling that is lower than asked, by a
// group above the container, and a raised limit (nofile, memlock, stack) that
// falls short refuse a strict run alone. Sizes may differ by the rounding to
// pages.
func Check(e Expectation, l Limits) []Difference {
	c := &checker{strict: e.Strict}
	c.ceiling("memory", e.Memory, l.Memory, bytes, page())
	// Version 2 rounds memory and swap, which this is the sum of, each by itself.
	c.ceiling("memory_swap", e.MemorySwap, l.MemorySwap, bytes, 2*page())
	c.reservation(e.MemoryReservation, l.MemoryReservation)
	if e.NoSwap && l.Swap != nil && *l.Swap > 0 {
		c.add("memory_swap", "none, since it cannot be limited here", bytes(*l.Swap)+" of swap on the host", true)
	}
	c.oomScore(e.OOMScoreAdj, l.OOMScoreAdj)
	c.cpus(e, l)
	c.cpuset(e.CPUSet, l.CPUSet)
	c.ceiling("pids", e.Pids, l.Pids, count, 0)
	c.rlimits(e, l)
	c.size("shm_size", e.ShmSize, l.Shm)
	c.size("tmpdir.size", e.TmpSize, l.Tmp)
	for _, path := range l.Writable {
		c.add("mount "+path, "read-only", "writable", true)
	}
	c.gpus(e.GPUs, l.Devices)
	c.id("uid", e.UID, l.UID)
	c.id("gid", e.GID, l.GID)
	c.groups(e.Groups, l)
	if e.NoNetwork && len(l.Routes) > 0 {
		c.add("network", plan.NetworkNone, "reached by "+strings.Join(l.Routes, ", "), true)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		if asked, found := e.Env[name], l.Env[name]; asked != found {
			c.add("env."+name, strconv.Quote(asked), strconv.Quote(found), true)
		}
	}
	return c.found
}

type checker struct {
	strict bool
	found  []Difference
}

func (c *checker) add(field, asked, effective string, refuse bool) {
	c.found = append(c.found, Difference{field, asked, effective, refuse})
}

// ceiling compares a limit that must not be exceeded by more than slack.
func (c *checker) ceiling(field string, asked, found *int64, format func(int64) string, slack int64) {
	switch {
	case asked == nil || *asked == plan.Unlimited:
	case found == nil:
		c.add(field, format(*asked), unreadable, true)
	case *found == plan.Unlimited:
		c.add(field, format(*asked), unlimited, true)
	case *found > *asked+slack:
		c.differ(field, *asked, *found, format, true)
	case *found < *asked-slack:
		c.differ(field, *asked, *found, format, c.strict)
	}
}

// reservation compares what the run is pushed back to: pushed less than asked,
// it takes memory from others.
func (c *checker) reservation(asked, found *int64) {
	switch {
	case asked == nil:
	case found == nil:
		c.add("memory_reservation", bytes(*asked), unreadable, true)
	case *found == 0 && *asked > page(), *found == plan.Unlimited:
		c.add("memory_reservation", bytes(*asked), "none", true)
	case *found > *asked+page():
		c.differ("memory_reservation", *asked, *found, bytes, true)
	case *found < *asked-page():
		c.differ("memory_reservation", *asked, *found, bytes, c.strict)
	}
}

// oomScore compares whom the kernel ends first: a run that is safer than asked
// is so at the cost of others.
func (c *checker) oomScore(asked, found *int) {
	switch {
	case asked == nil:
	case found == nil:
		c.add("oom_score_adj", strconv.Itoa(*asked), unreadable, true)
	case *found != *asked:
		c.add("oom_score_adj", strconv.Itoa(*asked), strconv.Itoa(*found), *found < *asked || c.strict)
	}
}

// differ writes both numbers in full where people's form would hide that they
// differ.
func (c *checker) differ(field string, asked, found int64, format func(int64) string, refuse bool) {
	a, f := format(asked), format(found)
	if a == f {
		a, f = fmt.Sprintf("%d bytes", asked), fmt.Sprintf("%d bytes", found)
	}
	c.add(field, a, f, refuse)
}

// cpus compares quotas of different periods, to a hundredth of a CPU: systemd,
// where it keeps the groups, rounds a quota up to the next whole percent.
func (c *checker) cpus(e Expectation, l Limits) {
	if e.CPUQuota == nil || e.CPUPeriod == nil || *e.CPUPeriod <= 0 {
		return
	}
	asked := nano(*e.CPUQuota, *e.CPUPeriod)
	c.ceiling("cpus", &asked, cpusOf(l), plan.FormatCPUs, 10_000_000)
}

// nano gives quota in period as 1e-9 CPUs.
func nano(quota, period int64) int64 { return quota * 1_000_000 / period * 1000 }

// cpuset asks that the process can use no CPU outside asked.
func (c *checker) cpuset(asked, found string) {
	if asked == "" {
		return
	}
	allowed, err := plan.ParseCPUSet(asked)
	if err != nil {
		c.add("cpuset", asked, found, true)
		return
	}
	cpus, err := plan.ParseCPUSet(found)
	if err != nil {
		c.add("cpuset", asked, unreadable, true)
		return
	}
	outside := slices.ContainsFunc(cpus, func(n int) bool { return !slices.Contains(allowed, n) })
	if outside || len(cpus) < len(allowed) {
		c.add("cpuset", asked, found, outside || c.strict)
	}
}

func (c *checker) rlimits(e Expectation, l Limits) {
	for _, field := range rlimitFields {
		asked := *field.asked(&e)
		if asked == nil {
			continue
		}
		format := bytes
		if field.field == "nofile" {
			format = count
		}
		r, ok := l.Rlimits[field.field]
		if !ok {
			c.add(field.field, format(*asked), unreadable, true)
			continue
		}
		if field.field == "core" || field.field == "address_space" {
			c.ceiling(field.field, asked, &r.Hard, format, 0)
			continue
		}
		found := r.Hard
		if r.Soft != nil {
			found = *r.Soft
		}
		if found != plan.Unlimited && (*asked == plan.Unlimited || found < *asked) {
			c.add(field.field, format(*asked), format(found), c.strict)
		}
	}
}

// size compares a tmpfs, which is both a ceiling and room that was promised.
func (c *checker) size(field string, asked *int64, found *Filesystem) {
	switch {
	case asked == nil:
	case found == nil:
		c.add(field, bytes(*asked), unreadable, true)
	case found.Type != "tmpfs":
		c.add(field, bytes(*asked)+" of tmpfs", bytes(found.Size)+" of "+found.Type, true)
	case found.Size > *asked+page() || found.Size < *asked-page():
		c.differ(field, *asked, found.Size, bytes, true)
	}
}

// gpus counts the device files of GPUs. Below WSL 2 there are none for each.
func (c *checker) gpus(asked *int, devices []string) {
	if asked == nil || slices.Contains(devices, "/dev/dxg") && *asked > 0 {
		return
	}
	if n := countGPUs(devices); n != *asked {
		c.add("gpus", strconv.Itoa(*asked), strconv.Itoa(n), true)
	}
}

func (c *checker) id(field string, asked *uint32, found uint32) {
	if asked != nil && *asked != found {
		c.add(field, strconv.FormatUint(uint64(*asked), 10), strconv.FormatUint(uint64(found), 10), true)
	}
}

// groups asks for those that the caller has: without one, folders of a group
// cannot be written.
func (c *checker) groups(asked []uint32, l Limits) {
	var missing []string
	for _, gid := range asked {
		if gid != l.GID && !slices.Contains(l.Groups, gid) {
			missing = append(missing, strconv.FormatUint(uint64(gid), 10))
		}
	}
	if len(missing) > 0 {
		c.add("groups", "with "+strings.Join(missing, ", "), fmt.Sprint(l.Groups), true)
	}
}

func bytes(n int64) string { return plan.FormatBytes(n) }

func count(n int64) string {
	if n == plan.Unlimited {
		return unlimited
	}
	return strconv.FormatInt(n, 10)
}

// page is the unit in which the kernel keeps memory limits and sizes of tmpfs.
func page() int64 { return int64(os.Getpagesize()) }
