package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
)

// initBinary is init as it goes into a container: static.
var initBinary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "crun-init-test")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		initBinary = filepath.Join(dir, "crun-init")
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", initBinary, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("building crun-init: %v\n%s", err, out))
		}
		return m.Run()
	}())
}

// trial is one run of init as a child of the test: not PID 1, but the reaper
// of what is below it.
type trial struct {
	*exec.Cmd
	t              *testing.T
	dir            string
	stdout, stderr bytes.Buffer
}

func newTrial(t *testing.T, expect *inside.Expectation, command ...string) *trial {
	t.Helper()
	tr := &trial{t: t, dir: t.TempDir()}
	if expect != nil {
		expect.Version = inside.Version
		data, err := json.Marshal(expect)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tr.dir, "expect.json"), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tr.Cmd = exec.Command(initBinary, append([]string{"--dir", tr.dir, "--"}, command...)...)
	tr.Dir = tr.dir
	tr.Stdout, tr.Stderr = &tr.stdout, &tr.stderr
	return tr
}

func sh(t *testing.T, expect *inside.Expectation, script string) *trial {
	t.Helper()
	return newTrial(t, expect, "sh", "-c", script)
}

// code waits and gives init's exit code.
func (tr *trial) code() int {
	tr.t.Helper()
	kill := time.AfterFunc(20*time.Second, func() { tr.Process.Kill() })
	defer kill.Stop()
	err := tr.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		tr.t.Fatal(err)
	}
	return tr.ProcessState.ExitCode()
}

// exits starts init, waits, and asks for an exit code and what the report says.
func (tr *trial) exits(code int, reason string) inside.Report {
	tr.t.Helper()
	if tr.Process == nil {
		if err := tr.Start(); err != nil {
			tr.t.Fatal(err)
		}
	}
	if got := tr.code(); got != code {
		tr.t.Errorf("exit code %d, want %d; stderr: %s", got, code, &tr.stderr)
	}
	var r inside.Report
	tr.read("report.json", &r)
	if r.ExitCode != code || r.Reason != reason {
		tr.t.Errorf("report has code %d, reason %q, want %d, %q", r.ExitCode, r.Reason, code, reason)
	}
	if r.Version != inside.Version || r.Started.IsZero() || r.Ended.Before(r.Started) || r.Duration < 0 {
		tr.t.Errorf("report has version %d, times %v to %v, duration %v", r.Version, r.Started, r.Ended, r.Duration)
	}
	return r
}

func (tr *trial) read(name string, to any) {
	tr.t.Helper()
	data, err := os.ReadFile(filepath.Join(tr.dir, name))
	if err != nil {
		tr.t.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		tr.t.Fatalf("%s: %v", name, err)
	}
}

// waitFor waits until the command has made a file.
func (tr *trial) waitFor(name string) string {
	tr.t.Helper()
	for range 1000 {
		if data, err := os.ReadFile(filepath.Join(tr.dir, name)); err == nil && len(data) > 0 {
			return strings.TrimSpace(string(data))
		}
		time.Sleep(10 * time.Millisecond)
	}
	tr.t.Fatalf("%s has not come; stderr: %s", name, &tr.stderr)
	return ""
}

