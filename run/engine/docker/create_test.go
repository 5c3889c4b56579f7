package docker

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

// TestRealAccount: the run is somebody, though the image does not know him.
func TestRealAccount(t *testing.T) {
	e, img := realEngine(t)
	id := create(t, e, shellPlan(t, img, "id; whoami; eval echo ~; stat -c '%u:%g %a' /etc/passwd /etc/group; head -1 /etc/passwd"))
	got := execute(t, e, id, "")
	const want = "uid=4242(ann) gid=4243(lab) groups=4243(lab),4244(gpu)\nann\n/home/ann\n0:0 644\n0:0 644\nroot:x:0:0:root:/root:/bin/bash\n"
	if got.stdout != want {
		t.Errorf("got %+v\nwant %q", got, want)
	}
	group, err := e.ReadFile(t.Context(), id, "/etc/group")
	if err != nil || strings.Count(string(group), "\nvideo:") != 1 {
		t.Errorf("%s, %v", group, err)
	}
}

func TestRealFiles(t *testing.T) {
	e, img := realEngine(t)
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	id := create(t, e, shellPlan(t, img, "cd /; stat -c '%n %u:%g %a' .crun .crun/* new new/deep new/deep/f etc; echo report > /.crun/report.json; ln -s report.json /.crun/link; ln -s nowhere /.crun/dangling"),
		engine.File{Path: "/.crun/expect.json", Mode: 0o600, UID: 4242, GID: 4243, Data: []byte("{}")},
		engine.File{Path: "/.crun/big", Mode: 0o755, Data: big},
		engine.File{Path: "/new/deep/f", Mode: 0o640, UID: 7, GID: 8},
		engine.File{Path: "/etc/crun.conf", Mode: 0o644})
	// What lies there before the start is readable then.
	if data, err := e.ReadFile(t.Context(), id, "/.crun/big"); err != nil || !bytes.Equal(data, big) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	got := execute(t, e, id, "")
	const want = ".crun 4242:4243 755\n.crun/big 0:0 755\n.crun/expect.json 4242:4243 600\nnew 0:0 755\nnew/deep 0:0 755\nnew/deep/f 7:8 640\netc 0:0 755\n"
	if got.stdout != want || got.code != 0 {
		t.Errorf("got %+v\nwant %q", got, want)
	}
	for path, want := range map[string]string{"/.crun/report.json": "report\n", "/.crun/link": "report\n"} {
		if data, err := e.ReadFile(t.Context(), id, path); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", path, data, err)
		}
	}
	for _, path := range []string{"/.crun/nosuch", "/.crun/dangling"} {
		if data, err := e.ReadFile(t.Context(), id, path); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s: %q, %v", path, data, err)
		}
	}
	if _, err := e.ReadFile(t.Context(), id, "/etc"); err == nil || !strings.Contains(err.Error(), "no file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := e.ReadFile(t.Context(), "nosuchcontainer", "/etc/passwd"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("no container: %v", err)
	}
}

// TestRealLimits reads the limits back from inside: what the kernel holds
// counts, not what inspect says.
func TestRealLimits(t *testing.T) {
	e, img := realEngine(t)
	dir := t.TempDir()
	p := shellPlan(t, img, `
ulimit -Hn; ulimit -Hc; ulimit -Hv; ulimit -Hs
stat -f -c '%b*%S' /dev/shm /tmp; stat -c %a /tmp
cp /bin/true /tmp/x && /tmp/x && echo exec
touch `+dir+`/x 2>&1 | sed 's/.*: //'
cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null
cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max 2>/dev/null | cut -d' ' -f1
cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null
nproc; hostname; echo "$SECRET"; pwd`)
	p.Spec.Hostname, p.Spec.Process.Cwd = "calm-otter", "/usr"
	p.SecretEnv = []string{"SECRET"}
	p.Spec.Mounts = []specs.Mount{
		{Type: "tmpfs", Destination: "/dev/shm", Options: []string{"size=67108864"}},
		{Type: "tmpfs", Destination: "/tmp", Options: []string{"nosuid", "nodev", "size=33554432"}},
		{Type: "bind", Source: dir, Destination: dir, Options: []string{"rbind", "ro"}},
	}
	p.Spec.Process.Rlimits = []specs.POSIXRlimit{
		{Type: "RLIMIT_NOFILE", Soft: 512, Hard: 512}, {Type: "RLIMIT_CORE"},
		{Type: "RLIMIT_AS", Soft: 2 << 30, Hard: 2 << 30}, {Type: "RLIMIT_STACK", Soft: 1 << 23, Hard: 1 << 23},
	}
	p.Spec.Linux.Resources = &specs.LinuxResources{
		Memory: &specs.LinuxMemory{Limit: ptr[int64](256 << 20), Swap: ptr[int64](256 << 20)},
		CPU:    &specs.LinuxCPU{Quota: ptr[int64](50_000), Period: ptr[uint64](100_000), Cpus: "0"},
		Pids:   &specs.LinuxPids{Limit: ptr[int64](64)},
	}
	id, _, err := e.Create(t.Context(), p, map[string]string{"SECRET": "s"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Remove(context.Background(), id) })
	got := execute(t, e, id, "")
	want := "512\n0\n2097152\n8192\n16384*4096\n8192*4096\n1777\nexec\nRead-only file system\n268435456\n50000\n64\n1\ncalm-otter\ns\n/usr\n"
	if got.stdout != want {
		t.Errorf("got %+v\nwant %q", got, want)
	}
}

