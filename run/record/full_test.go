package record

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFullDisk writes states where no file can be made any more: each is what
// the next reader finds, with a word of the disk.
func TestFullDisk(t *testing.T) {
	for _, step := range []string{"create state.json.tmp", "write state.json.tmp", "sync state.json.tmp"} {
		t.Run(step, func(t *testing.T) {
			store := testStore(t)
			r, lock, err := store.Create(testPlan("train"), NewState(time.Now(), nil))
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Unlock()
			store.files.fault = func(s string) error {
				if s == step {
					return syscall.ENOSPC
				}
				return nil
			}
			state, err := r.State()
			if err != nil {
				t.Fatal(err)
			}
			code := 3
			for _, phase := range []Phase{Running, Running, Running, Ended} {
				state.Phase = phase
				if phase == Ended {
					state.ExitCode, state.Warnings = &code, []string{strings.Repeat("long ", 1000)}
				}
				if err := r.SetState(state); err != nil {
					t.Fatalf("%s: %v", phase, err)
				}
				got, err := r.State()
				if err != nil {
					t.Fatal(err)
				}
				if got.Phase != phase || got.Warnings[len(got.Warnings)-1] != FullWarning {
					t.Errorf("%s: phase %s, warnings %q", phase, got.Phase, got.Warnings)
				}
			}
			store.files.fault = nil
			state.Complete = true
			if err := r.SetState(state); err != nil {
				t.Fatal(err)
			}
			if left, _ := filepath.Glob(filepath.Join(r.Dir(), "spare-*")); len(left) > 0 {
				t.Errorf("a complete record keeps %q", left)
			}
		})
	}
}

// TestFullDiskForReal fills a file system of a few pages. It needs root.
func TestFullDiskForReal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("no file system of our own: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, 0) })
	store, err := OpenStore(filepath.Join(dir, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	r, lock, err := store.Create(testPlan("train"), NewState(time.Now(), nil))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	state, err := r.State()
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 1<<20), 0o600) // as much as there is room for
	if err := os.WriteFile(filepath.Join(dir, "more"), make([]byte, 1), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	for _, phase := range []Phase{Running, Ended, Ended} {
		state.Phase = phase
		if err := r.SetState(state); err != nil {
			t.Fatalf("%s: %v", phase, err)
		}
		if got, err := r.State(); err != nil || got.Phase != phase {
			t.Errorf("%s: %+v, %v", phase, got, err)
		}
	}
	if _, _, err := store.Create(testPlan("next"), NewState(time.Now(), nil)); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("a run without room for its record: %v", err)
	}
}
