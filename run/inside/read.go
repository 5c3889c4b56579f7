package inside

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"crun.dev/crun/internal/meminfo"
	"crun.dev/crun/run/plan"
)

// Read gives the limits that the kernel holds for the calling process. What
// cannot be read is nil. environ is what os.Environ gives.
func Read(e Expectation, environ []string) Limits {
	l := Limits{Version: Version, Time: time.Now().UTC()}
	findCgroup("/").limits(&l)
	l.Foreign = e.Foreign
	readProcess(&l)
	l.OOMScoreAdj, l.Swap = readOOMScore("/proc"), readSwap("/proc")
	if r, ok := l.Rlimits["nofile"]; ok && e.NoFile == nil {
		r.Soft = nil
		l.Rlimits["nofile"] = r
	}
	l.Shm, l.Tmp = readFilesystem(plan.ShmPath), readFilesystem(plan.TmpPath)
	l.Writable = writable(e.ReadOnly)
	l.Devices = gpuDevices("/dev")
	l.UID, l.GID = uint32(os.Getuid()), uint32(os.Getgid())
	if groups, err := os.Getgroups(); err == nil {
		for _, g := range groups {
			l.Groups = append(l.Groups, uint32(g))
		}
	}
	l.Routes = readRoutes("/proc/self")
	l.Env = watched(e, environ)
	return l
}

// watched picks the variables that decide whether a limit works.
func watched(e Expectation, environ []string) map[string]string {
	env := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if _, asked := e.Env[name]; asked || slices.Contains(watchedEnv(), name) {
			env[name] = value
		}
	}
	return env
}

// readRoutes names the interfaces of the routes of a process, but lo, each
// once. The first field of a line of net/route is the interface, the last one
// of a line of net/ipv6_route.
func readRoutes(process string) (names []string) {
	add := func(name string) {
		if name != "lo" && name != "Iface" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for line := range strings.Lines(readText(process, "net/route")) {
		if fields := strings.Fields(line); len(fields) > 1 {
			add(fields[0])
		}
	}
	for line := range strings.Lines(readText(process, "net/ipv6_route")) {
		if fields := strings.Fields(line); len(fields) > 1 {
			add(fields[len(fields)-1])
		}
	}
	return names
}

// MemoryMeter gives a function that reads how much memory the run holds, in
// bytes, without the page cache, which the kernel gives up before it ends
// anybody. ok is false where it cannot be read.
func MemoryMeter() func() (held int64, ok bool) { return memoryMeter("/") }

func memoryMeter(root string) func() (int64, bool) {
	dirs, version := findCgroup(root).find("memory")
	return func() (int64, bool) {
		var c Counters
		if len(dirs) > 0 {
			memoryCounters(dirs[0], version, &c)
		}
		held := less(c.MemoryCurrent, c.File)
		if held == nil || c.File == nil {
			return 0, false
		}
		return *held, true
	}
}

// ReadCounters gives what the cgroup, where it is the run's own, and the file
// systems have counted so far. l is what Read gave at the start.
func ReadCounters(l Limits) *Counters {
	c := &Counters{}
	if !l.Foreign {
		findCgroup("/").counters(c)
	}
	if f := readFilesystem(plan.ShmPath); f != nil {
		c.ShmUsed = &f.Used
	}
	// A /tmp on disk shares its file system with others, whose use it is too.
	if f := readFilesystem(plan.TmpPath); f != nil && f.Type == "tmpfs" {
		c.TmpUsed = &f.Used
	}
	return c
}

func readOOMScore(proc string) *int {
	n, err := strconv.Atoi(readText(proc, "self/oom_score_adj"))
	if err != nil {
		return nil
	}
	return &n
}

// readSwap gives the swap of the host in bytes, nil where it does not tell.
func readSwap(proc string) *int64 {
	if n := meminfo.Value(readText(proc, "meminfo"), "SwapTotal"); n >= 0 {
		return &n
	}
	return nil
}

// gpuDevices lists the device files of GPUs: those of nvidia's driver, of
// AMD's, of Direct Rendering and of WSL.
func gpuDevices(dev string) []string {
	var found []string
	for _, pattern := range []string{"nvidia*", "nvidia-caps/*", "kfd", "dxg", "dri/*"} {
		// The patterns are fixed: the only error is a bad pattern.
		names, _ := filepath.Glob(filepath.Join(dev, pattern))
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && !info.IsDir() {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return found
}

// countGPUs gives how many of devices are a GPU: of nvidia's /dev/nvidia0 is
// one, /dev/nvidiactl and /dev/nvidia-uvm are not; of AMD's each render node
// where /dev/kfd is. Without that it is another driver's, for pictures.
func countGPUs(devices []string) int {
	n := 0
	amd := slices.ContainsFunc(devices, func(device string) bool { return filepath.Base(device) == "kfd" })
	for _, device := range devices {
		if amd && strings.HasPrefix(filepath.Base(device), "renderD") {
			n++
		} else if index, ok := strings.CutPrefix(filepath.Base(device), "nvidia"); ok {
			if _, err := strconv.ParseUint(index, 10, 16); err == nil {
				n++
			}
		}
	}
	return n
}
