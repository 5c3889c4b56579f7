package projects

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestNote(t *testing.T) {
	dir, start := filepath.Join(t.TempDir(), "projects"), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	note := func(file, digest string, now time.Time) {
		t.Helper()
		if err := Note(dir, file, digest, now); err != nil {
			t.Fatal(err)
		}
	}
	note("/b/crun.lock", "sha256:1", start)
	note("/a/crun.lock", "sha256:1", start)
	note("/a/crun.lock", "sha256:2", start)
	note("/a/crun.lock", "sha256:2", start.Add(time.Hour)) // too soon to write
	note("/a/crun.lock", "sha256:1", start.Add(48*time.Hour))
	// What a crash has left, and what somebody has broken.
	for name, text := range map[string]string{".new-1": "{", "broken.json": "{"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := List(dir)
	if err == nil {
		t.Error("a broken file is passed over in silence")
	}
	if len(all) != 2 || all[0].LockFile != "/a/crun.lock" || all[1].LockFile != "/b/crun.lock" {
		t.Fatalf("the projects are %+v", all)
	}
	if a := all[0].Images; len(a) != 2 || !a["sha256:1"].Equal(start.Add(48*time.Hour)) || !a["sha256:2"].Equal(start) {
		t.Errorf("the images are %v", a)
	}
	if digest, err := all[0].Locked(); digest != nil || err != nil {
		t.Errorf("a file that is gone locks %q, %v", digest, err)
	}
	if err := Forget(dir, all[0]); err != nil {
		t.Fatal(err)
	}
	if all, _ = List(dir); len(all) != 1 {
		t.Errorf("one is not forgotten: %+v", all)
	}
	for i := range 2 * kept {
		note("/c/crun.lock", string(rune('a'+i)), start.Add(time.Duration(i)*time.Hour))
	}
	if all, _ = List(dir); len(all[1].Images) != kept {
		t.Errorf("%d images are remembered", len(all[1].Images))
	}
}

func TestListOfNothing(t *testing.T) {
	if all, err := List(filepath.Join(t.TempDir(), "none")); len(all) != 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
}
