package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
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

// A link may be there before what it names is.
func TestReplaceBehindLinksThatLeadNowhere(t *testing.T) {
	dir, there := t.TempDir(), t.TempDir()
	for link, target := range map[string]string{
		filepath.Join(dir, "folder"): there,
		filepath.Join(dir, "one"):    "two",
		filepath.Join(dir, "two"):    "folder/../" + filepath.Base(there) + "/a",
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := Replace(filepath.Join(dir, "one"), []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(t, there, "a", "new", 0o600)
	if target, err := os.Readlink(filepath.Join(dir, "one")); target != "two" {
		t.Errorf("the link is %q, %v", target, err)
	}
	if err := os.Symlink("gone/b", filepath.Join(dir, "three")); err != nil {
		t.Fatal(err)
	}
	if err := Replace(filepath.Join(dir, "three"), []byte("new"), 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into a folder that is not there: %v", err)
	}
	if target, err := os.Readlink(filepath.Join(dir, "three")); target != "gone/b" {
		t.Errorf("the link is %q, %v", target, err)
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

func TestFill(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := Replace(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the engine is gone")
	err := Fill(path, 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	check(t, dir, "a", "old", 0o644)
	if err := Replace(dir, nil, 0o644); err == nil || !strings.Contains(err.Error(), "it is a folder") {
		t.Errorf("over a folder: %v", err)
	}
}

// /dev/null, /dev/stdout and >(program) are such; a file in the place of a
// device would break the whole machine.
func TestReplaceWritesIntoAPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := errors.Join(unix.Mkfifo(pipe, 0o600), os.Symlink(pipe, link)); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // waits for nobody
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, path := range []string{pipe, link} {
		if err := Replace(path, []byte("image"), 0o644); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
			t.Fatalf("the pipe is gone: %v", err)
		}
		data := make([]byte, 5)
		if _, err := io.ReadFull(reader, data); err != nil || string(data) != "image" {
			t.Errorf("it brings %q, %v", data, err)
		}
	}
}
