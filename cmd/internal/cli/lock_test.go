package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"crun.dev/crun/build"
	"crun.dev/crun/build/lock"
)

// lockedApp is a buildApp with a lock of its file.
func lockedApp(t *testing.T) (*App, func(args ...string) (code int, out, errs string), *lock.Lock) {
	t.Helper()
	app, out, errs := buildApp(t)
	run := func(args ...string) (int, string, string) {
		out.Reset()
		errs.Reset()
		code := app.Run(context.Background(), args)
		return code, out.String(), errs.String()
	}
	p, err := build.Open(filepath.Join(app.Dir, "environment.yml"), build.Options{Base: build.DefaultBase, Platform: "linux-64", Miniconda: true})
	if err != nil {
		t.Fatal(err)
	}
	l := &lock.Lock{
		Version: lock.Version, Key: p.Request.Key(), Platform: "linux-64", Python: "3.9.18", Base: lock.Base{Reference: build.DefaultBase},
		Channels: []string{"conda-forge"}, Indexes: []string{"pypi"}, Request: p.Request,
		Conda: []lock.Package{{
			Name: "python", Version: "3.9.18", Build: "0", Channel: "conda-forge", Subdir: "linux-64", File: "python-3.9.18-0.conda", MD5: strings.Repeat("a", 32),
		}},
		Pip: []lock.Distribution{{Name: "tqdm", Version: "4.66.5", Index: "pypi", Hashes: []string{"sha256:" + strings.Repeat("b", 64)}}},
	}
	if err := lock.Write(p.LockFile, l); err != nil {
		t.Fatal(err)
	}
	return app, run, l
}

func TestLockCommandLine(t *testing.T) {
	_, run, _ := lockedApp(t)
	for _, test := range []struct {
		args string
		code int
		want string // in stderr
	}{
		{"lock a b", exitUsage, "takes one environment file or folder, not 2"},
		{"lock --check --update", exitUsage, "contradict each other"},
		{"lock --update environment.yml", exitUsage, "name the environment file with -f environment.yml"},
		{"lock --export toml", exitUsage, `--export is "toml"; allowed are pixi, conda-lock, explicit, pip`},
		{"lock --export pip --update", exitUsage, "leave out --check, --update and -o"},
		{"lock --update numpi", exitFailure, "crun.lock has no package \"numpi\""},
		{"lock diff a b c", exitUsage, "compares two locks, not 3"},
		{"lock diff HEAD:none.lock", exitFailure, "cannot be read from git"},
		{"lock diff ./none.lock", exitFailure, "there is no such file"},
		{"build --locked --python 3.9", exitFailure, "none.sock"},
		{"run --image x --locked true", exitUsage, "leave one out"},
		{"lock --check", 0, "crun.lock is the lock of "},
		{"lock --check --python 3.9", exitFailure, "crun.lock is not the lock of "},
		{"lock diff . crun.lock", 0, "name the same packages"},
	} {
		code, out, errs := run(strings.Fields(test.args)...)
		if strings.HasPrefix(test.args, "lock --check") && strings.Contains(errs, "--locked") {
			t.Errorf("crun %s says to leave out what was not said:\n%s", test.args, errs)
		}
		if code != test.code || !strings.Contains(errs, test.want) || out != "" {
			t.Errorf("crun %s ends with %d, prints %q and says\n%s\nwant %d and %q", test.args, code, out, errs, test.code, test.want)
		}
	}
}

func TestLockExport(t *testing.T) {
	_, run, _ := lockedApp(t)
	code, out, errs := run("lock", "--export", "explicit")
	want := "# platform: linux-64\n@EXPLICIT\nhttps://conda.anaconda.org/conda-forge/linux-64/python-3.9.18-0.conda#" + strings.Repeat("a", 32) + "\n"
	if code != 0 || out != want || !strings.Contains(errs, "not in it: tqdm==4.66.5; this form is for conda packages") {
		t.Errorf("it ends with %d, prints\n%s\nand says\n%s", code, out, errs)
	}
	code, out, errs = run("lock", "--export", "pip")
	if code != 0 || !strings.Contains(out, "\ntqdm==4.66.5 \\\n    --hash=sha256:bbb") || errs != "" {
		t.Errorf("it ends with %d, prints\n%s\nand says\n%s", code, out, errs)
	}
}

