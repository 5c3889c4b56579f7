package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// CPUs gives the quota of CPU time in 1e-9 CPUs, or 0 for none.
func (p *Plan) CPUs() int64 {
	if p.Spec.Linux == nil || p.Spec.Linux.Resources == nil || p.Spec.Linux.Resources.CPU == nil {
		return 0
	}
	return cpusOf(p.Spec.Linux.Resources.CPU)
}

func cpusOf(cpu *specs.LinuxCPU) int64 {
	if cpu.Quota == nil || cpu.Period == nil || *cpu.Period == 0 {
		return 0
	}
	return *cpu.Quota * (cpuUnit / 1000) / int64(*cpu.Period) * 1000
}

// Cores gives how many cores the run can keep busy by its quota and its set of
// CPUs, or 0 where nothing bounds them.
func (p *Plan) Cores() int {
	cores := int((p.CPUs() + cpuUnit - 1) / cpuUnit)
	if p.Spec.Linux == nil || p.Spec.Linux.Resources == nil || p.Spec.Linux.Resources.CPU == nil {
		return cores
	}
	if cpus, err := ParseCPUSet(p.Spec.Linux.Resources.CPU.Cpus); err == nil && (cores == 0 || len(cpus) < cores) {
		cores = len(cpus)
	}
	return cores
}

// Rlimit gives a limit of each process by its name in the specification
// ("RLIMIT_NOFILE"), Unlimited where it is lifted.
func (p *Plan) Rlimit(name string) (value int64, ok bool) {
	for _, r := range p.Spec.Process.Rlimits {
		if r.Type == name {
			return int64(r.Hard), true // RLIM_INFINITY becomes -1
		}
	}
	return 0, false
}

// Getenv gives the value of a variable that is no secret.
func (p *Plan) Getenv(name string) (value string, ok bool) {
	for _, entry := range p.Spec.Process.Env {
		if n, v, _ := strings.Cut(entry, "="); n == name {
			return v, true
		}
	}
	return "", false
}

// Summary gives the profile with its numbers in one line, for the start of a
// run: "small: 4 GiB memory, 2 cpus, 1 GiB shm, 1 GiB tmp". What is not
// limited is not named.
func Summary(p *Plan) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if memory := p.Spec.Linux.Resources.Memory; memory != nil && memory.Limit != nil {
		add("%s memory", FormatBytes(*memory.Limit))
	}
	switch nano := p.CPUs(); nano {
	case 0:
	case cpuUnit:
		add("1 cpu")
	default:
		add("%s cpus", FormatCPUs(nano))
	}
	if cpu := p.Spec.Linux.Resources.CPU; cpu != nil && cpu.Cpus != "" {
		add("cpuset %s", cpu.Cpus)
	}
	if size, ok := p.TmpfsSize(ShmPath); ok {
		add("%s shm", FormatBytes(size))
	}
	if size, ok := p.TmpfsSize(TmpPath); ok {
		add("%s tmp", FormatBytes(size))
	} else if p.ScratchSize > 0 {
		add("%s tmp on disk", FormatBytes(p.ScratchSize))
	}
	switch g := p.GPUs; {
	case g == nil:
	case g.All:
		add("all GPUs")
	case len(g.IDs) > 0:
		add("GPU %s", g)
	case g.Count == 1:
		add("1 GPU")
	default:
		add("%d GPUs", g.Count)
	}
	if p.TimeLimit != nil {
		add("%s", FormatDuration(time.Duration(*p.TimeLimit)))
	}
	if len(parts) == 0 {
		parts = []string{"no limits"}
	}
	return p.Profile + ": " + strings.Join(parts, ", ")
}

// FormatDuration writes d without the zeros of time.Duration: "1h", "1h30m".
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// rlimitFields are the limits of each process in the order in which they are
// shown.
var rlimitFields = []struct{ field, name string }{
	{"nofile", "RLIMIT_NOFILE"}, {"memlock", "RLIMIT_MEMLOCK"}, {"stack", "RLIMIT_STACK"},
	{"core", "RLIMIT_CORE"}, {"address_space", "RLIMIT_AS"},
}

