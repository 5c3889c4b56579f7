package inside

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"crun.dev/crun/internal/meminfo"
	"crun.dev/crun/run/plan"
)

// Level is the highest value of something while a run lasted, and when it was
// first seen.
type Level struct {
	Value int64     `json:"value"`
	Time  time.Time `json:"time"`
}

// Peaks are the highest values that init has seen. What is short-lived may be
// missed: places are looked at each quarter of a second, the rest each second.
// nil was not looked at, or could not be read.
type Peaks struct {
	// Memory is what the run held, page cache not counted, in bytes.
	Memory *Level `json:"memory,omitempty"`
	Shm    *Level `json:"shm,omitempty"` // bytes in /dev/shm
	Tmp    *Level `json:"tmp,omitempty"` // bytes in /tmp, a tmpfs alone
	Swap   *Level `json:"swap,omitempty"`
	Pids   *Level `json:"pids,omitempty"`
	// Files is how many descriptors the fullest process had open, by its own
	// soft limit in FilesLimit. FilesOf is the name of its program.
	Files      *Level `json:"files,omitempty"`
	FilesLimit int64  `json:"files_limit,omitempty"`
	FilesOf    string `json:"files_of,omitempty"`
	// HostAvailable is the least memory that the host had available, in bytes.
	HostAvailable *Level `json:"host_available,omitempty"`
}

// Sampler looks at a run from inside, time after time.
type Sampler struct {
	root   string
	dirs   []string // of the memory controller
	memory int      // its version
	pids   []string
	peaks  Peaks
}

// NewSampler makes one for the calling process's cgroup.
func NewSampler() *Sampler { return newSampler("/") }

func newSampler(root string) *Sampler {
	s := &Sampler{root: root}
	group := findCgroup(root)
	s.dirs, s.memory = group.find("memory")
	s.pids, _ = group.find("pids")
	return s
}

// Peaks gives what was highest up to now.
func (s *Sampler) Peaks() *Peaks {
	p := s.peaks
	return &p
}

// Places looks at /dev/shm and /tmp: two system calls.
func (s *Sampler) Places(now time.Time) {
	for path, peak := range map[string]**Level{plan.ShmPath: &s.peaks.Shm, plan.TmpPath: &s.peaks.Tmp} {
		if f := readFilesystem(filepath.Join(s.root, path)); f != nil && f.Type == "tmpfs" {
			raise(peak, f.Used, now)
		}
	}
}

// Counts looks at memory, processes and descriptors.
func (s *Sampler) Counts(now time.Time) {
	if len(s.dirs) > 0 {
		var c Counters
		memoryCounters(s.dirs[0], s.memory, &c)
		if held := less(c.MemoryCurrent, c.File); held != nil {
			raise(&s.peaks.Memory, *held, now)
		}
		if c.Swap != nil {
			raise(&s.peaks.Swap, *c.Swap, now)
		}
	}
	if len(s.pids) > 0 {
		if n := readInt(s.pids[0], "pids.current"); n != nil {
			raise(&s.peaks.Pids, *n, now)
		}
	}
	if n := meminfo.Value(readText(s.root, "proc/meminfo"), "MemAvailable"); n > 0 && (s.peaks.HostAvailable == nil || n < s.peaks.HostAvailable.Value) {
		s.peaks.HostAvailable = &Level{n, now.UTC()}
	}
	s.files(now)
}

// files looks for the process that has most descriptors open, by its limit.
func (s *Sampler) files(now time.Time) {
	// The pattern is fixed: no error.
	processes, _ := filepath.Glob(filepath.Join(s.root, "proc/[0-9]*"))
	for _, process := range processes {
		pid, err := strconv.Atoi(filepath.Base(process))
		if err != nil || pid == os.Getpid() {
			continue
		}
		status := readText(process, "status")
		// The table grows by doubling: one that is small needs no count.
		slots, err := strconv.ParseInt(field(status, "FDSize"), 10, 64)
		if err != nil || slots < minSlots || s.peaks.Files != nil && slots <= s.peaks.Files.Value {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(process, "fd"))
		if err != nil {
			continue // it has ended, or is somebody else's
		}
		n := int64(len(entries))
		if s.peaks.Files != nil && n <= s.peaks.Files.Value {
			continue
		}
		s.peaks.Files = &Level{n, now.UTC()}
		s.peaks.FilesOf, s.peaks.FilesLimit = field(status, "Name"), 0
		var r unix.Rlimit
		if unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &r) == nil {
			s.peaks.FilesLimit = clamp(r.Cur)
		}
	}
}

// minSlots is above what every process has room for without a table of its own
// (NR_OPEN_DEFAULT of include/linux/fdtable.h is 64).
const minSlots = 128

// field gives the value of a line "Name:  value" of a file of /proc.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && key == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// raise keeps the higher value.
func raise(peak **Level, value int64, now time.Time) {
	if *peak == nil || value > (*peak).Value {
		*peak = &Level{value, now.UTC()}
	}
}