// TestRealRefusals: each is one sentence, and leaves no container.
func TestRealRefusals(t *testing.T) {
	e, img := realEngine(t)
	f, err := e.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		change func(p *plan.Plan)
		want   string
		kind   error
	}{
		{"image", func(p *plan.Plan) { p.Image = plan.Image{Ref: "nosuch:x"} }, "has no image nosuch:x", engine.ErrNotFound},
		{"command", func(p *plan.Plan) { p.Spec.Process.Args = []string{"nosuch"} }, "there is no command nosuch", engine.ErrNoCommand},
		{"path", func(p *plan.Plan) { p.Spec.Process.Args = []string{"/nosuch"} }, "there is no /nosuch", engine.ErrNoCommand},
		{"executable", func(p *plan.Plan) { p.Spec.Process.Args = []string{"/etc/passwd"} }, "/etc/passwd cannot be executed", engine.ErrNotExec},
		{"bind", func(p *plan.Plan) {
			p.Spec.Mounts = []specs.Mount{{Type: "bind", Source: "/nosuch", Destination: "/x"}}
		}, "finds no /nosuch on its own machine", nil},
		{"cpus", func(p *plan.Plan) {
			p.Spec.Linux.Resources.CPU = &specs.LinuxCPU{Quota: ptr[int64](10_000_000_000), Period: ptr[uint64](100_000)}
		}, "cpus is outside what the engine's host has", nil},
		{"cpuset", func(p *plan.Plan) { p.Spec.Linux.Resources.CPU = &specs.LinuxCPU{Cpus: "4000"} }, "cpuset is 4000", nil},
		{"memory", func(p *plan.Plan) { p.Spec.Linux.Resources.Memory = &specs.LinuxMemory{Limit: ptr[int64](1 << 20)} }, "memory is 1 MiB, less than", nil},
		{"nofile", func(p *plan.Plan) {
			p.Spec.Process.Rlimits = []specs.POSIXRlimit{{Type: "RLIMIT_NOFILE", Soft: 2e9, Hard: 2e9}}
		}, "nofile is 2000000000, more than the engine may give", nil},
		{"address space", func(p *plan.Plan) {
			p.Spec.Process.Rlimits = []specs.POSIXRlimit{{Type: "RLIMIT_AS", Soft: 256 << 20, Hard: 256 << 20}}
		}, "address_space is 256 MiB, too little for the container's own start", nil},
		{"GPU", func(p *plan.Plan) { p.GPUs = &plan.GPUs{Driver: "nvidia", All: true} }, "can give no GPU", nil},
	} {
		if tc.name == "GPU" && f.GPUDriver != "" {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			p := shellPlan(t, img, "true")
			tc.change(p)
			id, _, err := e.Create(t.Context(), p, nil, nil)
			if err == nil {
				err = e.Start(t.Context(), id)
				if removeErr := e.Remove(t.Context(), id); removeErr != nil {
					t.Error(removeErr)
				}
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || tc.kind != nil && !errors.Is(err, tc.kind) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if _, err := e.State(t.Context(), containerName(p)); !errors.Is(err, engine.ErrNotFound) {
				t.Errorf("left behind: %v", err)
			}
		})
	}
}

// TestRealCreateLeavesNothing: a failed copy takes the container with it, and
// so does a caller who has hung up.
func TestRealCreateLeavesNothing(t *testing.T) {
	e, img := realEngine(t)
	p := shellPlan(t, img, "true")
	_, _, err := e.Create(t.Context(), p, nil, []engine.File{{Path: "/bin/sh/x", Mode: 0o644}})
	if err == nil {
		t.Error("a file was put below a file")
	}
	if _, err := e.State(t.Context(), containerName(p)); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("left behind: %v", err)
	}
	for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond} {
		p := shellPlan(t, img, "true")
		ctx, cancel := context.WithTimeout(t.Context(), after)
		id, _, err := e.Create(ctx, p, nil, []engine.File{{Path: "/x", Mode: 0o644}})
		cancel()
		if err == nil {
			if err := e.Remove(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(20 * time.Millisecond)
		if _, err := e.State(t.Context(), containerName(p)); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("left behind after %v: %v", after, err)
		}
	}
}