func (tr *trial) begin() {
	tr.t.Helper()
	if err := tr.Start(); err != nil {
		tr.t.Fatal(err)
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	tr := sh(t, nil, "echo out; echo err >&2; cat; exit 7")
	tr.Stdin = strings.NewReader("in\x00\xff\n")
	r := tr.exits(7, inside.ReasonExited)
	if got := tr.stdout.String(); got != "out\nin\x00\xff\n" {
		t.Errorf("stdout %q", got)
	}
	if got := tr.stderr.String(); got != "err\n" {
		t.Errorf("stderr %q", got)
	}
	if r.Usage == nil || r.Usage.MaxRSS < 100<<10 || r.Usage.MaxRSS > 1<<30 {
		t.Errorf("usage %+v", r.Usage)
	}
	var l inside.Limits
	tr.read("limits.json", &l)
	if l.UID != uint32(os.Getuid()) || l.CPUs < 1 || l.Rlimits["stack"].Hard == 0 {
		t.Errorf("limits %+v", l)
	}
}

func TestSignalAndCodeToldApart(t *testing.T) {
	t.Parallel()
	if r := sh(t, nil, "kill -KILL $$").exits(137, inside.ReasonSignaled); r.Signal != "SIGKILL" || r.CoreDumped {
		t.Errorf("signal %q, core %v", r.Signal, r.CoreDumped)
	}
	if r := sh(t, nil, "exit 137").exits(137, inside.ReasonExited); r.Signal != "" {
		t.Errorf("signal %q", r.Signal)
	}
	if r := sh(t, nil, "ulimit -c 0; kill -SEGV $$").exits(139, inside.ReasonSignaled); r.Signal != "SIGSEGV" {
		t.Errorf("signal %q", r.Signal)
	}
}

func TestSIGINTGoesToTheGroup(t *testing.T) {
	t.Parallel()
	// Not "&": what a shell starts so ignores SIGINT.
	tr := sh(t, nil, `trap 'echo parent >>got; exit 5' INT
sh -c 'trap "echo child >>got; exit" INT; echo ready >ready; while :; do sleep 0.02; done'
while :; do sleep 0.02; done`)
	tr.begin()
	tr.waitFor("ready")
	tr.Process.Signal(os.Interrupt)
	tr.exits(5, inside.ReasonExited)
	if got := tr.waitFor("got"); !strings.Contains(got, "child") || !strings.Contains(got, "parent") {
		t.Errorf("SIGINT reached %q", got)
	}
}

func TestOtherSignalsGoToTheCommandAlone(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]syscall.Signal{
		"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1, "QUIT": syscall.SIGQUIT,
	} {
		t.Run(name, func(t *testing.T) {
			tr := sh(t, nil, `trap 'echo parent >>got; wait; exit 6' `+name+`
sh -c 'trap "echo child >>got" `+name+`; echo ready >ready; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.03; done' &
wait`)
			tr.begin()
			tr.waitFor("ready")
			tr.Process.Signal(s)
			if r := tr.exits(6, inside.ReasonExited); !slices.Equal(r.Got, []string{"SIG" + name}) {
				t.Errorf("the report has %q", r.Got)
			}
			if got := tr.waitFor("got"); got != "parent" {
				t.Errorf("%v reached %q", s, got)
			}
		})
	}
	// One that the command does not catch ends it.
	tr := sh(t, nil, "echo ready >ready; exec sleep 30")
	tr.begin()
	tr.waitFor("ready")
	tr.Process.Signal(syscall.SIGTERM)
	tr.exits(143, inside.ReasonSignaled)
}

func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	// The orphan ends while the command lives on: nothing of it may be left.
	sh(t, nil, `sh -c 'sleep 0.05 & echo $! >orphan'
sleep 0.4
test ! -e /proc/$(cat orphan)`).exits(0, inside.ReasonExited)
	// A thousand at once, and the command's own status is not lost.
	sh(t, nil, `i=0; while [ $i -lt 200 ]; do (sh -c 'exit 1' &) ; i=$((i+1)); done; exit 9`).exits(9, inside.ReasonExited)
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	limit := plan.Duration(300 * time.Millisecond)
	expect := func(grace time.Duration) *inside.Expectation {
		return &inside.Expectation{TimeLimit: &limit, Grace: plan.Duration(grace)}
	}
	t.Run("obeyed", func(t *testing.T) {
		t.Parallel()
		tr := sh(t, expect(10*time.Second), `trap 'echo saved; exit 3' TERM; while :; do sleep 0.02; done`)
		r := tr.exits(3, inside.ReasonTimeLimit)
		if tr.stdout.String() != "saved\n" || r.Message != "time limit 300ms reached" {
			t.Errorf("stdout %q, message %q", &tr.stdout, r.Message)
		}
		if want := "crun: time limit 300ms reached, SIGTERM sent, SIGKILL in 10s\n"; tr.stderr.String() != want {
			t.Errorf("stderr %q, want %q", &tr.stderr, want)
		}
	})
	t.Run("ignored", func(t *testing.T) {
		t.Parallel()
		tr := sh(t, expect(200*time.Millisecond), `trap '' TERM; while :; do sleep 0.02; done`)
		if r := tr.exits(137, inside.ReasonTimeLimit); r.Signal != "SIGKILL" || time.Duration(r.Duration) < 400*time.Millisecond {
			t.Errorf("report %+v", r)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		sh(t, expect(10*time.Second), `kill -STOP $$`).exits(143, inside.ReasonTimeLimit)
	})
	t.Run("not reached", func(t *testing.T) {
		t.Parallel()
		sh(t, expect(time.Second), `exit 0`).exits(0, inside.ReasonExited)
	})
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	memory, nofile := int64(6<<20), int64(100)
	tr := sh(t, &inside.Expectation{Run: "00000000000x", Memory: &memory, NoFile: &nofile, Env: map[string]string{"OMP_NUM_THREADS": "3"}}, "echo started")
	tr.Env = append(os.Environ(), "OMP_NUM_THREADS=64")
	r := tr.exits(125, inside.ReasonRefused)
	if tr.stdout.Len() > 0 {
		t.Errorf("the command was started: %q", &tr.stdout)
	}
	for _, want := range []string{
		"crun: the kernel does not hold what the plan asks: memory is ",
		", not 6 MiB\n",
		`crun: the kernel does not hold what the plan asks: env.OMP_NUM_THREADS is "64", not "3"` + "\n",
	} {
		if !strings.Contains(tr.stderr.String(), want) {
			t.Errorf("stderr has no %q: %s", want, &tr.stderr)
		}
	}
	if len(r.Differences) != 2 || r.Run != "00000000000x" {
		t.Errorf("report %+v", r)
	}
}

