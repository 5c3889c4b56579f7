package profiles

import (
	"errors"
	"fmt"
	"strconv"
)

// field is one field of a profile: how its text is read into a Profile, taken
// over from another one and written again. Whether it is set is for
// Profile.Origin to say.
type field struct {
	name string
	set  func(p *Profile, text string) error
	copy func(to, from *Profile)
	// text gives the value as the file would have it; value as JSON would:
	// bytes, seconds and counts as numbers, shares and words as strings.
	text  func(p *Profile) string
	value func(p *Profile) any
}

// pointer makes the field that lies behind a pointer of Profile.
func pointer[T any](name string, at func(*Profile) **T, parse func(string) (T, error), text func(T) string, value func(T) any) field {
	return field{
		name: name,
		set: func(p *Profile, s string) error {
			v, err := parse(s)
			if err == nil {
				*at(p) = &v
			}
			return err
		},
		copy:  func(to, from *Profile) { *at(to) = *at(from) },
		text:  func(p *Profile) string { return text(**at(p)) },
		value: func(p *Profile) any { return value(**at(p)) },
	}
}

func itself[T any](v T) any { return v }

func amountValue(unit int64) func(Amount) any {
	return func(a Amount) any {
		switch {
		case a.IsShare():
			return a.String()
		case unit == 1:
			return a.Value
		}
		return float64(a.Value) / float64(unit)
	}
}

func limitNumber(n int64) any { return n }

func limitValue(n int64) any {
	if n == Unlimited {
		return "unlimited"
	}
	return n
}

// part makes a part of a field that is a mapping. The whole is made afresh, so
// that no two profiles share one.
func part[W, T any](name string, whole func(*Profile) **W, at func(*W) *T, parse func(string) (T, error), text func(T) string, value func(T) any) field {
	edit := func(p *Profile, v T) {
		var w W
		if old := *whole(p); old != nil {
			w = *old
		}
		*at(&w) = v
		*whole(p) = &w
	}
	return field{
		name: name,
		set: func(p *Profile, s string) error {
			v, err := parse(s)
			if err == nil {
				edit(p, v)
			}
			return err
		},
		copy:  func(to, from *Profile) { edit(to, *at(*whole(from))) },
		text:  func(p *Profile) string { return text(*at(*whole(p))) },
		value: func(p *Profile) any { return value(*at(*whole(p))) },
	}
}

// tmpDir makes the parts of tmpdir.
func tmpDir[T any](name string, at func(*TmpDir) *T, parse func(string) (T, error), text func(T) string) field {
	return part(name, func(p *Profile) **TmpDir { return &p.TmpDir }, at, parse, text, itself[T])
}

// signalPart makes the parts of signal_before_kill.
func signalPart[T any](name string, at func(*SignalBeforeKill) *T, parse func(string) (T, error), text func(T) string) field {
	return part(name, func(p *Profile) **SignalBeforeKill { return &p.SignalBeforeKill }, at, parse, text, func(v T) any { return text(v) })
}

// parts has the fields that are mappings, and what is in them.
var parts = map[string][]string{"tmpdir": {"size", "kind"}, "signal_before_kill": {"signal", "memory", "time"}}

func word(s string) string { return s }

