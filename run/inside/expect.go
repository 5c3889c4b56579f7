package inside

import (
	"slices"
	"strings"

	"crun.dev/crun/run/plan"
)

// Expect draws from p what init has to find and to do. It is pure.
func Expect(p *plan.Plan) Expectation {
	e := Expectation{
		Version:   Version,
		Run:       p.ID,
		Strict:    p.Strict,
		Foreign:   p.Uncounted,
		TimeLimit: p.TimeLimit,
		Grace:     p.Grace,
		Early:     p.SignalBeforeKill,
		Env:       map[string]string{},
	}
	if p.Spec.Linux != nil && p.Spec.Linux.Resources != nil {
		r := p.Spec.Linux.Resources
		if r.Memory != nil {
			e.Memory, e.MemorySwap, e.MemoryReservation = r.Memory.Limit, r.Memory.Swap, r.Memory.Reservation
			e.NoSwap = r.Memory.Limit != nil && r.Memory.Swap == nil
		}
		if r.CPU != nil {
			e.CPUSet = r.CPU.Cpus
			if r.CPU.Quota != nil && r.CPU.Period != nil {
				period := int64(*r.CPU.Period)
				e.CPUQuota, e.CPUPeriod = r.CPU.Quota, &period
			}
		}
		if r.Pids != nil {
			e.Pids = r.Pids.Limit
		}
	}
	if size, ok := p.TmpfsSize(plan.ShmPath); ok {
		e.ShmSize = &size
	}
	if size, ok := p.TmpfsSize(plan.TmpPath); ok {
		e.TmpSize = &size
	}
	e.ReadOnly = readOnlyMounts(p)
	e.GPUs = expectGPUs(p.GPUs)

	process := p.Spec.Process
	if process == nil {
		return e
	}
	for _, field := range rlimitFields {
		if value, ok := p.Rlimit(field.spec); ok {
			*field.asked(&e) = &value
		}
	}
	e.OOMScoreAdj = process.OOMScoreAdj
	user := process.User
	e.Groups, e.NoNetwork = user.AdditionalGids, p.Network == plan.NetworkNone
	if p.Entrypoint > 0 && p.Entrypoint < len(process.Args) {
		e.Command = process.Args[p.Entrypoint:]
	}
	e.UID, e.GID, e.Umask = &user.UID, &user.GID, user.Umask
	for _, name := range watchedEnv() {
		if name == plan.GPUVar && p.GPUs != nil && p.GPUs.Driver == "nvidia" {
			// The engine sets it too, beside the image's value: which of the two
			// comes first is the runtime's choice.
			continue
		}
		if value, ok := p.Getenv(name); ok && !slices.Contains(p.SecretEnv, name) {
			e.Env[name] = value
		}
	}
	return e
}

// expectGPUs gives how many GPUs may be seen, nil where ids do not tell: two MIG
// devices may be parts of one GPU, whose files both show, and an index may be
// the GPU of a UUID beside it.
func expectGPUs(g *plan.GPUs) *int {
	n := 0
	switch {
	case g == nil:
	case g.Count > 0:
		n = g.Count
	case !g.All && (all(g.IDs, isIndex) || all(g.IDs, isUUID)):
		n = len(g.IDs)
	default:
		return nil
	}
	return &n
}

func all(ids []string, is func(string) bool) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !is(id) })
}

func isIndex(id string) bool { return strings.Trim(id, "0123456789") == "" }

func isUUID(id string) bool { return strings.HasPrefix(id, "GPU-") }

// watchedEnv are the variables whose values decide whether a limit works.
func watchedEnv() []string {
	return append(plan.ThreadVars(), plan.TokenizersVar, plan.WorkersVar, "TMPDIR", plan.GPUVar)
}

// rlimitFields ties the limits of each process to their names: in a plan, in
// the runtime specification, and in an Expectation.
var rlimitFields = []struct {
	field, spec string
	asked       func(*Expectation) **int64
}{
	{"nofile", "RLIMIT_NOFILE", func(e *Expectation) **int64 { return &e.NoFile }},
	{"memlock", "RLIMIT_MEMLOCK", func(e *Expectation) **int64 { return &e.MemLock }},
	{"stack", "RLIMIT_STACK", func(e *Expectation) **int64 { return &e.Stack }},
	{"core", "RLIMIT_CORE", func(e *Expectation) **int64 { return &e.Core }},
	{"address_space", "RLIMIT_AS", func(e *Expectation) **int64 { return &e.AddressSpace }},
}
