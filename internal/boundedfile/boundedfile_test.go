package boundedfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), make([]byte, 2048), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "file", "pipelink": "pipe", "zero": "/dev/zero", "nowhere": "gone"} {
		if err := os.Symlink(target, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		limit int64
		want  string // a part of the error, or "" for none
	}{
		{"file", 2048, ""},
		{"link", 4096, ""},
		{"file", 1024, "is larger than 1 KiB"},
		{"pipe", 4096, "is no regular file"},
		{"pipelink", 4096, "is no regular file"},
		{"zero", 4096, "is no regular file"},
		{".", 4096, "is no regular file"},
		{"nowhere", 4096, "no such file"},
	} {
		data, err := Read(at(c.name), c.limit)
		inFS, errFS := ReadFS(os.DirFS(dir), c.name, c.limit)
		var pathErr *fs.PathError
		switch {
		case c.want == "" && (err != nil || errFS != nil || len(data) != 2048 || len(inFS) != 2048):
			t.Errorf("%s: %d bytes, %v; %d bytes, %v", c.name, len(data), err, len(inFS), errFS)
		case c.want != "" && (err == nil || errFS == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(errFS.Error(), c.want) || !errors.As(err, &pathErr)):
			t.Errorf("%s: %v; %v; want %q", c.name, err, errFS, c.want)
		}
	}
	if err := os.WriteFile(at("\xff"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := Read(at("\xff"), 4096); err != nil || string(data) != "x" {
		t.Errorf("a name that is no UTF-8: %q, %v", data, err)
	}
}