func TestWeakerIsSaidAndStarted(t *testing.T) {
	t.Parallel()
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		t.Fatal(err)
	}
	asked := int64(r.Max) + 1
	tr := sh(t, &inside.Expectation{NoFile: &asked}, "exit 0")
	tr.exits(0, inside.ReasonExited)
	if want := fmt.Sprintf("crun: the kernel gives less than the plan asks: nofile is %d, not %d\n", r.Max, asked); tr.stderr.String() != want {
		t.Errorf("stderr %q, want %q", &tr.stderr, want)
	}
	sh(t, &inside.Expectation{NoFile: &asked, Strict: true}, "exit 0").exits(125, inside.ReasonRefused)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	umask, nofile := uint32(0o027), int64(333)
	tr := sh(t, &inside.Expectation{Umask: &umask, NoFile: &nofile}, "umask; ulimit -n")
	tr.exits(0, inside.ReasonExited)
	if got := tr.stdout.String(); got != "0027\n333\n" {
		t.Errorf("umask and nofile are %q", got)
	}
	// Without one, the command has the soft limit that init was started with.
	tr = sh(t, nil, "ulimit -n; echo $$; ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat")
	tr.Cmd = exec.Command("sh", append([]string{"-c", `ulimit -Sn 77; exec "$@"`, "sh", tr.Path}, tr.Args[1:]...)...)
	tr.Stdout = &tr.stdout
	tr.exits(0, inside.ReasonExited)
	lines := strings.Fields(tr.stdout.String())
	if len(lines) != 3 || lines[0] != "77" || lines[1] != lines[2] {
		t.Errorf("nofile, pid and group are %q", lines)
	}
	var l inside.Limits
	tr.read("limits.json", &l)
	if l.Rlimits["nofile"].Soft != nil {
		t.Error("limits.json has a soft nofile that is not the command's")
	}
}

func TestCannotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string, mode os.FileMode, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", 0o644, "#!/bin/sh\n")
	text := file("text", 0o755, "exit 0\n")
	orphan := file("orphan", 0o755, "#!/no/such/python\n")
	for _, test := range []struct {
		name    string
		command string
		code    int
		reason  string
		message string
	}{
		{"missing", "no-such-command", 127, inside.ReasonNotFound, "command not found: no-such-command (looked for in PATH=" + dir + ":/nowhere)"},
		{"missing path", "./no/such", 127, inside.ReasonNotFound, "command not found: ./no/such"},
		{"not executable", plain, 126, inside.ReasonNotExec, "command not executable: " + plain + ": permission denied"},
		{"not executable on PATH", "plain", 126, inside.ReasonNotExec, "command not executable: " + plain + ": permission denied"},
		{"folder", dir, 126, inside.ReasonNotExec, "command not executable: " + dir + ": it is a folder"},
		{"no #!", text, 126, inside.ReasonNotExec, "command not executable: " + text + ": not a program"},
		{"no interpreter", orphan, 127, inside.ReasonNotFound, "command not found: the interpreter of " + orphan},
		{"empty", "", 127, inside.ReasonNotFound, "command not found: "},
		{"below a file", plain + "/x", 127, inside.ReasonNotFound, "command not found: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := newTrial(t, nil, test.command)
			tr.Env = []string{"PATH=" + dir + ":/nowhere"}
			r := tr.exits(test.code, test.reason)
			if !strings.HasPrefix(r.Message, test.message) || tr.stderr.String() != "crun: "+r.Message+"\n" {
				t.Errorf("message %q, want %q; stderr %q", r.Message, test.message, &tr.stderr)
			}
		})
	}
}

func TestBadExpectation(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"no JSON": "{", "another version": `{"version": 99}`} {
		tr := sh(t, nil, "echo started")
		if err := os.WriteFile(filepath.Join(tr.dir, "expect.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := tr.exits(125, inside.ReasonInitFailed); tr.stdout.Len() > 0 || !strings.Contains(r.Message, "expect.json") {
			t.Errorf("%s: stdout %q, message %q", name, &tr.stdout, r.Message)
		}
	}
}

func TestFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	tr := sh(t, nil, "exit 4")
	tr.Args[2] = filepath.Join(tr.dir, "missing")
	tr.begin()
	if code := tr.code(); code != 4 || tr.stderr.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, &tr.stderr)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"sh"}, {"--"}} {
		tr := newTrial(t, nil)
		tr.Cmd = exec.Command(initBinary, append([]string{"--dir", tr.dir}, args...)...)
		tr.exits(125, inside.ReasonInitFailed)
	}
}

func TestSize(t *testing.T) {
	info, err := os.Stat(initBinary)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() >= 3_000_000 {
		t.Errorf("init has %d bytes, and goes into every container: keep it under 3 MB", info.Size())
	}
}
