// Package precheck holds what is looked at before a run starts: room on disks,
// memory, the ceilings of all runs together, /dev/shm and GPUs. The facts come
// in as values, and what follows from them is a pure function; [Read] is the
// one place that asks the machine.
//
// A run is refused only where it would fail at once. Everything short of that
// is a warning, since a ceiling is not what a run will take, unless the
// machine's config.yaml makes a refusal of it.
package precheck

import (
	"slices"
	"strings"
)

// The names of the checks, as --skip-check and config.yaml take them.
const (
	Disk   = "disk"   // room under the image store, the tmpdir and the project
	Memory = "memory" // memory that is available now
	Runs   = "runs"   // the memory of all runs against the host's
	Shm    = "shm"    // /dev/shm against DataLoader's workers
	GPUs   = "gpus"   // number of GPUs, and their free memory
	All    = "all"    // every one of them, to skip
)

// Names are the checks that there are, All left out.
func Names() []string { return []string{Disk, Memory, Runs, Shm, GPUs} }

// Unknown gives the first of names that is no check, or "".
func Unknown(names []string) string {
	for _, name := range names {
		if name != All && !slices.Contains(Names(), name) {
			return name
		}
	}
	return ""
}

// Thresholds are the lines below which something is said.
type Thresholds struct {
	// Free is how much room each place should have, in bytes.
	Free int64
	// Used is how full / and the image store may be, in percent, 1 to 100.
	Used int
	// Available is how much memory should be available, in bytes.
	Available int64
	// GPUFree is how much memory of a GPU should be free, in bytes.
	GPUFree int64
	// Refuse are the checks whose warnings are refusals, Skip those that are
	// left out.
	Refuse, Skip []string
}

// Defaults are the thresholds of a machine whose config says nothing: those of
// administrators' guides for shared machines.
func Defaults() Thresholds {
	return Thresholds{Free: 10 << 30, Used: 90, Available: 2 << 30, GPUFree: 2 << 30}
}

func (t *Thresholds) skips(name string) bool {
	return slices.Contains(t.Skip, name) || slices.Contains(t.Skip, All)
}

const (
	// floorFree is the room without which nothing goes: the engine's log of a
	// run alone may be 128 MiB, a checkpoint is as large as the model.
	floorFree = 1 << 30
	// floorAvailable is what an import of torch takes (200 to 400 MiB,
	// measured with 1.7 and 2.8), with the interpreter and a little air.
	floorAvailable = 512 << 20
	// floorGPU is what a CUDA context with torch's kernels takes before the
	// first tensor (300 to 500 MiB on current GPUs).
	floorGPU = 512 << 20
	// shmOfWorker is what a DataLoader's worker holds of /dev/shm: two batches
	// ahead (prefetch_factor) of 53 images of 3x224x224 in float32.
	shmOfWorker = 64 << 20
	// engineShm is /dev/shm where nobody asks for a size (Docker's and
	// Podman's --shm-size).
	engineShm = 64 << 20
)

// Place is a folder that runs write to, and its file system.
type Place struct {
	What string // StorePlace, TmpdirPlace, ProjectPlace, or "" for /
	Path string
	// Free is what users other than root may take, Used what is taken, Total
	// the size of the file system, in bytes.
	Free, Used, Total int64
	Device            uint64 // tells file systems apart
	Images            bool   // the engine's images lie on this file system too
}

// What places are for.
const (
	StorePlace   = "image store"
	TmpdirPlace  = "tmpdir"
	ProjectPlace = "project"
)

// UsedPercent is how full a place is, as df says it: of what users may take,
// rounded up.
func (p Place) UsedPercent() int {
	if p.Used+p.Free <= 0 {
		return 0
	}
	return int((p.Used*100 + p.Used + p.Free - 1) / (p.Used + p.Free))
}

// GPU is one of the machine's.
type GPU struct {
	Index       int
	Name        string
	Free, Total int64 // bytes; -1 where nobody knows
}

// Facts are what the machine and the engine have.
type Facts struct {
	Places []Place
	// Available is the memory that programs can have without swapping, in
	// bytes, and HostMemory all of it; -1 where nobody knows.
	Available, HostMemory int64
	// Running is how many runs there are, RunsMemory the sum of their
	// ceilings in bytes; Unbounded of them have none.
	Running, Unbounded int
	RunsMemory         int64
	GPUs               []GPU
}

// Need is what a run asks for. Zero means nothing.
type Need struct {
	Memory  int64 // bytes, the ceiling
	Scratch int64 // bytes, of a tmpdir on disk
	Shm     int64 // bytes, of /dev/shm; 0 for the engine's own size
	Workers int   // DataLoader's of one process, where the command is one that may have some
	Ranks   int   // processes of a distributed training on this machine; 0 and 1 are one
	// GPUCount is how many GPUs are asked for, GPUs which ones of Facts.
	GPUCount int
	GPUs     []int
}

// Finding is something that is not as it should be.
type Finding struct {
	Check string // Disk, ...
	// Refused says that the run should not start.
	Refused bool
	Text    string // what was seen
	Remedy  string // what to do
	// Key is the same for findings that need not be said twice: it changes
	// when the room or memory has halved.
	Key string
}

// Error is a finding as a refusal: with the flag that passes it.
func (f Finding) Error() string {
	return f.Warning() + "; --skip-check " + f.Check + " starts the run all the same"
}

// Warning is a finding as a warning.
func (f Finding) Warning() string { return strings.TrimSuffix(f.Text+": "+f.Remedy, ": ") }
