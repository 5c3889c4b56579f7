package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"crun.dev/crun/run/record"
)

// loud writes a good deal and then waits to be ended.
const loud = `i=0; while [ $i -lt 200 ]; do i=$((i+1)); head -c 500000 /dev/zero | tr '\0' x; echo; done; echo finished >&2; sleep 600`

// monitorMemory is what a run's monitor holds for itself: while it writes 100 MB
// of output into the record, and behind that.
func (s *suite) monitorMemory() error {
	dir, err := os.MkdirTemp("", "crun-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	crun := func(args ...string) ([]byte, error) {
		cmd := exec.Command(s.crun, args...)
		cmd.Dir, cmd.Env = s.project, append(os.Environ(), "XDG_STATE_HOME="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("crun %s: %w\n%s", args[0], err, out)
		}
		return out, err
	}
	const name = "bench-monitor"
	if _, err := crun("run", "-q", "-d", "--settle", "100ms", "--profile", "small", "--name", name, "sh", "-c", loud); err != nil {
		return err
	}
	defer func() { _, _ = crun("rm", "-f", name) }()
	store, err := record.OpenStore(filepath.Join(dir, "crun", "runs"))
	if err != nil {
		return err
	}
	r, err := store.Find(name)
	if err != nil {
		return err
	}
	state, err := r.State()
	if err != nil {
		return err
	}
	most, finished := int64(0), false
	for deadline := time.Now().Add(2 * time.Minute); !finished; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("run %s has not written its output in two minutes", name)
		}
		now, err := anonymous(state.Monitor)
		if err != nil {
			return err
		}
		most = max(most, now)
		out, err := crun("logs", "--stderr", name)
		if err != nil {
			return err
		}
		finished = strings.Contains(string(out), "finished")
	}
	// What is not needed any more is given back by then.
	time.Sleep(5 * time.Second)
	idle, err := anonymous(state.Monitor)
	if err != nil {
		return err
	}
	fmt.Printf("| memory of a run's monitor (anonymous) | %.1f MiB | %.1f MiB while it takes 100 MB of output | | 20 MiB |\n", mib(idle), mib(most))
	return nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// anonymous gives the memory of a process that is its own, in bytes.
func anonymous(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no RssAnon", pid)
}
