package plan

import (
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

const (
	// minMemory is the least that Docker takes for a container.
	minMemory = 6 << 20
	// cfsPeriod is the kernel's and Docker's default, in microseconds.
	cfsPeriod = 100_000
	// minCPUs is the kernel's least quota (1 ms) in a period, in 1e-9 CPUs.
	minCPUs = cpuUnit / 100
	// minPids leaves a shell and python their few beside crun-init, which has
	// up to 7 threads (measured).
	minPids = 16
	// minAddressSpace is what a container starts with: the engine's runtime
	// (runc, a Go program) keeps to the limit itself and failed in 16 of 18
	// starts at 1 GiB, in none at 2 GiB (measured); crun-init needs 0.8 GiB.
	minAddressSpace = 2 << 30
	// minOOMScore is one above the kernel's OOM_SCORE_ADJ_MIN, which keeps a
	// process from being ended at all (proc_pid_oom_score_adj(5)).
	minOOMScore, maxOOMScore = -999, 1000
)

// memory sets the ceiling of memory, closes the swap, and checks both against
// the host: a ceiling above what is there is none.
func (m *maker) memory() {
	l, host := &m.req.Limits, m.req.Host
	m.oomScore()
	if l.Memory == nil {
		if l.MemorySwap != nil {
			m.errorf("%smemory_swap without memory: it is memory and swap together, so set memory too", m.at("memory_swap"))
		}
		if l.MemoryReservation != nil {
			m.resources().Memory = &specs.LinuxMemory{Reservation: l.MemoryReservation}
		}
		return
	}
	limit := m.resolve("memory", *l.Memory, host.Memory, FormatBytes)
	switch {
	case host.Memory > 0 && limit > host.Memory:
		m.errorf("%smemory is %s, but %s has %s: ask for at most that (--memory %dm), or for a share like \"1/2\"",
			m.at("memory"), FormatBytes(limit), m.host(), FormatBytes(host.Memory), host.Memory>>20)
		return
	case limit < minMemory:
		m.errorf("%smemory is %s, less than the %s that an engine takes: ask for more (--memory 1g)",
			m.at("memory"), FormatBytes(limit), FormatBytes(minMemory))
		return
	}
	memory := &specs.LinuxMemory{Limit: &limit}
	m.resources().Memory = memory

	if r := l.MemoryReservation; r != nil {
		if *r > limit {
			m.errorf("%smemory_reservation is %s, more than memory, which is %s: ask for less, or leave it out",
				m.at("memory_reservation"), FormatBytes(*r), FormatBytes(limit))
		}
		memory.Reservation = r
	}
	m.swap(memory, limit)
}

// holdable refuses ceilings that the engine would take and not hold.
func (m *maker) holdable() {
	l, host := &m.req.Limits, m.req.Host
	m.plan.Uncounted = slices.Contains(host.CannotLimit, "memory")
	asked := []struct {
		field string
		asked bool
	}{
		{"memory", l.Memory != nil || l.MemoryReservation != nil}, {"cpus", l.CPUs != nil}, {"cpuset", l.CPUSet != nil},
		{"pids", l.Pids != nil && *l.Pids != Unlimited},
	}
	var fields []string
	for _, a := range asked {
		if a.asked && slices.Contains(host.CannotLimit, a.field) {
			fields = append(fields, a.field)
		}
	}
	if len(fields) == 0 {
		return
	}
	why := "its kernel has no such cgroups (memory: boot it with cgroup_enable=memory on its command line)"
	switch {
	case host.Rootless && host.CgroupVersion == 1:
		why = "its engine is rootless, and with cgroup version 1 limits are root's to set: use the machine's own engine (--host unix:///var/run/docker.sock), or boot that machine with systemd.unified_cgroup_hierarchy=1 on its kernel's command line"
	case host.Rootless:
		why = "its engine is rootless, and its user may not set these: give them to users (Delegate=cpu cpuset io memory pids for user@.service)"
	}
	m.errorf("%s%s cannot hold a run to its %s: %s; crun doctor has the lines to paste, and a profile without %s starts without",
		m.at(fields[0]), m.host(), listed(fields), why, listed(fields))
}

// listed writes "memory, cpus and pids".
func listed(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// oomScore says whom the kernel ends first when the whole host is out of
// memory. Below 0 is for what must outlive others.
func (m *maker) oomScore() {
	score := m.req.Limits.OOMScoreAdj
	switch {
	case score == nil:
		return
	case *score < minOOMScore || *score > maxOOMScore:
		m.errorf("%soom_score_adj is %d: allowed are %d to %d (at -1000 a run at its memory limit would hang, since nothing of it could be ended)", m.at("oom_score_adj"), *score, minOOMScore, maxOOMScore)
		return
	case *score < 0 && m.req.Host.Rootless:
		m.errorf("%soom_score_adj is %d, and a rootless engine may not protect a run from the kernel: ask for 0 or more", m.at("oom_score_adj"), *score)
		return
	}
	n := int(*score)
	m.plan.Spec.Process.OOMScoreAdj = &n
}

// swap closes the swap: memory and swap together are memory, unless asked.
func (m *maker) swap(memory *specs.LinuxMemory, limit int64) {
	l, host := &m.req.Limits, m.req.Host
	swap := limit
	if l.MemorySwap != nil {
		swap = *l.MemorySwap
	} else {
		m.origin["memory_swap"] = "equal to memory"
	}
	if swap != Unlimited && swap < limit {
		m.errorf("%smemory_swap is %s, less than memory, which is %s: it is memory and swap together, so ask for at least that (--memory-swap %d)",
			m.at("memory_swap"), FormatBytes(swap), FormatBytes(limit), limit)
		return
	}
	switch {
	case host.SwapLimit:
		memory.Swap = &swap
	case swap == Unlimited:
		memory.Swap = &swap
	case host.Swap > 0:
		m.errorf("%s cannot limit swap, and has %s of it: the run could pass its memory by swapping; boot it with swapaccount=1, turn swap off (swapoff -a), or allow it with --memory-swap -1",
			m.host(), FormatBytes(host.Swap))
	case host.Swap < 0:
		// Init looks from inside, and refuses where there is some.
		delete(m.origin, "memory_swap")
		m.warnf("%s cannot limit swap, and whether it has any is seen only once the run starts, which is refused then (swapaccount=1 on its kernel's command line turns the limit on)", m.host())
	default:
		delete(m.origin, "memory_swap")
		m.warnf("%s cannot limit swap; with no swap there memory alone holds the run (swapaccount=1 on its kernel's command line turns it on)", m.host())
	}
}

// resolve gives an amount in full and says in the origin where it was a share.
func (m *maker) resolve(field string, a Amount, total int64, format func(int64) string) int64 {
	value := a.Of(total)
	if !a.IsShare() {
		return value
	}
	if total <= 0 {
		m.errorf("%s%s is a share of the host (%d/%d), and nobody knows how much %s has: give a fixed value", m.at(field), field, a.Num, a.Den, m.host())
	}
	origin := m.origin[field]
	if origin != "" {
		origin += ", "
	}
	m.origin[field] = origin + share(a) + " of the host's " + format(total)
	return value
}

// cpu sets the quota and the set of CPUs, and finds how many cores the run can
// keep busy.
func (m *maker) cpu() {
	l, host := &m.req.Limits, m.req.Host
	cpu := &specs.LinuxCPU{}
	if l.CPUs != nil {
		total := int64(host.CPUs) * cpuUnit
		nano := m.resolve("cpus", *l.CPUs, total, FormatCPUs)
		switch {
		case host.CPUs > 0 && nano > total:
			m.errorf("%scpus is %s, but %s has %d: ask for at most that (--cpus %d)", m.at("cpus"), FormatCPUs(nano), m.host(), host.CPUs, host.CPUs)
		case nano < minCPUs:
			m.errorf("%scpus is %s, less than the 0.01 that the kernel can give: ask for more (--cpus 1)", m.at("cpus"), FormatCPUs(nano))
		}
		quota, period := nano/(cpuUnit/cfsPeriod), uint64(cfsPeriod)
		cpu.Quota, cpu.Period = &quota, &period
		m.cores = int((nano + cpuUnit - 1) / cpuUnit)
	}
	if l.CPUSet != nil {
		m.cpuset(cpu, *l.CPUSet)
	}
	if cpu.Quota != nil || cpu.Cpus != "" {
		m.resources().CPU = cpu
	}
}

func (m *maker) cpuset(cpu *specs.LinuxCPU, list string) {
	if list == AutoCPUSet {
		cpu.Cpus = FormatCPUSet(m.chooseCPUs())
		return
	}
	cpus, err := ParseCPUSet(list)
	if err != nil {
		m.errorf("%s%w", m.at("cpuset"), err)
		return
	}
	if n := m.req.Host.CPUs; n > 0 && cpus[len(cpus)-1] >= n {
		m.errorf("%scpuset is %s, but %s has the CPUs 0-%d: name some of those, or use cpus, which needs no numbers", m.at("cpuset"), list, m.host(), n-1)
		return
	}
	cpu.Cpus = FormatCPUSet(cpus)
	// Of numbers in a profile its own check has warned.
	if c := m.req.Limits.CPUs; m.cores > len(cpus) && c != nil && c.Den > 0 {
		m.warnf("cpus is %s, but cpuset %s has %d: the run gets no more than these", FormatCPUs(cpusOf(cpu)), cpu.Cpus, len(cpus))
	}
	if m.cores == 0 || m.cores > len(cpus) {
		m.cores = len(cpus)
	}
}

// processes sets the ceiling of processes and the limits of each process.
func (m *maker) processes() {
	l := &m.req.Limits
	if l.Pids != nil {
		if *l.Pids < minPids && *l.Pids != Unlimited {
			m.errorf("%spids is %d: allowed are %d and more (crun-init and a shell need some), and -1 for no limit", m.at("pids"), *l.Pids, minPids)
		}
		m.resources().Pids = &specs.LinuxPids{Limit: l.Pids}
	}
	m.wish("nofile", "RLIMIT_NOFILE", l.NoFile)
	m.wish("memlock", "RLIMIT_MEMLOCK", l.MemLock)
	m.wish("stack", "RLIMIT_STACK", l.Stack)
	m.rlimit("core", "RLIMIT_CORE", l.Core)
	if as := l.AddressSpace; as != nil && *as >= 0 && *as < minAddressSpace {
		m.errorf("%saddress_space is %s: allowed are %s and more (the engine reserves that many addresses to start a container, python with torch several times as many), and -1 for no limit; memory is the limit for what is really used",
			m.at("address_space"), FormatBytes(*as), FormatBytes(minAddressSpace))
	}
	m.rlimit("address_space", "RLIMIT_AS", l.AddressSpace)
	// No limit of ours (pids is), but an engine's that otherwise asks for more
	// than it may give.
	if most, known := m.req.Host.MaxRlimits["nproc"]; known && most != Unlimited {
		m.rlimit("nproc", "RLIMIT_NPROC", &most)
	}
}

// wish sets a limit that is raised for the run's good. What the daemon may not
// give is lowered, or refused where the profile is strict.
func (m *maker) wish(field, name string, value *int64) {
	most, known := m.req.Host.MaxRlimits[field]
	if value == nil || !known || most == Unlimited || (*value != Unlimited && *value <= most) {
		m.rlimit(field, name, value)
		return
	}
	text := FormatBytes
	if field == "nofile" {
		text = formatCount
	}
	if m.plan.Strict {
		m.errorf("%s%s is %s, but the engine may give at most %s, and the profile is strict: ask for less, or raise the engine's own limit",
			m.at(field), field, text(*value), text(most))
		return
	}
	m.warnf("%s is %s, lowered from %s: the engine may not give more", field, text(most), text(*value))
	if m.plan.Asked == nil {
		m.plan.Asked = map[string]string{}
	}
	m.plan.Asked[field] = text(*value)
	m.rlimit(field, name, &most)
}

// rlimit sets the soft and the hard limit alike: a process that may raise its
// own limit has none.
func (m *maker) rlimit(field, name string, value *int64) {
	if value == nil {
		return
	}
	if *value < Unlimited {
		m.errorf("%s%s is %d: allowed are 0 and more, and -1 for no limit", m.at(field), field, *value)
		return
	}
	// -1, which is Unlimited, is RLIM_INFINITY in 64 bits without a sign.
	v := uint64(*value)
	m.plan.Spec.Process.Rlimits = append(m.plan.Spec.Process.Rlimits, specs.POSIXRlimit{Type: name, Soft: v, Hard: v})
}

func (m *maker) resources() *specs.LinuxResources { return m.plan.Spec.Linux.Resources }
