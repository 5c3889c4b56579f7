package plan

import (
	"fmt"
	"math/bits"
	"time"
)

// Request is all that Make makes a plan from.
type Request struct {
	// ID is the run's id, as NewID gives it; Name is a DNS label (ValidName).
	ID   string
	Name string
	// Profile is the name of the profile behind Limits.
	Profile string

	// Limits are the profile's values with those of flags in their place.
	Limits Limits
	// Origin has the place of every value in Limits that is set, by its name
	// in profiles.yaml ("memory", "tmpdir.size", "env.FOO"), to
	// "profiles.yaml:12:5" or "flag --memory".
	Origin map[string]string

	Host  Host
	Image ImageFacts

	// Command is what the user gave: a script and its arguments (a first word
	// that ends in .py is run with the image's python), or a command. Without
	// one the image's entrypoint has to be there.
	Command []string

	// Project is the folder that is mounted at its own path, absolute and
	// clean, or "" for none. Dir is the working directory of the caller,
	// absolute and clean: the run starts in it where it lies in Project, else
	// in Project. Paths in Command are relative to Dir.
	Project string
	Dir     string
	// Mounts are further folders and files of the host.
	Mounts []Mount
	// ReadOnly keeps the run from writing anywhere but into its mounts.
	ReadOnly bool

	// Account is the caller. Account.Home is the caller's home on the host;
	// HomeDir is the folder that stands in for it, on the host too, unless the
	// limits say home: mine. Either is mounted at its own path and is HOME.
	Account Account
	HomeDir string
	// Umask is the caller's, or nil for the engine's own.
	Umask *uint32

	// Env are the variables of the command line and of env files. They win
	// over the profile's and the image's.
	Env []EnvVar

	// HostEnv are variables for the host's sake: its time zone, where its caches
	// lie, the caller's credentials. The profile's and the command line's win.
	HostEnv []HostVar

	TTY         bool
	Interactive bool
	Restarts    int // after failures, 0 to MaxRestarts
	Ports       []Port
	// Grace is the time between SIGTERM and SIGKILL; 0 means DefaultGrace.
	Grace time.Duration
}

// Unlimited is the value of a limit that is lifted.
const Unlimited = -1

// MaxRestarts bounds Request.Restarts: what failed a hundred times fails again.
const MaxRestarts = 100

// DefaultGrace is the time that a run has between SIGTERM and SIGKILL: what
// `docker stop` gives.
const DefaultGrace = 10 * time.Second

// Values of Limits.Home, Limits.Network and TmpDir.Kind.
const (
	HomeOwn  = "own"
	HomeMine = "mine"

	NetworkNone    = "none"
	NetworkDefault = "default"
	NetworkHost    = "host"

	TmpFS = "tmpfs" // memory: it counts against the run's
	Disk  = "disk"  // a folder under the host's scratch root
)

// Limits are the fields of a profile. Nil means not set. The types below have
// the fields of their namesakes in package profiles, so that a conversion is
// enough to come from there.
type Limits struct {
	Memory            *Amount // bytes
	MemorySwap        *int64  // memory and swap together, bytes, or Unlimited; not set: equal to Memory
	MemoryReservation *int64  // bytes
	OOMScoreAdj       *int64  // -999 to 1000: who is ended first when the host is out of memory
	CPUs              *Amount // 1e-9 CPUs
	CPUSet            *string // "0-3,8", or AutoCPUSet
	GPUs              *GPULimit
	ShmSize           *int64 // bytes
	TmpDir            *TmpDir
	Pids              *int64 // processes and threads, or Unlimited
	NoFile            *int64 // descriptors a process

	MemLock, Stack, Core, AddressSpace *int64 // bytes a process, or Unlimited

	Threads   *Threads // not set: as Auto where cpus or cpuset is set
	Env       []EnvVar
	Home      *string        // HomeOwn (also where not set) or HomeMine
	Network   *string        // NetworkDefault also where not set
	TimeLimit *time.Duration // nil: none
	// SignalBeforeKill is nil, or has no share, for none.
	SignalBeforeKill *SignalShares
	Strict           *bool
}

// Amount is a fixed amount or a share of the engine's host. Exactly one form
// is set.
type Amount struct {
	Value    int64 // bytes of memory, 1e-9 CPUs
	Num, Den int64 // the share Num/Den; Den is 0 for the fixed form
}

// IsShare tells whether a is a share of the host.
func (a Amount) IsShare() bool { return a.Den != 0 }

// Of gives a in the unit of total, which is what the host has: a share of it,
// rounded down, or the fixed value whatever total is. A share of more than the
// whole, which no profile can hold, gives total.
func (a Amount) Of(total int64) int64 {
	switch {
	case !a.IsShare():
		return a.Value
	case a.Num >= a.Den:
		return total
	case a.Num <= 0 || total <= 0:
		return 0
	}
	hi, lo := bits.Mul64(uint64(total), uint64(a.Num))
	quotient, _ := bits.Div64(hi, lo, uint64(a.Den))
	return int64(quotient)
}

// GPULimit says which GPUs a run gets. Exactly one field is set.
type GPULimit struct {
	Count int
	All   bool
	IDs   []string // index, UUID or MIG id
	None  bool
}

