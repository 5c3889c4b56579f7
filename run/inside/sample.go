package inside

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/plan"
)

// Level is the highest value of something while a run lasted, and when it was
// first seen.
type Level struct {
	Value int64     `json:"value"`
	Time  time.Time `json:"time"`
}

// Peaks are the highest values that init has seen. What is short-lived may be
// missed: places are looked at each quarter of a second, descriptors each
// second. nil was not looked at, or could not be read.
type Peaks struct {
	Shm *Level `json:"shm,omitempty"` // bytes in /dev/shm
	Tmp *Level `json:"tmp,omitempty"` // bytes in /tmp, a tmpfs alone
	// Files is how many descriptors the process had open that came nearest to
	// its own soft limit, which is FilesLimit. FilesOf is its program's name.
	Files      *Level `json:"files,omitempty"`
	FilesLimit int64  `json:"files_limit,omitempty"`
	FilesOf    string `json:"files_of,omitempty"`
}

// Sampler looks at a run from inside, time after time.
type Sampler struct {
	proc   string
	places map[string]**Level
	peaks  Peaks
}

// NewSampler makes one for a run whose limits were read before its command
// started. It looks at what is in memory alone: to ask a file system on a disk,
// or of a server, may take for ever, and init has other things to do.
func NewSampler(l Limits) *Sampler {
	s := &Sampler{proc: "/proc", places: map[string]**Level{}}
	for path, place := range map[string]struct {
		held *Filesystem
		peak **Level
	}{plan.ShmPath: {l.Shm, &s.peaks.Shm}, plan.TmpPath: {l.Tmp, &s.peaks.Tmp}} {
		if place.held != nil && place.held.Type == "tmpfs" {
			s.places[path] = place.peak
		}
	}
	return s
}

// Peaks gives what was highest up to now.
func (s *Sampler) Peaks() *Peaks {
	p := s.peaks
	return &p
}

// Places looks at /dev/shm and /tmp: two system calls.
func (s *Sampler) Places(now time.Time) {
	for path, peak := range s.places {
		if f := readFilesystem(path); f != nil && f.Type == "tmpfs" {
			raise(peak, f.Used, now)
		}
	}
}

// Files looks for the process that comes nearest to its limit of descriptors.
func (s *Sampler) Files(now time.Time) {
	// The pattern is fixed: no error.
	processes, _ := filepath.Glob(filepath.Join(s.proc, "[0-9]*"))
	for _, process := range processes {
		pid, err := strconv.Atoi(filepath.Base(process))
		if err != nil || pid == os.Getpid() {
			continue
		}
		status := readText(process, "status")
		// The table grows by doubling: one that is small needs no count.
		slots, err := strconv.ParseInt(field(status, "FDSize"), 10, 64)
		if err != nil || slots < minSlots {
			continue
		}
		var r unix.Rlimit
		if unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &r) != nil || clamp(r.Cur) <= 0 {
			continue
		}
		limit := clamp(r.Cur)
		if !s.nearer(slots, limit) {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(process, "fd"))
		if err != nil {
			continue // it has ended, or is somebody else's
		}
		if n := int64(len(entries)); s.nearer(n, limit) {
			s.peaks.Files, s.peaks.FilesLimit, s.peaks.FilesOf = &Level{n, now.UTC()}, limit, field(status, "Name")
		}
	}
}

// nearer tells whether n of limit is a larger share than what was seen before.
func (s *Sampler) nearer(n, limit int64) bool {
	return s.peaks.Files == nil || float64(n)/float64(limit) > float64(s.peaks.Files.Value)/float64(s.peaks.FilesLimit)
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
