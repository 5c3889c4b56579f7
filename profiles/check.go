package profiles

import (
	"errors"
	"fmt"
)

// lowMemory is what a warning is given below: the interpreter and torch's
// libraries alone need more.
const lowMemory = 64 * miB

// Check looks at what the fields say together, as far as they are fixed: a
// share is known on a host alone. The error joins an *Error for each mistake.
func (p *Profile) Check() ([]Warning, error) {
	warnings, errs := p.check(nil)
	var all []error
	for _, err := range errs {
		all = append(all, err)
	}
	return warnings, errors.Join(all...)
}

// checker collects what is wrong with one profile.
type checker struct {
	p        *Profile
	own      map[string]Source // what the profile does not inherit, where known
	warnings []Warning
	errs     []*Error
}

func (p *Profile) check(own map[string]Source) ([]Warning, []*Error) {
	c := &checker{p: p, own: own}
	c.memory()
	c.inMemory()
	c.cpus()
	c.addressSpace()
	c.signal()
	return c.warnings, c.errs
}

// at is the place to name for a mistake between fields: a flag's before the
// profile's own before an inherited one, since that is what was written last.
func (c *checker) at(fields []string) Source {
	for _, field := range fields {
		if source, ok := c.p.Origin[field]; ok && source.Line == 0 {
			return source
		}
	}
	for _, field := range fields {
		if source, ok := c.own[field]; ok {
			return source
		}
	}
	for _, field := range fields {
		if source, ok := c.p.Origin[field]; ok {
			return source
		}
	}
	return c.p.Source
}

func (c *checker) errorf(fields []string, format string, args ...any) {
	c.errs = append(c.errs, &Error{Source: c.at(fields), Message: fmt.Sprintf(format, args...)})
}

func (c *checker) warnf(fields []string, format string, args ...any) {
	c.warnings = append(c.warnings, Warning{Profile: c.p.Name, Source: c.at(fields), Message: fmt.Sprintf(format, args...)})
}

// fixedMemory gives memory in bytes where it is known.
func (p *Profile) fixedMemory() (int64, bool) {
	if p.Memory == nil || p.Memory.IsShare() {
		return 0, false
	}
	return p.Memory.Value, true
}

func (c *checker) memory() {
	p := c.p
	if p.MemorySwap != nil && *p.MemorySwap != Unlimited && p.Memory == nil {
		c.errorf([]string{"memory_swap"}, "memory_swap is %s without memory; it counts memory and swap together, so set memory too", formatSize(*p.MemorySwap))
	}
	memory, ok := p.fixedMemory()
	if !ok {
		return
	}
	switch {
	case memory < minMemory:
		c.errorf([]string{"memory"}, "memory comes to %s, below the least, %s; raise it", formatSize(memory), formatSize(minMemory))
	case memory < lowMemory:
		c.warnf([]string{"memory"}, "memory is %s; Python with torch needs more than %s to start", formatSize(memory), formatSize(lowMemory))
	}
	if p.MemorySwap != nil && *p.MemorySwap != Unlimited && *p.MemorySwap < memory {
		c.errorf([]string{"memory_swap", "memory"}, "memory_swap is %s, less than memory, %s; it counts memory and swap together, so write at least that (equal means no swap)", formatSize(*p.MemorySwap), formatSize(memory))
	}
	if p.MemoryReservation != nil && *p.MemoryReservation > memory {
		c.errorf([]string{"memory_reservation", "memory"}, "memory_reservation is %s, more than memory, %s; lower it", formatSize(*p.MemoryReservation), formatSize(memory))
	}
}

// inMemory looks at the filesystems that count as memory.
func (c *checker) inMemory() {
	p := c.p
	if p.TmpDir != nil && p.TmpDir.Size == 0 {
		c.errorf([]string{"tmpdir.kind"}, "tmpdir has no size; write tmpdir: {size: 1g, kind: %s}", p.TmpDir.Kind)
		return
	}
	memory, ok := p.fixedMemory()
	if !ok {
		return
	}
	var total int64
	var where []string
	var what string
	remedy := "lower it"
	if p.ShmSize != nil {
		total, where = *p.ShmSize, []string{"shm_size"}
		what = "shm_size, " + formatSize(total) + ", counts"
	}
	if p.TmpDir != nil && p.TmpDir.Kind != Disk {
		what = "tmpdir, " + formatSize(p.TmpDir.Size) + " of tmpfs, counts"
		if p.ShmSize != nil {
			what = fmt.Sprintf("shm_size, %s, and tmpdir, %s of tmpfs, count", formatSize(*p.ShmSize), formatSize(p.TmpDir.Size))
		}
		total += p.TmpDir.Size
		where = append([]string{"tmpdir.size"}, where...)
		remedy = "give tmpdir the kind disk, lower it"
	}
	where = append(where, "memory")
	switch {
	case total > memory:
		c.errorf(where, "%s as memory and would fill more than memory, %s; %s or raise memory", what, formatSize(memory), remedy)
	case total > memory/2:
		c.warnf(where, "%s as memory and may fill more than half of memory, %s, before the program has any", what, formatSize(memory))
	}
}

func (c *checker) cpus() {
	p := c.p
	if p.CPUs == nil || p.CPUs.IsShare() {
		return
	}
	cpus := p.CPUs.Value
	if cpus < minCPUs {
		c.errorf([]string{"cpus"}, "cpus comes to %s, below the least, 0.01; raise it", formatCPUs(cpus))
	}
	if p.CPUSet != nil {
		if n, err := cpusIn(*p.CPUSet); err == nil && cpus > int64(n)*nanoCPU {
			c.warnf([]string{"cpuset", "cpus"}, "cpus is %s, but cpuset %s has only %d to run on", formatCPUs(cpus), *p.CPUSet, n)
		}
	}
	if p.Threads != nil && int64(p.Threads.N)*nanoCPU > cpus && p.Threads.N > 1 {
		c.warnf([]string{"threads", "cpus"}, "threads is %d, more than cpus, %s; they will wait for each other (auto follows cpus)", p.Threads.N, formatCPUs(cpus))
	}
}

// signal asks for a share: a signal alone is never sent.
func (c *checker) signal() {
	const name = "signal_before_kill"
	s := c.p.SignalBeforeKill
	if s != nil && s.Signal != "" && s.Memory == 0 && s.Time == 0 && c.p.Origin[name+".memory"] == (Source{}) && c.p.Origin[name+".time"] == (Source{}) {
		c.errorf([]string{name + ".signal"}, "%s says %s and not when; write memory: 90%% or time: 95%% beside it", name, s.Signal)
	}
}

// addressSpace warns of the two ways in which RLIMIT_AS hits programs that
// are within their memory.
func (c *checker) addressSpace() {
	p := c.p
	if p.AddressSpace == nil || *p.AddressSpace == Unlimited {
		return
	}
	if p.GPUs != nil && !p.GPUs.None {
		c.warnf([]string{"address_space", "gpus"}, "address_space is %s with GPUs; CUDA reserves addresses for the memory of all GPUs and of the host, and fails to start below that", formatSize(*p.AddressSpace))
	}
	if memory, ok := p.fixedMemory(); ok && *p.AddressSpace < memory {
		c.warnf([]string{"address_space", "memory"}, "address_space is %s, less than memory, %s, which can then never be used by one process", formatSize(*p.AddressSpace), formatSize(memory))
	}
}