// TmpDir is the folder on /tmp that TMPDIR names.
type TmpDir struct {
	Size int64  // bytes
	Kind string // TmpFS or Disk
}

// SignalShares says at which shares of a limit, in percent from 1 to 99, a run
// is sent a signal; 0 for never.
type SignalShares struct {
	Signal       string // "" is SIGUSR1
	Memory, Time int
}

// Threads says how many threads OpenMP, MKL and their like start.
type Threads struct {
	Auto bool // follow cpus and cpuset
	N    int  // from 1
}

// EnvVar is a variable of the run's environment.
type EnvVar struct {
	Name  string
	Value string
	// FromHost says that the value is the caller's: it is a secret, the plan
	// keeps the name alone, and Value is not read.
	FromHost bool
}

// HostVar is a variable that crun sets by itself for the host's sake.
type HostVar struct {
	EnvVar
	Weak   bool   // the image's value is kept
	Origin string // for people
}

// Mount shows a file or folder of the host in the container.
type Mount struct {
	Source   string // absolute, on the engine's host
	Target   string // absolute, in the container
	ReadOnly bool
	Origin   string // "flag --data", "config.yaml:3:7", or ""
}

// Host is what a plan must know of the engine and the machine it is on.
type Host struct {
	Name string // for messages: "unix:///var/run/docker.sock", or ""
	Arch string // amd64 or arm64; "" is not checked
	CPUs int    // online CPUs
	// Cores are the physical ones, nil where nobody knows. Held are the CPUs
	// that runs are pinned to, GPUs what the driver knows of the host's. They
	// count for AutoCPUSet alone.
	Cores         []Core
	Held          []HeldCPUs
	GPUs          []HostGPU
	Memory        int64 // bytes
	CgroupVersion int   // 1 or 2
	// SwapLimit says that memory and swap together can be limited. Swap is
	// how much swap the host has in bytes, -1 where nobody knows.
	SwapLimit bool
	Swap      int64
	Rootless  bool
	// CannotLimit are the ceilings that the engine cannot hold: memory, cpus,
	// cpuset, pids.
	CannotLimit []string
	// Remote says that the engine is on another machine.
	Remote bool
	// GPUDriver is nvidia, cdi, amd, or "" where no GPU can be asked for.
	GPUDriver string
	// AMD is there where the driver is amd.
	AMD *AMD
	// Podman says that the engine is Podman, whose service for Docker's clients
	// drops what it is asked for of NVIDIA's GPUs.
	Podman bool
	// GPUDevices are the devices that the engine has discovered, as CDI
	// writes them ("nvidia.com/gpu=0"); empty where it cannot tell.
	GPUDevices []string
	// ScratchRoot is a folder on the engine's host that a tmpdir of kind disk
	// is made in, or "" where none is configured.
	ScratchRoot string
	// MaxRlimits is what the daemon may raise nofile, memlock and stack to, by
	// these names, or Unlimited; a name that is missing is not known. nproc is
	// there where the engine asks for more than it may give by itself.
	MaxRlimits map[string]int64
}

// AMD is what AMD's driver shows on a host, as files.
type AMD struct {
	Shared string   // "/dev/kfd", which every process that computes opens
	GPUs   []string // "/dev/dri/renderD128", by index
	// Groups are those that may open them, where not everybody may.
	Groups []uint32
}

// ImageFacts is what a plan must know of the image.
type ImageFacts struct {
	Image
	Env        []string // NAME=VALUE
	Entrypoint []string
	WorkingDir string
	Arch       string // amd64 or arm64; "" is not checked
}

// Row is a line of Describe.
type Row struct {
	Field  string `json:"field"`  // as profiles.yaml writes it
	Value  string `json:"value"`  // for people
	Origin string `json:"origin"` // where it came from, or ""
}

// cpuUnit is one CPU in the unit of Amount.
const cpuUnit = 1_000_000_000

// FormatCPUs writes an amount of 1e-9 CPUs: "2", "1.5", "0.333".
func FormatCPUs(nano int64) string {
	whole, milli := nano/cpuUnit, nano%cpuUnit/1_000_000
	if milli == 0 {
		return fmt.Sprint(whole)
	}
	s := fmt.Sprintf("%d.%03d", whole, milli)
	for s[len(s)-1] == '0' {
		s = s[:len(s)-1]
	}
	return s
}

// FormatBytes writes a size as "4 GiB", "1.5 GiB", "512 MiB" or "100 bytes",
// with at most one decimal, and Unlimited as "unlimited".
func FormatBytes(n int64) string {
	if n < 0 {
		return "unlimited"
	}
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB"}
	unit, i := int64(1024), 0
	for i < len(units)-1 && n/unit >= 1024 {
		unit, i = unit*1024, i+1
	}
	tenths := n / unit * 10
	tenths += n % unit * 10 / unit
	if tenths%10 == 0 {
		return fmt.Sprintf("%d %s", tenths/10, units[i])
	}
	return fmt.Sprintf("%d.%d %s", tenths/10, tenths%10, units[i])
}