// Describe gives the whole plan as lines of field, value and origin, for
// --dry-run and inspect. No value of a secret is in it.
func Describe(p *Plan) []Row {
	var rows []Row
	add := func(field, value string) { rows = append(rows, Row{field, value, p.Origin[field]}) }
	addOpt := func(field string, value *int64, format func(int64) string) {
		if value != nil {
			add(field, format(*value))
		}
	}
	process, resources := p.Spec.Process, p.Spec.Linux.Resources

	add("run", p.ID)
	add("name", p.Name)
	add("image", strings.TrimSpace(p.Image.Ref+" "+p.Image.ID))
	add("command", quote(process.Args))
	add("folder", process.Cwd)
	add("user", fmt.Sprintf("%d:%d %s", process.User.UID, process.User.GID, p.Account.User))
	add("profile", p.Profile)

	if memory := resources.Memory; memory != nil {
		addOpt("memory", memory.Limit, FormatBytes)
		addOpt("memory_swap", memory.Swap, FormatBytes)
		addOpt("memory_reservation", memory.Reservation, FormatBytes)
	}
	if score := process.OOMScoreAdj; score != nil {
		add("oom_score_adj", strconv.Itoa(*score))
	}
	if nano := p.CPUs(); nano != 0 {
		add("cpus", FormatCPUs(nano))
	}
	if resources.CPU != nil && resources.CPU.Cpus != "" {
		add("cpuset", resources.CPU.Cpus)
	}
	add("gpus", p.GPUs.String())
	if size, ok := p.TmpfsSize(ShmPath); ok {
		add("shm_size", FormatBytes(size))
	}
	if size, ok := p.TmpfsSize(TmpPath); ok {
		add("tmpdir.size", FormatBytes(size))
	} else if p.ScratchSize > 0 {
		held := "watched, not limited"
		if p.Scratch == "" {
			held = "not limited"
		}
		add("tmpdir.size", FormatBytes(p.ScratchSize)+" on disk, "+held)
	}
	if resources.Pids != nil {
		addOpt("pids", resources.Pids.Limit, formatCount)
	}
	for _, r := range rlimitFields {
		if value, ok := p.Rlimit(r.name); ok {
			if r.field == "nofile" {
				add(r.field, formatCount(value))
			} else {
				add(r.field, FormatBytes(value))
			}
		}
	}
	if n, kept := p.threads(); n != "" {
		if len(kept) > 0 {
			n += ", but " + strings.Join(kept, ", ") + " kept"
		}
		add("threads", n)
	}
	if p.Restarts > 0 {
		add("restart", fmt.Sprintf("on-failure:%d", p.Restarts))
	}
	if p.TimeLimit != nil {
		add("time_limit", FormatDuration(time.Duration(*p.TimeLimit)))
	}
	if s := p.SignalBeforeKill; s != nil {
		if s.Memory > 0 {
			add("signal_before_kill.memory", s.Signal+" at "+FormatBytes(s.Memory))
		}
		if s.Time > 0 {
			add("signal_before_kill.time", s.Signal+" after "+FormatDuration(time.Duration(s.Time)))
		}
	}
	add("network", p.Network)
	for _, port := range p.Ports {
		add("port", fmt.Sprintf("%s:%d to %d/%s", port.HostIP, port.Host, port.Container, port.Protocol))
	}
	if p.ReadOnly() {
		add("read_only", "all but the mounts and the tmpdir")
	}
	for _, mount := range p.Spec.Mounts {
		if mount.Type == "bind" {
			rows = append(rows, Row{"mount", describeMount(mount), p.Origin["mount."+mount.Destination]})
		}
	}
	for _, entry := range process.Env {
		name, value, _ := strings.Cut(entry, "=")
		add("env."+name, value)
	}
	for _, name := range p.SecretEnv {
		add("env."+name, "(the caller's, not recorded)")
	}
	return rows
}

// threads gives what threads says of the run, from the variables that it has
// set, and the other ones with the values that they have kept.
func (p *Plan) threads() (n string, kept []string) {
	for _, name := range threadVars {
		value, ok := p.Getenv(name)
		switch {
		case ok && p.Origin["env."+name] == "threads":
			if n == "" && name != cpuCountVar {
				n = value
			}
		case ok:
			kept = append(kept, name+"="+value)
		}
	}
	return n, kept
}

func describeMount(mount specs.Mount) string {
	s := mount.Source
	if mount.Source != mount.Destination {
		s += " on " + mount.Destination
	}
	for _, option := range mount.Options {
		if option == "ro" {
			s += ", read-only"
		}
	}
	return s
}

// ReadOnly tells whether the run can write nowhere but into its mounts.
func (p *Plan) ReadOnly() bool { return p.Spec.Root != nil && p.Spec.Root.Readonly }

// Quote writes an argument so that a shell would read it the same.
func Quote(arg string) string { return quote([]string{arg}) }

// quote writes arguments so that a shell would read them the same.
func quote(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		if arg == "" || strings.ContainsFunc(arg, unsafe) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words[i] = arg
	}
	return strings.Join(words, " ")
}

func unsafe(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_@%+=:,./-", r)
}

// share writes the share of an amount: "1/2".
func share(a Amount) string { return fmt.Sprintf("%d/%d", a.Num, a.Den) }

// formatCount writes a number of things, Unlimited as "unlimited".
func formatCount(n int64) string {
	if n == Unlimited {
		return "unlimited"
	}
	return strconv.FormatInt(n, 10)
}
