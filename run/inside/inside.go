// Package inside is what the two sides of a run tell each other: crun puts an
// Expectation into the container, crun-init reads the limits that the kernel
// holds, compares, and leaves a Report.
package inside

import (
	"time"

	"crun.dev/crun/run/plan"
)

// Where things lie in the container. Dir belongs to the run's user. Whoever
// creates the container puts InitPath and ExpectPath there before it starts;
// init writes the other two, each whole or not at all.
const (
	Dir        = "/.crun"
	InitPath   = Dir + "/init"
	ExpectPath = Dir + "/expect.json" // Expectation
	LimitsPath = Dir + "/limits.json" // Limits, before the command starts
	ReportPath = Dir + "/report.json" // Report, after the command has ended
)

// Version is the format of the three files.
const Version = 1

// Exit codes of init where the command gives none.
const (
	ExitRefused = 125 // the limits do not hold, or init itself failed
	ExitNotExec = 126
	ExitMissing = 127
)

// Command gives the container's whole command line: init, and behind it what
// init starts. An engine clears the image's entrypoint (the plan's args hold
// it already).
func Command(args []string) []string {
	return append([]string{InitPath, "--"}, args...)
}

// Expectation is what the kernel must hold, and what init has to do. A nil
// limit was not asked for.
type Expectation struct {
	Version int    `json:"version"`
	Run     string `json:"run"` // the run's id

	Memory     *int64 `json:"memory,omitempty"`      // bytes
	MemorySwap *int64 `json:"memory_swap,omitempty"` // bytes, memory included
	// MemoryReservation is what the kernel pushes the run back to when the host
	// is short of memory, in bytes.
	MemoryReservation *int64 `json:"memory_reservation,omitempty"`
	// NoSwap says that swap cannot be limited, so that the host must have none.
	NoSwap       bool   `json:"no_swap,omitempty"`
	OOMScoreAdj  *int   `json:"oom_score_adj,omitempty"`
	CPUQuota     *int64 `json:"cpu_quota,omitempty"`  // microseconds in CPUPeriod
	CPUPeriod    *int64 `json:"cpu_period,omitempty"` // microseconds
	CPUSet       string `json:"cpuset,omitempty"`     // "0-3,8"
	Pids         *int64 `json:"pids,omitempty"`
	NoFile       *int64 `json:"nofile,omitempty"`        // plan.Unlimited in this
	MemLock      *int64 `json:"memlock,omitempty"`       // and the next four
	Stack        *int64 `json:"stack,omitempty"`         // lifts the limit; bytes
	Core         *int64 `json:"core,omitempty"`          //
	AddressSpace *int64 `json:"address_space,omitempty"` //
	ShmSize      *int64 `json:"shm_size,omitempty"`      // bytes of /dev/shm
	TmpSize      *int64 `json:"tmp_size,omitempty"`      // bytes of /tmp, tmpfs alone

	// ReadOnly are the mount points that nothing may be written to, "/" for the
	// image's own files.
	ReadOnly []string `json:"read_only,omitempty"`

	// Foreign says that the engine makes no groups for a run: those that it is
	// in are those of others, and so is what they count.
	Foreign bool `json:"foreign,omitempty"`
	// GPUs is how many may be seen: 0 none, nil any number.
	GPUs *int `json:"gpus,omitempty"`
	// Env are variables that must have these values.
	Env map[string]string `json:"env,omitempty"`
	UID *uint32           `json:"uid,omitempty"`
	GID *uint32           `json:"gid,omitempty"`

	// Groups are gids that the process must have beside GID.
	Groups []uint32 `json:"groups,omitempty"`
	// NoNetwork says that nothing but the container itself may be reached.
	NoNetwork bool `json:"no_network,omitempty"`
	// Command is the user's part of the command line where an entrypoint of the
	// image stands before it, which may change what the command gets.
	Command []string `json:"command,omitempty"`

	// Strict makes a limit that is lower than asked a reason to refuse.
	Strict bool `json:"strict,omitempty"`

	Umask     *uint32        `json:"umask,omitempty"`
	TimeLimit *plan.Duration `json:"time_limit,omitempty"`
	Grace     plan.Duration  `json:"grace,omitempty"`
	// Early is the signal that is sent before a limit is reached.
	Early *plan.EarlySignal `json:"early,omitempty"`
}

