package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// check fails where the folder holds anything but name with text and mode.
func check(t *testing.T, dir, name, text string, mode fs.FileMode) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || string(data) != text {
		t.Errorf("%s: %q, %v; want %q", name, data, err, text)
	}
	if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
		t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, mode)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%s holds %v, %v", dir, entries, err)
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, text := range []string{"old", "new"} {
		if err := Replace(path, []byte(text), 0o664); err != nil {
			t.Fatal(err)
		}
		check(t, dir, "a", text, 0o664)
	}
}

func TestReplaceKeepsLinks(t *testing.T) {
	dir, there := t.TempDir(), t.TempDir()
	target, link := filepath.Join(there, "a"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := Replace(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(t, there, "a", "new", 0o600)
	if _, err := os.Readlink(link); err != nil {
		t.Error(err)
	}
}

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := Create(path, []byte("first"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("second"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	check(t, dir, "a", "first", 0o644)
	if err := Create(filepath.Join(dir, "none", "a"), nil, 0o644); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in no folder: %v", err)
	}
}

func TestCreateOverDeadLink(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("nowhere", filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := Create(filepath.Join(dir, "a"), nil, 0o644); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
}