// fields has every field but env, in the order in which they are shown.
var fields = []field{
	pointer("memory", func(p *Profile) **Amount { return &p.Memory }, parseMemory, formatMemory, amountValue(1)),
	pointer("memory_swap", func(p *Profile) **int64 { return &p.MemorySwap }, sizeOrUnlimited(minMemory, false), formatLimit, limitValue),
	pointer("memory_reservation", func(p *Profile) **int64 { return &p.MemoryReservation }, size(minMemory), formatSize, limitValue),
	pointer("oom_score_adj", func(p *Profile) **int64 { return &p.OOMScoreAdj }, parseOOMScore, formatNumber, limitNumber),
	pointer("cpus", func(p *Profile) **Amount { return &p.CPUs }, parseCPUs, formatCPUAmount, amountValue(nanoCPU)),
	pointer("cpuset", func(p *Profile) **string { return &p.CPUSet }, parseCPUSet, word, itself[string]),
	pointer("gpus", func(p *Profile) **GPUs { return &p.GPUs }, parseGPUs, GPUs.String, gpusValue),
	pointer("shm_size", func(p *Profile) **int64 { return &p.ShmSize }, size(miB), formatSize, limitValue),
	tmpDir("tmpdir.size", func(d *TmpDir) *int64 { return &d.Size }, parseTmpSize, formatSize),
	tmpDir("tmpdir.kind", func(d *TmpDir) *string { return &d.Kind }, parseTmpKind, word),
	pointer("pids", func(p *Profile) **int64 { return &p.Pids }, count(minPids, maxPids, "it is the ceiling that stops a fork bomb"), formatNumber, limitValue),
	pointer("nofile", func(p *Profile) **int64 { return &p.NoFile }, count(64, maxNoFile, "Linux has no such value for descriptors"), formatNumber, limitValue),
	pointer("memlock", func(p *Profile) **int64 { return &p.MemLock }, sizeOrUnlimited(4*kiB, false), formatLimit, limitValue),
	pointer("stack", func(p *Profile) **int64 { return &p.Stack }, sizeOrUnlimited(minStack, false), formatLimit, limitValue),
	pointer("core", func(p *Profile) **int64 { return &p.Core }, sizeOrUnlimited(4*kiB, true), formatLimit, limitValue),
	pointer("address_space", func(p *Profile) **int64 { return &p.AddressSpace }, parseAddressSpace, formatLimit, limitValue),
	pointer("threads", func(p *Profile) **Threads { return &p.Threads }, parseThreads, Threads.String, threadsValue),
	pointer("home", func(p *Profile) **string { return &p.Home }, oneOf(HomeOwn, HomeMine), word, itself[string]),
	pointer("network", func(p *Profile) **string { return &p.Network }, parseNetwork, word, itself[string]),
	timeLimit,
	signalPart("signal_before_kill.signal", func(s *SignalBeforeKill) *string { return &s.Signal }, parseSignal, word),
	signalPart("signal_before_kill.memory", func(s *SignalBeforeKill) *int { return &s.Memory }, parsePercent, formatPercent),
	signalPart("signal_before_kill.time", func(s *SignalBeforeKill) *int { return &s.Time }, parsePercent, formatPercent),
	pointer("strict", func(p *Profile) **bool { return &p.Strict }, parseBool, formatBool, itself[bool]),
	pointer("final", func(p *Profile) **bool { return &p.Final }, parseBool, formatBool, itself[bool]),
}

func gpusValue(g GPUs) any {
	switch {
	case len(g.IDs) > 0:
		return g.IDs
	case g.Count > 0:
		return g.Count
	}
	return g.String()
}

func threadsValue(t Threads) any {
	if t.Auto {
		return "auto"
	}
	return t.N
}

// timeLimit is a field of its own kind since "none" is set, and nil.
var timeLimit = field{
	name: "time_limit",
	set: func(p *Profile, s string) error {
		limit, err := parseTimeLimit(s)
		switch {
		case err != nil:
			return err
		case limit == 0:
			p.TimeLimit = nil
		default:
			p.TimeLimit = &limit
		}
		return nil
	},
	copy: func(to, from *Profile) { to.TimeLimit = from.TimeLimit },
	text: func(p *Profile) string {
		if p.TimeLimit == nil {
			return "none"
		}
		return formatTime(*p.TimeLimit)
	},
	value: func(p *Profile) any {
		if p.TimeLimit == nil {
			return "none"
		}
		return p.TimeLimit.Seconds()
	},
}

func formatBool(b bool) string { return fmt.Sprint(b) }

// parseAddressSpace takes a size or unlimited. Who comes from ulimit -v writes
// KiB without a unit, and would get a thousandth of what was meant.
func parseAddressSpace(text string) (int64, error) {
	n, err := sizeOrUnlimited(minAddressSpace, false)(text)
	if err != nil && integerPattern.MatchString(text) {
		err = fmt.Errorf("%w; ulimit -v counts KiB, here that is written %sk", err, text)
	}
	return n, err
}

// parseOOMScore takes the kernel's numbers but the least, by which nothing of
// a run could be ended that is at its memory limit: it would hang.
func parseOOMScore(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case !integerPattern.MatchString(text):
		return 0, errors.New("is not a whole number; write one from -999 (ended last) to 1000 (ended first)")
	case n == -1000:
		return 0, errors.New("would leave a run that is at its memory limit hanging; write a whole number from -999 (ended last) to 1000 (ended first)")
	case err != nil || n < -999 || n > 1000:
		return 0, errors.New("is out of range; write a whole number from -999 (ended last) to 1000 (ended first)")
	}
	return n, nil
}

// parseNetwork also knows what Docker calls its default.
func parseNetwork(text string) (string, error) {
	v, err := oneOf(NetworkNone, NetworkDefault, NetworkHost)(text)
	if err != nil && text == "bridge" {
		err = fmt.Errorf("%w (did you mean \"default\"?)", err)
	}
	return v, err
}
