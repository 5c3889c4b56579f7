// Package doctor says what keeps runs from working on a machine, as crun doctor
// prints it: a line for each thing that was looked at, with what to do about it.
// Lines follow from facts by pure functions; [Read] is the one place that asks
// the machine, and changes nothing.
package doctor

import (
	"time"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/precheck"
)

// The states of a line.
const (
	OK      = "ok"
	Warning = "warning" // works, and will be regretted
	Error   = "error"   // does not work
	Unknown = "unknown" // cannot be seen from here
)

// Line is one thing that was looked at.
type Line struct {
	What  string
	State string
	// Seen is what there is, Remedy what to do, to be pasted; "" for nothing.
	Seen, Remedy string
	// Fix is what may be done about it without harm, or nil.
	Fix *Fix
}

// Fix is a change that is safe: it is the caller's own, it can be taken back,
// and no run notices.
type Fix struct {
	// Say is what it does: "chmod 600 FILE".
	Say string
	// Command is a program with its arguments. Without one Mode is given to Path.
	Command []string
	Path    string
	Mode    uint32
}

// Facts are what there is.
type Facts struct {
	Engine     engine.Facts
	Thresholds precheck.Thresholds
	Precheck   precheck.Facts
	// Now is this machine's clock, at the moment in which the engine told its own.
	Now time.Time
	// Machine is nil where the engine is on another one.
	Machine *Machine
}

// Machine is what can be seen of this machine. Strings are empty, and numbers
// -1, where something cannot be seen.
type Machine struct {
	User string
	UID  int
	// Groups are the names of the caller's groups.
	Groups []string
	// SocketGroup is the group of the engine's socket, SocketMembers who is in it
	// by /etc/group.
	SocketGroup   string
	SocketMembers []string

	PtraceScope   int // kernel.yama.ptrace_scope: 0 any process of one's own, 1 children, 2 root, 3 nobody
	DmesgRestrict int // kernel.dmesg_restrict: 1 for root alone

	Systemd           bool   // runs as PID 1
	KillUserProcesses string // "yes" or "no", of logind
	Linger            bool

	// Self is the program that runs, as its links lead, OtherCrun another one by
	// that name that is found earlier or beside it; EnginesOfCrun are the engines
	// that look for an OCI runtime called crun: podman, CRI-O.
	Self          string
	OtherCrun     []string
	EnginesOfCrun []string

	ClockSynced int // 1 yes, 0 no

	// Folders are those that crun uses, with the kind of their file system.
	Folders []Folder
	// Storage are the places of the storage table.
	Storage []Storage

	NvidiaDriver string // "550.54.14", or ""
	NvidiaError  string // why it cannot be found out, or ""
	NvidiaGPUs   int
	AMD          bool // /dev/kfd is there
}

// Folder is a folder that crun uses.
type Folder struct {
	What string // "records", "project", "home", "tmpdir"
	Path string
	FS   string // "nfs", "fuse", ... for those that matter, or ""
	// Open is the mode that others have, of a folder that should be the caller's
	// alone; 0 where it is.
	Open uint32
}

// Storage is a place of the storage table.
type Storage struct {
	Path   string
	There  bool
	Total  int64 // bytes, of its file system
	Memory bool  // a tmpfs
	Device uint64
}

// Lines tells everything, in the order in which it is set up.
func Lines(f Facts) []Line {
	var d lines
	if f.Engine.Version != "" { // or it does not answer, which is said elsewhere
		d.engine(f)
		d.limits(f)
		d.gpus(f)
	}
	d.rooms(f)
	d.clock(f)
	if f.Machine == nil {
		d.add("machine", Unknown, "the engine is on another machine: its disks, memory, GPUs and limits are seen there (crun doctor, on it)", "")
		return d
	}
	d.folders(f.Machine)
	d.storage(f.Machine.Storage)
	d.people(f)
	return d
}

type lines []Line

func (d *lines) add(what, state, seen, remedy string) {
	*d = append(*d, Line{What: what, State: state, Seen: seen, Remedy: remedy})
}

func (d *lines) fix(f *Fix) { (*d)[len(*d)-1].Fix = f }
