// Package plan holds the Plan, the one form between a profile and any engine,
// and the pure function that makes one: no clock, no network, no engine.
package plan

import (
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Version is the format of a Plan as it stands in a record. It grows when a
// field changes its meaning; new fields alone do not change it.
const Version = 1

// Plan is all that an engine needs to start a run. What the OCI runtime
// specification can say stands in Spec; the rest stands beside it.
//
// In Spec: Process.Args, Cwd, Env, User, Terminal and Rlimits; Hostname;
// Mounts (type bind; tmpfs for /dev/shm and TMPDIR, with size= in bytes among
// the options); Linux.Resources (Memory.Limit and Swap in bytes, CPU.Quota and
// Period in microseconds, CPU.Cpus, Pids.Limit); Annotations (the labels
// dev.crun.*).
type Plan struct {
	Version int `json:"version"`

	// ID is the run's id: 12 lower-case base32 digits, time first.
	ID string `json:"id"`
	// Name is what people call the run: a DNS label, unique per uid.
	Name string `json:"name"`
	// Profile is the name of the profile that the limits came from.
	Profile string `json:"profile"`
	// Project is the folder that is mounted at its own path, or "".
	Project string `json:"project,omitempty"`

	Image Image      `json:"image"`
	Spec  specs.Spec `json:"spec"`

	// SecretEnv names the variables whose values came from the caller's
	// environment or a file (-e K, --env-file). The values are in no record,
	// label or --dry-run: whoever creates the container adds them.
	SecretEnv []string `json:"secret_env,omitempty"`

	// Entrypoint is how many of Spec's first arguments are the image's own, in
	// front of the command.
	Entrypoint int `json:"entrypoint,omitempty"`

	// Interactive keeps the command's stdin open for the caller's.
	Interactive bool `json:"interactive,omitempty"`

	GPUs    *GPUs  `json:"gpus,omitempty"`
	Network string `json:"network"`         // none, default or host
	Ports   []Port `json:"ports,omitempty"` // published ports
	// Ranks is how many processes of a distributed training the command starts
	// here, from 2; 0 for one.
	Ranks     int       `json:"ranks,omitempty"`
	TimeLimit *Duration `json:"time_limit,omitempty"` // then SIGTERM, Grace, SIGKILL
	Grace     Duration  `json:"grace"`
	// SignalBeforeKill tells the command that a limit is near.
	SignalBeforeKill *EarlySignal `json:"signal_before_kill,omitempty"`
	Log              Log          `json:"log"`

	// Restarts is how often the command is started again after a failure; see
	// launch for the failures that are none of it.
	Restarts int `json:"restarts,omitempty"`

	// Account makes the container know the caller: the engine adds a line to
	// /etc/passwd and lines to /etc/group where the image has no such uid and
	// gids.
	Account Account `json:"account"`

	// Scratch is a folder on the engine's host that is made for this run and
	// removed behind it (tmpdir of kind disk), or "". ScratchSize is what it may
	// take, in bytes, watched by the monitor, which ends a run that takes more.
	// On a remote engine, where crun makes no folders, Scratch is "" and /tmp is
	// the container's own.
	Scratch     string `json:"scratch,omitempty"`
	ScratchSize int64  `json:"scratch_size,omitempty"`

	// Strict refuses what would otherwise be lowered with a warning.
	Strict bool `json:"strict,omitempty"`

	// Uncounted says that the engine makes no group of memory for a run: what
	// the groups that it is in count is not its own.
	Uncounted bool `json:"uncounted,omitempty"`

	// Asked has what was asked for, in people's words, of each limit that is
	// lower in this plan: a field name as profiles.yaml writes it, to "1048576".
	Asked map[string]string `json:"asked,omitempty"`

	// Origin says for each limit where its value came from: a field name as
	// profiles.yaml writes it, to "profiles.yaml:12:5", "flag --memory", ...
	Origin map[string]string `json:"origin,omitempty"`
}

// Image is what a run starts from.
type Image struct {
	Ref   string `json:"ref"`             // as the user or the lock names it
	ID    string `json:"id"`              // the engine's image id
	Lock  string `json:"lock,omitempty"`  // digest of crun.lock, from the label
	Torch string `json:"torch,omitempty"` // version of PyTorch, from the label
}

// GPUs is a request for GPUs. Exactly one of Count, All and IDs is set.
type GPUs struct {
	Count  int      `json:"count,omitempty"`
	All    bool     `json:"all,omitempty"`
	IDs    []string `json:"ids,omitempty"` // index, UUID or MIG id
	Driver string   `json:"driver"`        // nvidia, cdi or amd
	// Devices are the files that the run is given, and Groups what it needs to
	// open them, where the driver is amd.
	Devices []string `json:"devices,omitempty"`
	Groups  []uint32 `json:"groups,omitempty"`
}

// Port publishes a port of the container on the engine's host.
type Port struct {
	HostIP    string `json:"host_ip"` // 127.0.0.1 unless asked otherwise
	Host      int    `json:"host"`    // 1 to 65535, 0 for any free one
	Container int    `json:"container"`
	Protocol  string `json:"protocol"` // tcp or udp
}

// EarlySignal is sent to the command once for each limit that comes near.
type EarlySignal struct {
	Signal string `json:"signal"` // "SIGUSR1"
	// Memory is the use in bytes at which it is sent, page cache not counted; 0
	// for never. Time is how long after the start; 0 for never.
	Memory int64    `json:"memory,omitempty"`
	Time   Duration `json:"time,omitempty"`
}

// Log bounds the engine's own copy of the output (json-file). The record keeps
// the whole log; the engine's copy is what remains should the monitor die.
type Log struct {
	MaxSize  int64 `json:"max_size"` // bytes a file
	MaxFiles int   `json:"max_files"`
}

// Account is the caller as /etc/passwd and /etc/group tell it.
type Account struct {
	User   string  `json:"user"`
	UID    uint32  `json:"uid"`
	GID    uint32  `json:"gid"`
	Home   string  `json:"home"`
	Groups []Group `json:"groups,omitempty"` // the primary one first
}

// Group is a line of /etc/group.
type Group struct {
	Name string `json:"name"`
	GID  uint32 `json:"gid"`
}

// Duration is a time.Duration that JSON shows as "1h30m0s".
type Duration time.Duration

// MarshalText writes d as Go does: "1h30m0s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}