// The lock of HEAD is what a person has committed last.
func TestLockDiffAgainstGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is needed to test what crun asks it")
	}
	app, run, l := lockedApp(t)
	if code, _, errs := run("lock", "diff"); code != exitFailure || !strings.Contains(errs, "name a lock, an environment file or an image to compare with") {
		t.Errorf("without git it ends with %d and says\n%s", code, errs)
	}
	for _, args := range []string{"init -q", "add .", "-c user.name=a -c user.email=a@example.org commit -qm a"} {
		git := exec.Command("git", strings.Fields(args)...)
		git.Dir, git.Env = app.Dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	l.Pip[0].Version = "4.66.6"
	if err := lock.Write(filepath.Join(app.Dir, "crun.lock"), l); err != nil {
		t.Fatal(err)
	}
	want := "CHANGE   FROM  NAME  OLD     NEW\nchanged  pip   tqdm  4.66.5  4.66.6\n"
	for _, args := range []string{"lock diff", "lock diff HEAD:crun.lock", "lock diff HEAD:./crun.lock environment.yml"} {
		if code, out, errs := run(strings.Fields(args)...); code != 0 || out != want {
			t.Errorf("crun %s ends with %d, prints\n%s\nand says\n%s", args, code, out, errs)
		}
	}
	if _, out, _ := run("lock", "diff", "-o", "json"); !strings.Contains(out, `"action": "changed"`) {
		t.Errorf("-o json prints\n%s", out)
	}
}

// A lock of two platforms: each command takes the one that is meant, and asks where that is open.
func TestLockOfTwoPlatforms(t *testing.T) {
	app, run, l := lockedApp(t)
	path := filepath.Join(app.Dir, "crun.lock")
	p, err := build.Open(filepath.Join(app.Dir, "environment.yml"), build.Options{Base: build.DefaultBase, Platform: "linux-aarch64", Miniconda: true})
	if err != nil {
		t.Fatal(err)
	}
	arm := *l
	arm.Platform, arm.Request, arm.Key = "linux-aarch64", p.Request, p.Request.Key()
	arm.Conda = []lock.Package{l.Conda[0]}
	arm.Conda[0].Subdir = "linux-aarch64"
	if err := lock.Write(filepath.Join(app.Dir, "old.lock"), l, &arm); err != nil {
		t.Fatal(err)
	}
	changed := arm
	changed.Pip = []lock.Distribution{l.Pip[0]}
	changed.Pip[0].Version = "4.66.6"
	if err := lock.Write(path, l, &changed); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args     string
		code     int
		out, err string
	}{
		{"lock --platform linux/s390x", exitUsage, "", `--platform is "linux/s390x"; allowed are linux/amd64, linux/arm64, all`},
		{"lock --check --platform all", 0, "", "crun.lock is the lock of "},
		{"lock --check --platform linux/amd64 --platform linux/arm64", 0, "", "crun.lock is the lock of "},
		{"lock --check --platform all --python 3.9", exitFailure, "", "crun.lock is not the lock of "},
		{"lock --export pip", exitFailure, "", "has packages for linux/amd64, linux/arm64: name one of them with --platform"},
		{"lock --export pip --platform all", exitUsage, "", "writes the lock of one platform"},
		{"lock --export explicit --platform linux/arm64", 0, "conda-forge/linux-aarch64/python-3.9.18", "not in it"},
		{"lock diff old.lock", 0, "PLATFORM       CHANGE   FROM  NAME  OLD     NEW\nlinux-aarch64  changed  pip   tqdm  4.66.5  4.66.6\n", ""},
	} {
		code, out, errs := run(strings.Fields(test.args)...)
		if code != test.code || !strings.Contains(out, test.out) || !strings.Contains(errs, test.err) || test.err == "" && errs != "" {
			t.Errorf("crun %s ends with %d, prints\n%s\nand says\n%s", test.args, code, out, errs)
		}
	}
	if err := lock.Write(path, l); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := run("lock", "diff", "old.lock"); code != 0 || out != "" || !strings.Contains(errs, "crun.lock has no packages for linux-aarch64") {
		t.Errorf("with one platform less it ends with %d, prints\n%s\nand says\n%s", code, out, errs)
	}
	if code, _, errs := run("lock", "--export", "pip", "--platform", "linux/arm64"); code != exitFailure || !strings.Contains(errs, "crun lock --platform linux/arm64 chooses them") {
		t.Errorf("a platform that is not there ends with %d and says\n%s", code, errs)
	}
}

// A repository without a commit has no HEAD to compare with.
func TestLockDiffBeforeTheFirstCommit(t *testing.T) {
	app, run, _ := lockedApp(t)
	if out, err := exec.Command("git", "init", "-q", app.Dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if code, _, errs := run("lock", "diff"); code != exitFailure || !strings.Contains(errs, "HEAD:./crun.lock cannot be read from git (there is no commit yet): name a lock") {
		t.Errorf("it ends with %d and says\n%s", code, errs)
	}
}
