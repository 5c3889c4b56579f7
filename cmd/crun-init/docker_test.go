package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
)

// baseImage is what the repository's setup scripts make (e2e/setup).
const baseImage = "crun-local/bookworm:base"

// needDocker skips where no engine, or not the base image, answers.
func needDocker(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs an engine")
	}
	if out, err := exec.Command("docker", "image", "inspect", baseImage).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED, needs Docker and %s: %v %s", baseImage, err, out)
	}
	t.Parallel()
}

// container is one made with init in it, as launch does it.
type container struct {
	t  *testing.T
	id string
}

func docker(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func newContainer(t *testing.T, uid int, expect *inside.Expectation, flags []string, command ...string) *container {
	t.Helper()
	args := append([]string{"create", "--network", "none", "--user", fmt.Sprintf("%d:%d", uid, uid), "--entrypoint", inside.InitPath}, flags...)
	args = append(append(args, baseImage, "--"), command...)
	c := &container{t: t, id: docker(t, args...)}
	t.Cleanup(func() { exec.Command("docker", "rm", "-f", "-v", c.id).Run() })

	put := exec.Command("docker", "cp", "-", c.id+":/")
	put.Stdin = archive(t, uid, expect)
	if out, err := put.CombinedOutput(); err != nil {
		t.Fatalf("docker cp: %v\n%s", err, out)
	}
	return c
}

// archive gives init, the expectation and their folder as a tar. What they
// belong to is in its headers: the Engine's own way (CopyUIDGID) looks the user
// up on the host, where 20.10 finds no "1000:1000".
func archive(t *testing.T, uid int, expect *inside.Expectation) *bytes.Buffer {
	t.Helper()
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	add := func(name string, kind byte, mode int64, data []byte) {
		err := w.WriteHeader(&tar.Header{Name: name, Typeflag: kind, Mode: mode, Uid: uid, Gid: uid, Size: int64(len(data))})
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(initBinary)
	if err != nil {
		t.Fatal(err)
	}
	add(".crun/", tar.TypeDir, 0o755, nil)
	add(".crun/init", tar.TypeReg, 0o755, data)
	if expect != nil {
		expect.Version = inside.Version
		data, err := json.Marshal(expect)
		if err != nil {
			t.Fatal(err)
		}
		add(".crun/expect.json", tar.TypeReg, 0o644, data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &buffer
}

// run starts the container, waits, and gives its output and exit code.
func (c *container) run() (output string, code int) {
	c.t.Helper()
	out, err := exec.Command("docker", "start", "-a", c.id).CombinedOutput()
	if exit, ok := err.(*exec.ExitError); ok {
		return string(out), exit.ExitCode()
	} else if err != nil {
		c.t.Fatal(err)
	}
	return string(out), 0
}

// read reads a file of init's out of the container, which has ended.
func (c *container) read(path string, to any) {
	c.t.Helper()
	dir := c.t.TempDir()
	docker(c.t, "cp", c.id+":"+path, dir+"/file")
	data, err := os.ReadFile(dir + "/file")
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *container) wait(state string) {
	c.t.Helper()
	for range 500 {
		if docker(c.t, "inspect", "-f", "{{.State.Status}}", c.id) == state {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.t.Fatalf("the container is not %s", state)
}

func p[T any](v T) *T { return &v }

// small is a profile as flags of docker's and as what init is told.
var smallFlags = []string{
	"--memory", "256m", "--memory-swap", "256m", "--cpus", "1.5", "--cpuset-cpus", "0", "--pids-limit", "64",
	"--ulimit", "nofile=4096:4096", "--ulimit", "core=0:0",
	"--shm-size", "16m", "--tmpfs", "/tmp:exec,mode=1777,size=16777216", "-e", "OMP_NUM_THREADS=1",
}

func small() *inside.Expectation {
	return &inside.Expectation{
		Memory: p(int64(256 << 20)), MemorySwap: p(int64(256 << 20)),
		CPUQuota: p(int64(150_000)), CPUPeriod: p(int64(100_000)), CPUSet: "0", Pids: p(int64(64)),
		NoFile: p(int64(4096)), Core: p(int64(0)),
		ShmSize: p(int64(16 << 20)), TmpSize: p(int64(16 << 20)), GPUs: p(0),
		Env: map[string]string{"OMP_NUM_THREADS": "1"}, UID: p(uint32(1000)), GID: p(uint32(1000)), Strict: true,
	}
}

func TestContainer(t *testing.T) {
	needDocker(t)
	c := newContainer(t, 1000, small(), smallFlags, "sh", "-c",
		`id -u; head -c 50000000 /dev/zero | tail -c 50000000 | wc -c; head -c 5000000 /dev/zero >/tmp/x; head -c 3000000 /dev/zero >/dev/shm/x; exit 7`)
	out, code := c.run()
	if code != 7 || out != "1000\n50000000\n" {
		t.Fatalf("exit code %d, output %q", code, out)
	}
	var l inside.Limits
	c.read(inside.LimitsPath, &l)
	if l.CgroupVersion == 0 || l.Memory == nil || *l.Memory != 256<<20 || l.CPUs != 1 || l.UID != 1000 {
		t.Errorf("limits %+v", l)
	}
	var r inside.Report
	c.read(inside.ReportPath, &r)
	if r.ExitCode != 7 || r.Reason != inside.ReasonExited {
		t.Errorf("report %+v", r)
	}
	n := r.Counters
	if n == nil || n.MemoryPeak == nil || n.CPUUsage == nil || n.OOMKills == nil || n.Pids == nil || n.ShmUsed == nil || n.TmpUsed == nil {
		t.Fatalf("counters %+v", n)
	}
	if peak := *n.MemoryPeak; peak < 50e6 || peak > 256<<20 {
		t.Errorf("memory peak %d", peak)
	}
	if *n.TmpUsed < 5e6 || *n.ShmUsed < 3e6 || *n.OOMKills != 0 || *n.CPUUsage <= 0 {
		t.Errorf("tmp %d, shm %d, oom kills %d, cpu %d", *n.TmpUsed, *n.ShmUsed, *n.OOMKills, *n.CPUUsage)
	}
}

func TestContainerRefusesEachDifference(t *testing.T) {
	needDocker(t)
	// The flags that come last win, as a daemon that does something else.
	for _, test := range []struct {
		name  string
		flags []string
		want  string
	}{
		{"memory", []string{"--memory", "512m", "--memory-swap", "512m"}, "memory is 512 MiB, not 256 MiB"},
		{"memory_swap", []string{"--memory-swap", "512m"}, "memory_swap is 512 MiB, not 256 MiB"},
		{"cpus", []string{"--cpus", "2"}, "cpus is 2, not 1.5"},
		{"cpuset", []string{"--cpuset-cpus", "0-1"}, "cpuset is 0-1, not 0"},
		{"pids", []string{"--pids-limit", "-1"}, "pids is unlimited, not 64"},
		{"nofile", []string{"--ulimit", "nofile=1024:1024"}, "nofile is 1024, not 4096"},
		{"core", []string{"--ulimit", "core=-1:-1"}, "core is unlimited, not 0 bytes"},
		{"shm_size", []string{"--shm-size", "64m"}, "shm_size is 64 MiB, not 16 MiB"},
		{"tmpdir", []string{"--tmpfs", "/tmp:exec,mode=1777,size=33554432"}, "tmpdir.size is 32 MiB, not 16 MiB"},
		{"env", []string{"-e", "OMP_NUM_THREADS=48"}, `env.OMP_NUM_THREADS is "48", not "1"`},
		{"uid", []string{"--user", "1001:1000"}, "uid is 1001, not 1000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			flags := append([]string{}, smallFlags...)
			if test.name == "tmpdir" {
				flags = remove(flags, "--tmpfs")
			}
			c := newContainer(t, 1000, small(), append(flags, test.flags...), "echo", "started")
			out, code := c.run()
			if want := "crun: the kernel does not hold what the plan asks: " + test.want + "\n"; code != 125 || !strings.Contains(out, want) || strings.Contains(out, "started") {
				t.Errorf("exit code %d, output %q, want %q", code, out, want)
			}
		})
	}
}

// remove takes a flag and its value out.
func remove(flags []string, name string) []string {
	for i, flag := range flags {
		if flag == name {
			return append(flags[:i:i], flags[i+2:]...)
		}
	}
	return flags
}

func TestContainerOutOfMemory(t *testing.T) {
	needDocker(t)
	c := newContainer(t, 1000, nil, []string{"--memory", "64m", "--memory-swap", "64m"}, "sh", "-c", "head -c 200000000 /dev/zero | tail -c 200000000 | wc -c; exit 3")
	if out, code := c.run(); code != 3 {
		t.Errorf("exit code %d, output %q", code, out)
	}
	var r inside.Report
	c.read(inside.ReportPath, &r)
	// A process that dies may go over the limit by a few pages (mm/memcontrol.c,
	// try_charge: "force").
	if n := r.Counters; n == nil || n.OOMKills == nil || *n.OOMKills < 1 || n.MemoryPeak == nil || *n.MemoryPeak < 60<<20 || *n.MemoryPeak > 65<<20 {
		data, _ := json.Marshal(n)
		t.Errorf("counters %s", data)
	}
}

func TestContainerSignals(t *testing.T) {
	needDocker(t)
	t.Run("killed by itself", func(t *testing.T) {
		t.Parallel()
		c := newContainer(t, 0, nil, nil, "sh", "-c", "kill -KILL $$")
		if out, code := c.run(); code != 137 {
			t.Errorf("exit code %d, output %q", code, out)
		}
		var r inside.Report
		c.read(inside.ReportPath, &r)
		if r.Signal != "SIGKILL" {
			t.Errorf("report %+v", r)
		}
	})
	t.Run("SIGINT to the group", func(t *testing.T) {
		t.Parallel()
		c := newContainer(t, 1000, nil, nil, "sh", "-c",
			`trap 'echo parent; exit 5' INT; sh -c 'trap "echo child; exit" INT; echo ready; while :; do sleep 0.02; done'; while :; do sleep 0.02; done`)
		docker(t, "start", c.id)
		c.ready()
		docker(t, "kill", "-s", "INT", c.id)
		c.wait("exited")
		if out := docker(t, "logs", c.id); !strings.Contains(out, "child") || !strings.Contains(out, "parent") {
			t.Errorf("output %q", out)
		}
	})
	t.Run("stop", func(t *testing.T) {
		t.Parallel()
		c := newContainer(t, 1000, nil, nil, "sh", "-c", `trap 'echo saved; exit 4' TERM; echo ready; while :; do sleep 0.02; done`)
		docker(t, "start", c.id)
		c.ready()
		docker(t, "stop", c.id)
		if code := docker(t, "inspect", "-f", "{{.State.ExitCode}}", c.id); code != "4" {
			t.Errorf("exit code %s", code)
		}
	})
	t.Run("time limit ends all", func(t *testing.T) {
		t.Parallel()
		expect := &inside.Expectation{TimeLimit: p(plan.Duration(300 * time.Millisecond)), Grace: plan.Duration(300 * time.Millisecond)}
		c := newContainer(t, 1000, expect, nil, "sh", "-c", `trap '' TERM; (setsid sh -c 'trap "" TERM; sleep 60' &); while :; do sleep 0.05; done`)
		if out, code := c.run(); code != 137 || !strings.Contains(out, "crun: time limit 300ms reached") {
			t.Errorf("exit code %d, output %q", code, out)
		}
	})
}

func (c *container) ready() {
	c.t.Helper()
	for range 500 {
		if strings.Contains(docker(c.t, "logs", c.id), "ready") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.t.Fatal("the command is not ready")
}

func TestContainerOrphans(t *testing.T) {
	needDocker(t)
	c := newContainer(t, 1000, nil, nil, "sh", "-c", `sh -c 'sleep 0.1 & echo $! >/tmp/orphan'; sleep 0.5; test ! -e /proc/$(cat /tmp/orphan) && echo reaped`)
	if out, code := c.run(); code != 0 || out != "reaped\n" {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

func TestContainerReadOnly(t *testing.T) {
	needDocker(t)
	// The folder is another's: nothing can be written, and the run goes on.
	c := newContainer(t, 0, nil, []string{"--user", "1000"}, "sh", "-c", "id -u; exit 9")
	if out, code := c.run(); code != 9 || out != "1000\n" {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

func TestContainerTerminal(t *testing.T) {
	needDocker(t)
	c := newContainer(t, 1000, nil, []string{"-t"}, "sh", "-c",
		`set -- $(sed 's/.*) //' /proc/$$/stat); test $$ = $3 && test $$ = $6 && test -t 0 && echo foreground; exit 6`)
	if out, code := c.run(); code != 6 || out != "foreground\r\n" {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

func TestContainerNoSuchCommand(t *testing.T) {
	needDocker(t)
	c := newContainer(t, 1000, nil, nil, "pyhton", "train.py")
	if out, code := c.run(); code != 127 || !strings.HasPrefix(out, "crun: command not found: pyhton (looked for in PATH=") {
		t.Errorf("exit code %d, output %q", code, out)
	}
	c = newContainer(t, 1000, nil, nil, "/etc/passwd")
	if out, code := c.run(); code != 126 || !strings.HasPrefix(out, "crun: command not executable: /etc/passwd") {
		t.Errorf("exit code %d, output %q", code, out)
	}
}
