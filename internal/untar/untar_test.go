package untar

import (
	"archive/tar"
	"os"
	"path/filepath"
	"testing"
	"time"

	"crun.dev/crun/internal/untar/tartest"
)

// What is in an image must not reach out of the folder that it is written to.
func TestUnpackStaysInside(t *testing.T) {
	outside := t.TempDir()
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, entries := range map[string][]tar.Header{
		"a link to a folder":       {{Typeflag: tar.TypeSymlink, Name: "out", Linkname: outside}, {Typeflag: tar.TypeReg, Name: "out/victim", Uname: "theirs"}},
		"a link to the file":       {{Typeflag: tar.TypeSymlink, Name: "victim", Linkname: victim}, {Typeflag: tar.TypeReg, Name: "victim", Uname: "theirs"}},
		"a hard link":              {{Typeflag: tar.TypeLink, Name: "victim", Linkname: "../" + filepath.Base(outside) + "/victim"}},
		"a name that leads upward": {{Typeflag: tar.TypeReg, Name: "../" + filepath.Base(outside) + "/victim", Uname: "theirs"}},
	} {
		dest := filepath.Join(t.TempDir(), "dest")
		if err := os.Mkdir(dest, 0o755); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dest)
		if err != nil {
			t.Fatal(err)
		}
		_ = Files(root, tartest.Archive(t, entries...))
		root.Close()
		if data, err := os.ReadFile(victim); err != nil || string(data) != "mine" {
			t.Errorf("%s: the file outside is %q, %v", name, data, err)
		}
	}
}

func TestFiles(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	old := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
	err = Files(root, tartest.Archive(t,
		tar.Header{Typeflag: tar.TypeDir, Name: "bin/", Mode: 0o555, ModTime: old},
		tar.Header{Typeflag: tar.TypeReg, Name: "bin/a", Uname: "text", Uid: os.Getuid(), Gid: os.Getgid(), Mode: 0o4755, ModTime: old},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/b", Linkname: "/bin/a"},
		tar.Header{Typeflag: tar.TypeLink, Name: "bin/c", Linkname: "bin/a"},
		tar.Header{Typeflag: tar.TypeChar, Name: "dev"},
	))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := root.ReadFile("bin/c"); err != nil || string(data) != "text" {
		t.Errorf("the hard link holds %q, %v", data, err)
	}
	for name, mode := range map[string]os.FileMode{"bin": os.ModeDir | 0o555, "bin/a": os.ModeSetuid | 0o755} {
		if info, err := root.Stat(name); err != nil || info.Mode() != mode || !info.ModTime().Equal(old) {
			t.Errorf("%s is %v, %v", name, info, err)
		}
	}
	if to, err := root.Readlink("bin/b"); err != nil || to != "/bin/a" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if _, err := root.Lstat("dev"); err == nil {
		t.Error("a device was made")
	}
}