// Limits is what the kernel holds, seen from inside the container before the
// command starts. plan.Unlimited means that there is no limit, nil that it
// could not be read.
type Limits struct {
	Version int       `json:"version"`
	Time    time.Time `json:"time"`

	CgroupVersion int    `json:"cgroup_version"` // 1, 2, or 0 where no cgroup can be seen
	Memory        *int64 `json:"memory"`         // bytes, the lowest of the groups above too
	MemorySwap    *int64 `json:"memory_swap"`    // bytes, memory included
	// MemoryReservation is of the process's own group: 0 on version 2, or no
	// limit on version 1, where there is none.
	MemoryReservation *int64 `json:"memory_reservation,omitempty"`
	Swap              *int64 `json:"swap,omitempty"` // bytes that the host has
	OOMScoreAdj       *int   `json:"oom_score_adj,omitempty"`
	CPUQuota          *int64 `json:"cpu_quota"`  // microseconds in CPUPeriod
	CPUPeriod         *int64 `json:"cpu_period"` // microseconds
	CPUSet            string `json:"cpuset"`     // the CPUs that the process may use
	CPUs              int    `json:"cpus"`       // how many these are
	Pids              *int64 `json:"pids"`

	// Rlimits by their names in a plan: nofile, memlock, stack, core,
	// address_space.
	Rlimits map[string]Rlimit `json:"rlimits"`

	Shm *Filesystem `json:"shm,omitempty"` // /dev/shm
	Tmp *Filesystem `json:"tmp,omitempty"` // /tmp

	// Writable are those of the expectation's ReadOnly that can be written to.
	Writable []string `json:"writable,omitempty"`

	// Foreign says that the groups are not the run's: see Expectation.
	Foreign bool `json:"foreign,omitempty"`

	// Devices are the GPU device files in /dev.
	Devices []string `json:"devices,omitempty"`

	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups,omitempty"`
	// Routes are the network interfaces that something is reached by, lo not
	// counted.
	Routes []string `json:"routes,omitempty"`
	// Env are the variables of the expectation and those for threads.
	Env map[string]string `json:"env,omitempty"`
}

// Rlimit is a limit of each process; plan.Unlimited lifts it. Soft is nil for
// nofile where the plan does not ask for one: init is a Go program, which
// raises its own, and starts the command with the one it found.
type Rlimit struct {
	Soft *int64 `json:"soft"`
	Hard int64  `json:"hard"`
}

// Filesystem is what statfs tells, in bytes.
type Filesystem struct {
	Type string `json:"type"` // "tmpfs", "overlayfs", "ext4", ... or "0x1234"
	Size int64  `json:"size"`
	Used int64  `json:"used"`
}

// Difference is one limit that is not as the plan asks.
type Difference struct {
	Field     string `json:"field"`     // as profiles.yaml writes it
	Asked     string `json:"asked"`     // for people
	Effective string `json:"effective"` // for people
	// Refuse says that the command must not start: a ceiling is exceeded, or
	// cannot be proved. Otherwise less is held than asked and a line says so.
	Refuse bool `json:"refuse"`
}

// String gives "memory is 8 GiB, not 4 GiB".
func (d Difference) String() string {
	return d.Field + " is " + d.Effective + ", not " + d.Asked
}

// Why a run ended, as init knows it.
const (
	ReasonExited     = "exited"         // the command ended by itself
	ReasonSignaled   = "signaled"       // the command died of a signal
	ReasonTimeLimit  = "time limit"     // init ended it
	ReasonRefused    = "refused"        // the limits do not hold: never started
	ReasonNotFound   = "not found"      // no such command: never started
	ReasonNotExec    = "not executable" // never started
	ReasonInitFailed = "init failed"    // never started
)

