package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// recorded is how many runs are on record where lists are measured.
const recorded = 1000

// lists are the lists of runs: the time of each by itself, with many on record.
func (s *suite) lists() error {
	dir, err := os.MkdirTemp("", "crun-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := s.record(filepath.Join(dir, "crun", "runs")); err != nil {
		return err
	}
	for _, args := range [][]string{{"ps"}, {"ps", "-a"}, {"ps", "-a", "-o", "json"}, {"ps", "-a", "--filter", "state=failed"}} {
		list := command{name: "crun " + strings.Join(args, " "), args: append([]string{s.crun}, args...), dir: s.project, env: []string{"XDG_STATE_HOME=" + dir}}
		var times []time.Duration
		for i := range s.pairs + 1 {
			took, err := list.once()
			if err != nil {
				return err
			}
			if i > 0 {
				times = append(times, took)
			}
		}
		fmt.Printf("| `%s`, %d runs on record | %s | | (%s to %s, %d times) | 100 ms |\n", list.name, recorded, shown(median(times)),
			shown(slices.Min(times)), shown(slices.Max(times)), len(times))
	}
	return nil
}

// record makes records of runs that are over, all alike but for their names.
func (s *suite) record(dir string) error {
	cmd := exec.Command(s.crun, "run", "--profile", "small", "--dry-run", "-o", "json", "python", "train.py", "--epochs", "100")
	cmd.Dir = s.project
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("crun run --dry-run: %w", err)
	}
	var p plan.Plan
	if err := json.Unmarshal(out, &p); err != nil {
		return err
	}
	store, err := record.OpenStore(dir)
	if err != nil {
		return err
	}
	begin := time.Now().Add(-recorded * time.Hour)
	p.ID, p.Name = plan.NewID(begin, [3]byte{}), "train-0"
	r, lock, err := store.Create(&p, record.NewState(begin, json.RawMessage(`{"Host":"unix:///var/run/docker.sock"}`)))
	if err != nil {
		return err
	}
	defer lock.Unlock()
	state, err := r.State()
	if err != nil {
		return err
	}
	code := 0
	state.Phase, state.ExitCode, state.Removed, state.Complete = record.Ended, &code, true, true
	state.Started, state.Finished, state.MemoryPeak = begin, begin.Add(time.Hour), 3<<30
	if err := r.SetState(state); err != nil {
		return err
	}
	for i := 1; i < recorded; i++ {
		id := plan.NewID(begin.Add(time.Duration(i)*time.Hour), [3]byte{byte(i >> 8), byte(i)})
		err := os.CopyFS(filepath.Join(dir, id), os.DirFS(r.Dir()))
		for _, name := range []string{"plan.json", "state.json"} {
			path := filepath.Join(dir, id, name)
			data, readErr := os.ReadFile(path)
			text := strings.NewReplacer(p.ID, id, `"train-0"`, `"train-`+strconv.Itoa(i)+`"`).Replace(string(data))
			err = errorOr(err, readErr, os.WriteFile(path, []byte(text), 0o600))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
