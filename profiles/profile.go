package profiles

import (
	"fmt"
	"time"
)

// Source is the place that a value comes from. Line and Column count from 1;
// Line is zero where the place has no lines: a flag of the command line.
type Source struct {
	File   string
	Line   int
	Column int
}

// Flag is the Source of a value given on the command line by a flag, named
// with its dashes.
func Flag(name string) Source { return Source{File: "flag " + name} }

// String gives "profiles.yaml:12:5", "(built in) profiles.yaml:12:5" for the
// catalogue in the binary, or "flag --memory".
func (s Source) String() string {
	if s.Line == 0 {
		return s.File
	}
	return fmt.Sprintf("%s:%d:%d", s.File, s.Line, s.Column)
}

// Amount is a memory size or a number of CPUs, either fixed or as a share of
// the engine's host. Exactly one form is set.
type Amount struct {
	// Value is the fixed form: bytes for memory, 1e-9 CPUs for cpus.
	Value int64
	// Num/Den is the share, 0 < Num <= Den <= 10000; Den is 0 for the fixed form.
	Num, Den int64
}

// IsShare tells whether a is a share of the host.
func (a Amount) IsShare() bool { return a.Den != 0 }

// String gives "1/2" for a share and the plain number for a fixed value; an
// Amount does not know its unit.
func (a Amount) String() string {
	if a.IsShare() {
		return fmt.Sprintf("%d/%d", a.Num, a.Den)
	}
	return fmt.Sprint(a.Value)
}

// GPUs says which GPUs a run gets. Exactly one of its fields is set.
type GPUs struct {
	// Count is how many, any of them, from 1.
	Count int
	// All means every GPU of the host.
	All bool
	// IDs names them: indices ("0"), UUIDs ("GPU-...") or MIG devices
	// ("0:1", "MIG-...").
	IDs []string
	// None means that the run sees no GPU. It lifts an inherited request.
	None bool
}

// Kinds of a TmpDir.
const (
	// TmpFS is memory: what lies there counts against the run's memory.
	TmpFS = "tmpfs"
	// Disk is a folder under the machine's scratch root.
	Disk = "disk"
)

// TmpDir is the run's folder for temporary files, mounted on /tmp and named
// by TMPDIR.
type TmpDir struct {
	// Size is in bytes.
	Size int64
	// Kind is TmpFS, also where the file names none, or Disk.
	Kind string
}

// Threads says how many threads OpenMP, MKL and their like start.
type Threads struct {
	// Auto follows cpus and cpuset. N is 0 then.
	Auto bool
	// N is from 1 to 4096.
	N int
}

// SignalBeforeKill says when a run is told that a limit is near, once for each
// limit, so that it can save a checkpoint.
type SignalBeforeKill struct {
	// Signal is one of SIGUSR1, SIGUSR2, SIGHUP, SIGINT and SIGTERM; "" stands
	// for SIGUSR1.
	Signal string
	// Memory and Time are the shares of memory and of time_limit at which it is
	// sent, in percent, 1 to 99; 0 for never.
	Memory, Time int
}

// EnvVar is one variable of the run's environment.
type EnvVar struct {
	Name  string
	Value string
	// FromHost takes the value that the variable has where crun is called; it
	// is written as a name without a value. Value is empty then.
	FromHost bool
}

// Unlimited is the value of a limit that is lifted.
const Unlimited = -1

// Values of Profile.Home and Profile.Network.
const (
	// HomeOwn is a home folder of crun's; HomeMine is the caller's.
	HomeOwn  = "own"
	HomeMine = "mine"

	NetworkNone    = "none"
	NetworkDefault = "default"
	NetworkHost    = "host"
)

// Profile is a named set of limits. A nil field is not set, by the profile or
// by what it extends.
type Profile struct {
	Name string
	// Description is one line of printable text.
	Description string
	// Source is where the profile is defined.
	Source Source
	// Extends names the profiles that this one builds on, nearest first.
	Extends []string

	// Memory is the ceiling of the run's memory, in bytes when fixed.
	Memory *Amount
	// MemorySwap is memory and swap together, as Docker counts it, in bytes;
	// Unlimited lifts it. Not set means equal to Memory: no swap.
	MemorySwap *int64
	// MemoryReservation is the size, in bytes, to which the kernel pushes the
	// run back when the host is short of memory.
	MemoryReservation *int64
	// OOMScoreAdj is the kernel's oom_score_adj, -999 to 1000: of all processes
	// of a host that is out of memory, those with more are ended first.
	OOMScoreAdj *int64
	// CPUs is the CPU time per second, in 1e-9 CPUs (Docker's NanoCPUs) when fixed.
	CPUs *Amount
	// CPUSet is a list of CPU numbers as the kernel writes it, "0-3,8", or
	// "auto" for free ones, as many as CPUs says.
	CPUSet *string
	GPUs   *GPUs
	// ShmSize is the size of /dev/shm in bytes. It counts as memory.
	ShmSize *int64
	TmpDir  *TmpDir
	// Pids is the number of processes and threads in the run.
	Pids *int64
	// NoFile is the number of descriptors that a process may have open.
	NoFile *int64
	// MemLock, Stack, Core and AddressSpace are RLIMIT_MEMLOCK, _STACK, _CORE
	// and _AS of each process, in bytes, or Unlimited.
	MemLock, Stack, Core, AddressSpace *int64
	Threads                            *Threads
	// Env is sorted by name.
	Env []EnvVar
	// Home is HomeOwn or HomeMine.
	Home *string
	// Network is NetworkNone, NetworkDefault or NetworkHost.
	Network *string
	// TimeLimit is at least a second. "none" leaves it nil, with an Origin.
	TimeLimit        *time.Duration
	SignalBeforeKill *SignalBeforeKill
	// Strict refuses what is only a wish (nofile, memlock, stack) and cannot
	// be had in full.
	Strict *bool
	// Final keeps the name from being redefined in nearer files. It counts in
	// the system's file alone and is not inherited.
	Final *bool

	// Origin has the place of every value that is set, by the field's name as
	// in the file: "memory", "tmpdir.size", "env.FOO".
	Origin map[string]Source
}
