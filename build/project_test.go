package build

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"crun.dev/crun/build/lock"
)

func TestFindFile(t *testing.T) {
	folder := t.TempDir()
	if _, err := FindFile(folder); err == nil || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "environment.yml, environment.yaml") {
		t.Errorf("an empty folder gives %v", err)
	}
	missing := filepath.Join(folder, "none.yml")
	if _, err := FindFile(missing); err == nil || !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), missing+": there is no such file") {
		t.Errorf("a file that is not there gives %v", err)
	}
	file := filepath.Join(folder, "environment.yaml")
	rewrite(t, file, "x")
	for _, path := range []string{folder, file} {
		if found, err := FindFile(path); err != nil || found != file {
			t.Errorf("%s gives %s, %v", path, found, err)
		}
	}
}

func TestNoLockBesideAPipe(t *testing.T) {
	for _, file := range []string{"<stdin>", "/dev/stdin", "/dev/fd/63", "/proc/self/fd/0"} {
		if got := LockFile(file); got != "" {
			t.Errorf("the lock of %s is %s", file, got)
		}
	}
}

func TestLockNames(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"environment.yml", "gpu.yml", "env.v2.yaml"} {
		rewrite(t, filepath.Join(folder, name), "x")
	}
	for name, want := range map[string]string{"environment.yml": "crun.lock", "gpu.yml": "gpu.crun.lock", "env.v2.yaml": "env.v2.crun.lock"} {
		if got := lockName(filepath.Join(folder, name)); got != want {
			t.Errorf("the lock of %s is %s, want %s", name, got, want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"empty":       {"", "empty"},
		"binary":      {"name: a\x00b\n", "binary"},
		"50 MB":       {strings.Repeat("# filler\n", 50<<20/9), "larger than 1 MiB"},
		"an alias":    {"dependencies: &a\n  - *a\n", "itself"},
		"unsupported": {"dependencies:\n  - python=3.9\n  - pip:\n      - -e .\n", "environment.yml:4:9: "},
	} {
		file := write(t, test.text)
		if _, err := Open(file, Options{Base: baseName, Platform: "linux-64"}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want %q in it", name, err, test.want)
		}
	}
}

// A pipe that nobody writes to would be waited for, deaf to signals.
func TestPipeAsFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "environment.yml")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(pipe, Options{Base: baseName, Platform: "linux-64"}); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("the error is %v", err)
	}
}

// Neither would one that is found in a folder.
func TestPipeInFolder(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(folder, "pyproject.toml"), 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := FindFile(folder)
	if err == nil {
		_, err = Open(file, Options{Base: baseName, Platform: "linux-64"})
	}
	if err == nil || !strings.Contains(err.Error(), "pyproject.toml: is not a regular file") {
		t.Errorf("the error is %v", err)
	}
}

func TestFolderAsFile(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "environment.yml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if found, err := FindFile(folder); err == nil {
		t.Errorf("a folder called environment.yml is taken: %s", found)
	}
}

func TestPythonOfFileAndFlag(t *testing.T) {
	for _, test := range []struct {
		file, flag string
		ok         bool
	}{
		{"- python=3.9", "3.9", true}, {"- python=3.9", "3.9.18", true}, {"- python=3.9.18", "3.9", true},
		{"- python=3.9", "3.10", false}, {"- python", "3.10", true}, {"- numpy", "3.10", true},
	} {
		file := write(t, "name: a\nchannels: [conda-forge]\ndependencies:\n  "+test.file+"\n")
		_, err := Open(file, Options{Base: baseName, Platform: "linux-64", Python: test.flag})
		if (err == nil) != test.ok {
			t.Errorf("%q with --python %s gives %v", test.file, test.flag, err)
		}
	}
}

// An override belongs to what is asked for, and is told to the installer and to
// the check.
func TestOverrides(t *testing.T) {
	file := filepath.Join(unpack(t, "-- pyproject.toml --\n[project]\ndependencies = ['a']\n[tool.uv]\noverride-dependencies = ['Num_Py<2']\nconstraint-dependencies = ['six<2']\n"), "pyproject.toml")
	p := open(t, file)
	request := p.pipRequest(kept{})
	if !slices.Equal(request.Overrides, []string{"Num_Py<2"}) || !slices.Equal(request.Constraints, []string{"six<2"}) {
		t.Errorf("overrides %q, constraints %q", request.Overrides, request.Constraints)
	}
	if got := p.checkRequest(p.newLock(lock.Base{})).Overridden; !slices.Equal(got, []string{"num-py"}) {
		t.Errorf("the check is told of %q", got)
	}
	if !strings.Contains(string(p.Request.Environment), `"overrides":["Num_Py<2"]`) {
		t.Errorf("the request is %s", p.Request.Environment)
	}
}