// Report is what init leaves behind.
type Report struct {
	Version int    `json:"version"`
	Run     string `json:"run,omitempty"`

	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"` // what init said on stderr

	// ExitCode is what init exits with: the command's own, 128 and the
	// signal's number, or 125 to 127. Signal ("SIGKILL") is set when the
	// command died of one, however ExitCode looks.
	ExitCode   int    `json:"exit_code"`
	Signal     string `json:"signal,omitempty"`
	CoreDumped bool   `json:"core_dumped,omitempty"`
	// Got are the signals that came to init from outside, each once.
	Got []string `json:"got,omitempty"`

	Started  time.Time     `json:"started"` // of the command, or of init where it never started
	Ended    time.Time     `json:"ended"`
	Duration plan.Duration `json:"duration"` // by the monotonic clock

	Differences []Difference `json:"differences,omitempty"`
	// Changed are limits that were others at the end than at the start: Asked is
	// what was held at the start, Effective at the end.
	Changed []Difference `json:"changed,omitempty"`
	// Early are the signals that init has sent before a limit was reached.
	Early    []EarlySignal `json:"early,omitempty"`
	Usage    *Usage        `json:"usage,omitempty"`
	Counters *Counters     `json:"counters,omitempty"`
	Peaks    *Peaks        `json:"peaks,omitempty"`
}

// EarlySignal is a signal before a limit.
type EarlySignal struct {
	Time   time.Time `json:"time"`
	Signal string    `json:"signal"`
	Limit  string    `json:"limit"`  // memory or time_limit
	Reason string    `json:"reason"` // for people
	// PIDs are the processes that got it, as numbered in the container; none
	// where none catches it.
	PIDs []int `json:"pids"`
}

// Usage is getrusage of the command and all that was reaped with it.
type Usage struct {
	User        plan.Duration `json:"user"`
	System      plan.Duration `json:"system"`
	MaxRSS      int64         `json:"max_rss"` // bytes, of the largest process
	MajorFaults int64         `json:"major_faults"`
	MinorFaults int64         `json:"minor_faults"`
	ReadBlocks  int64         `json:"read_blocks"` // of 512 bytes
	WriteBlocks int64         `json:"write_blocks"`
}

// Counters are the cgroup's at the end of the run; nil could not be read.
// Sizes are bytes.
type Counters struct {
	MemoryPeak    *int64 `json:"memory_peak,omitempty"`
	MemoryCurrent *int64 `json:"memory_current,omitempty"`
	Anon          *int64 `json:"anon,omitempty"`
	File          *int64 `json:"file,omitempty"` // page cache, shmem not included
	Shmem         *int64 `json:"shmem,omitempty"`
	Swap          *int64 `json:"swap,omitempty"`
	// MemoryMax is how often the limit was reached (v1 failcnt, v2
	// memory.events max); OOMKills is how many processes were killed for it.
	MemoryMax *int64 `json:"memory_max,omitempty"`
	OOMKills  *int64 `json:"oom_kills,omitempty"`
	// OOMs is how often the limit was reached and nothing was left to give back
	// (v2 memory.events oom); version 1 does not count it. Kills for want of
	// memory of the host are in OOMKills and not here.
	OOMs *int64 `json:"ooms,omitempty"`

	CPUUsage         *plan.Duration `json:"cpu_usage,omitempty"`
	CPUPeriods       *int64         `json:"cpu_periods,omitempty"`
	ThrottledPeriods *int64         `json:"throttled_periods,omitempty"`
	ThrottledTime    *plan.Duration `json:"throttled_time,omitempty"`

	Pids     *int64 `json:"pids,omitempty"`
	PidsPeak *int64 `json:"pids_peak,omitempty"`
	PidsMax  *int64 `json:"pids_max,omitempty"` // how often the limit was reached

	ShmUsed *int64 `json:"shm_used,omitempty"`
	TmpUsed *int64 `json:"tmp_used,omitempty"`
}
