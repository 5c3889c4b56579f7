package profiles

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
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

func limitValue(n int64) any {
	if n == Unlimited {
		return "unlimited"
	}
	return n
}

// tmpDir makes the parts of tmpdir. The TmpDir is made afresh, so that no two
// profiles share one.
func tmpDir[T any](name string, at func(*TmpDir) *T, parse func(string) (T, error), text func(T) string) field {
	edit := func(p *Profile, v T) {
		var dir TmpDir
		if p.TmpDir != nil {
			dir = *p.TmpDir
		}
		*at(&dir) = v
		p.TmpDir = &dir
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
		copy:  func(to, from *Profile) { edit(to, *at(from.TmpDir)) },
		text:  func(p *Profile) string { return text(*at(p.TmpDir)) },
		value: func(p *Profile) any { return *at(p.TmpDir) },
	}
}

func word(s string) string { return s }

// fields has every field but env, in the order in which they are shown.
var fields = []field{
	pointer("memory", func(p *Profile) **Amount { return &p.Memory }, parseMemory, formatMemory, amountValue(1)),
	pointer("memory_swap", func(p *Profile) **int64 { return &p.MemorySwap }, sizeOrUnlimited(minMemory, false), formatLimit, limitValue),
	pointer("memory_reservation", func(p *Profile) **int64 { return &p.MemoryReservation }, size(minMemory), FormatSize, limitValue),
	pointer("cpus", func(p *Profile) **Amount { return &p.CPUs }, parseCPUs, formatCPUs, amountValue(nanoCPU)),
	pointer("cpuset", func(p *Profile) **string { return &p.CPUSet }, parseCPUSet, word, itself[string]),
	pointer("gpus", func(p *Profile) **GPUs { return &p.GPUs }, parseGPUs, GPUs.String, gpusValue),
	pointer("shm_size", func(p *Profile) **int64 { return &p.ShmSize }, size(miB), FormatSize, limitValue),
	tmpDir("tmpdir.size", func(d *TmpDir) *int64 { return &d.Size }, parseTmpSize, FormatSize),
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
	pointer("time_limit", func(p *Profile) **time.Duration { return &p.TimeLimit }, parseTimeLimit, formatTimeLimit, secondsValue),
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

func secondsValue(limit time.Duration) any {
	if limit == 0 {
		return "none"
	}
	return limit.Seconds()
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

// parseNetwork also knows what Docker calls its default.
func parseNetwork(text string) (string, error) {
	v, err := oneOf(NetworkNone, NetworkDefault, NetworkHost)(text)
	if err != nil && text == "bridge" {
		err = fmt.Errorf("%w (did you mean \"default\"?)", err)
	}
	return v, err
}

func fieldNamed(name string) (field, bool) {
	for _, f := range fields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// FieldNames has the fields of a profile as a file writes them, in the order
// in which they are shown.
func FieldNames() []string {
	names := []string{"description", "extends"}
	for _, f := range fields {
		name, _, _ := strings.Cut(f.name, ".")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if name == "threads" {
			names = append(names, "env")
		}
	}
	return names
}

// Field is one value of a resolved profile.
type Field struct {
	// Name is the field's, "tmpdir.size" and "env.FOO" for parts.
	Name string
	// Text is the value as a file has it. For a variable that is taken from
	// the host it is "".
	Text string
	// Value is the value for a machine: bytes, seconds, CPUs and counts as
	// numbers; shares, words and "unlimited" as strings; nil for a variable
	// that is taken from the host.
	Value  any
	Source Source
}

// Fields lists what is set, in the order of FieldNames.
func (p *Profile) Fields() []Field {
	var all []Field
	for _, f := range fields {
		source, ok := p.Origin[f.name]
		if !ok {
			continue
		}
		if f.name == "time_limit" && p.TimeLimit == nil {
			all = append(all, Field{Name: f.name, Text: "none", Value: "none", Source: source})
		} else {
			all = append(all, Field{Name: f.name, Text: f.text(p), Value: f.value(p), Source: source})
		}
		if f.name != "threads" {
			continue
		}
	}
	return append(all, p.envFields()...)
}

func (p *Profile) envFields() []Field {
	var all []Field
	for _, v := range p.Env {
		one := Field{Name: "env." + v.Name, Text: v.Value, Source: p.Origin["env."+v.Name]}
		if !v.FromHost {
			one.Value = v.Value
		}
		all = append(all, one)
	}
	return all
}

// setEnv puts v into the sorted list.
func (p *Profile) setEnv(v EnvVar) {
	env := slices.Clone(p.Env)
	i, found := slices.BinarySearchFunc(env, v.Name, func(e EnvVar, name string) int { return strings.Compare(e.Name, name) })
	if found {
		env[i] = v
	} else {
		env = slices.Insert(env, i, v)
	}
	p.Env = env
}

// inherit takes over from parent what p does not set. Names, sources of the
// profile and final are p's own.
func (p *Profile) inherit(parent *Profile) {
	for _, f := range fields {
		if _, set := p.Origin[f.name]; set || f.name == "final" {
			continue
		}
		if source, ok := parent.Origin[f.name]; ok {
			f.copy(p, parent)
			p.Origin[f.name] = source
		}
	}
	for _, v := range parent.Env {
		if _, set := p.Origin["env."+v.Name]; !set {
			p.setEnv(v)
			p.Origin["env."+v.Name] = parent.Origin["env."+v.Name]
		}
	}
}

// clone copies p so that changes of the copy do not reach p. Values behind
// pointers are never changed in place.
func (p *Profile) clone() *Profile {
	q := *p
	q.Extends = slices.Clone(p.Extends)
	q.Env = slices.Clone(p.Env)
	q.Origin = maps.Clone(p.Origin)
	return &q
}
