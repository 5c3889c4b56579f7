package docker

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"
	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/internal/endpoint"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

func TestFacts(t *testing.T) {
	local := endpoint.Endpoint{Host: "unix:///var/run/docker.sock"}
	info := func(change func(i *system.Info)) system.Info {
		i := system.Info{Name: "gpu1", NCPU: 8, MemTotal: 1 << 34, ServerVersion: "20.10.24", Architecture: "x86_64", CgroupVersion: "2", CgroupDriver: "systemd",
			MemoryLimit: true, CPUCfsQuota: true, CPUCfsPeriod: true, CPUSet: true, PidsLimit: true,
			SwapLimit: true, DefaultRuntime: "runc", DockerRootDir: "/var/lib/docker", Driver: "overlay2", LoggingDriver: "json-file", LiveRestoreEnabled: true, SystemTime: "2026-03-01T12:00:00.000000005Z", SecurityOptions: []string{"name=seccomp,profile=default"},
			DriverStatus: [][2]string{{"Backing Filesystem", "extfs"}}, Runtimes: map[string]system.RuntimeWithStatus{"runc": {}}}
		if change != nil {
			change(&i)
		}
		return i
	}
	base := engine.Facts{Endpoint: local.Host, Name: "Docker Engine", Version: "20.10.24", APIVersion: "1.41", Arch: "amd64", CPUs: 8, Memory: 1 << 34, Swap: -1,
		CgroupVersion: 2, CgroupDriver: "systemd", SwapLimit: true, DefaultRuntime: "runc", DataRoot: "/var/lib/docker", Runtimes: []string{"runc"}, StorageDriver: "overlay2", LogDriver: "json-file", LiveRestore: true,
		Time: time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)}
	want := func(change func(f *engine.Facts)) engine.Facts {
		f := base
		change(&f)
		return f
	}
	for _, tc := range []struct {
		name    string
		ep      endpoint.Endpoint
		info    system.Info
		version types.Version
		want    engine.Facts
	}{
		{"plain", local, info(nil), types.Version{}, base},
		{"cgroup v1, arm64", local, info(func(i *system.Info) { i.CgroupVersion, i.Architecture = "", "aarch64" }), types.Version{},
			want(func(f *engine.Facts) { f.CgroupVersion, f.Arch = 1, "arm64" })},
		{"rootless", local, info(func(i *system.Info) { i.SecurityOptions = append(i.SecurityOptions, "name=rootless") }), types.Version{},
			want(func(f *engine.Facts) { f.Rootless = true })},
		{"rootless, cgroup v1", local, info(func(i *system.Info) {
			i.SecurityOptions, i.CgroupVersion = append(i.SecurityOptions, "name=rootless"), "1"
		}), types.Version{},
			want(func(f *engine.Facts) {
				f.Rootless, f.CgroupVersion, f.CannotLimit = true, 1, []string{"memory", "cpus", "cpuset", "pids"}
			})},
		{"a kernel without some cgroups", local, info(func(i *system.Info) { i.MemoryLimit, i.CPUCfsQuota = false, false }), types.Version{},
			want(func(f *engine.Facts) { f.CannotLimit = []string{"memory", "cpus"} })},
		{"containerd store", local, info(func(i *system.Info) { i.DriverStatus = [][2]string{{"driver-type", "io.containerd.snapshotter.v1"}} }), types.Version{},
			want(func(f *engine.Facts) { f.ContainerdStore = true })},
		{"forwarded socket", local, info(func(i *system.Info) { i.Name = "gpu2" }), types.Version{}, want(func(f *engine.Facts) { f.Remote = true })},
		{"Docker Desktop", local, info(func(i *system.Info) { i.Name, i.OperatingSystem = "docker-desktop", "Docker Desktop" }), types.Version{}, base},
		{"remote", endpoint.Endpoint{Host: "ssh://gpu1", Remote: true}, info(nil), types.Version{},
			want(func(f *engine.Facts) { f.Remote, f.Endpoint = true, "ssh://gpu1" })},
		{"Podman", local, info(nil), types.Version{Components: []types.ComponentVersion{{Name: "Podman Engine", Version: "4.3.1"}, {Name: "Conmon"}}},
			want(func(f *engine.Facts) { f.Name, f.Version = "Podman", "4.3.1" })},
		{"nvidia", local, info(func(i *system.Info) { i.Runtimes["nvidia"] = system.RuntimeWithStatus{} }), types.Version{},
			want(func(f *engine.Facts) { f.GPUDriver, f.Runtimes = "nvidia", []string{"nvidia", "runc"} })},
		{"CDI before nvidia", local, info(func(i *system.Info) {
			i.Runtimes["nvidia"] = system.RuntimeWithStatus{}
			i.DiscoveredDevices = []system.DeviceInfo{{Source: "cdi", ID: "nvidia.com/gpu=all"}, {Source: "cdi", ID: "nvidia.com/gpu=0"}, {Source: "cdi", ID: "nvidia.com/gpu=0"}, {Source: "x", ID: "y"}}
		}), types.Version{},
			want(func(f *engine.Facts) {
				f.GPUDriver, f.GPUDevices = "cdi", []string{"nvidia.com/gpu=0", "nvidia.com/gpu=all"}
				f.Runtimes = []string{"nvidia", "runc"}
			})},
		{"CDI of AMD", local, info(func(i *system.Info) {
			i.DiscoveredDevices = []system.DeviceInfo{{Source: "cdi", ID: "amd.com/gpu=0"}}
		}), types.Version{},
			want(func(f *engine.Facts) { f.GPUDriver, f.GPUDevices = "cdi", []string{"amd.com/gpu=0"} })},
		{"CDI of others", local, info(func(i *system.Info) {
			i.DiscoveredDevices = []system.DeviceInfo{{Source: "cdi", ID: "other.com/x=0"}}
		}), types.Version{},
			want(func(f *engine.Facts) { f.GPUDevices = []string{"other.com/x=0"} })},
	} {
		got := factsOf(tc.ep, tc.info, tc.version, "1.41", "gpu1")
		if diff := cmp.Diff(tc.want, got.Facts); diff != "" {
			t.Errorf("%s:\n%s", tc.name, diff)
		}
	}
}

// root makes a file system with these files.
func root(t *testing.T, files map[string]string) machine {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return machine{root: dir}
}

func TestLocalFacts(t *testing.T) {
	const spec = "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: \"0\"\n  containerEdits: {}\n- name: all\n"
	for _, tc := range []struct {
		name    string
		m       machine
		dirs    []string
		driver  string
		devices []string
		swap    int64
	}{
		{"nothing", root(t, nil), nil, "", nil, -1},
		{"swap", root(t, map[string]string{"proc/meminfo": "MemTotal: 1 kB\nSwapTotal:       2097148 kB\n"}), nil, "", nil, 2097148 << 10},
		{"hook", root(t, map[string]string{"usr/bin/nvidia-container-runtime-hook": ""}), nil, "nvidia", nil, -1},
		{"CDI turned off", root(t, map[string]string{"etc/cdi/nvidia.yaml": spec}), nil, "", nil, -1},
		{"CDI", root(t, map[string]string{"etc/cdi/nvidia.yaml": spec, "etc/cdi/bad.yaml": "\t", "run/cdi/x.json": `{"kind":"nvidia.com/gpu","devices":[{"name":"0"}]}`}),
			[]string{"/etc/cdi", "/run/cdi"}, "cdi", []string{"nvidia.com/gpu=0", "nvidia.com/gpu=all"}, -1},
	} {
		f := localFacts{}
		f.addLocal(endpoint.Endpoint{Host: "tcp://127.0.0.1:1"}, system.Info{CDISpecDirs: tc.dirs}, tc.m)
		if f.GPUDriver != tc.driver || f.AMD != nil || !cmp.Equal(f.GPUDevices, tc.devices) || f.Swap != tc.swap || f.MaxRlimits != nil {
			t.Errorf("%s: got %+v", tc.name, f.Facts)
		}
	}
}

func TestMaxRlimits(t *testing.T) {
	const limits = "Limit                     Soft Limit           Hard Limit           Units     \n" +
		"Max stack size            8388608              unlimited            bytes     \n" +
		"Max open files            1024                 20000                files     \n" +
		"Max locked memory         8388608              8388608              bytes     \n" +
		"Max processes             96365                96365                processes \n"
	l, socket := listenUnix(t)
	t.Cleanup(func() { l.Close() })
	proc := "proc/" + strconv.Itoa(os.Getpid())
	own := map[string]int64{"stack": -1, "nofile": 20000, "memlock": 8388608, "nproc": 96365}
	for _, tc := range []struct {
		name     string
		files    map[string]string
		rootless bool
		want     map[string]int64
	}{
		{"hidden", nil, false, nil},
		{"not permitted", map[string]string{proc + "/limits": limits, proc + "/status": "CapEff:\t000001fffeffffff\n"}, false, own},
		{"permitted", map[string]string{proc + "/limits": limits, proc + "/status": "CapEff:\t000001ffffffffff\n", "proc/sys/fs/nr_open": "1048576\n"}, false,
			map[string]int64{"stack": -1, "nofile": 1048576, "memlock": -1}},
		{"rootless", map[string]string{proc + "/limits": limits, proc + "/status": "CapEff:\t000001ffffffffff\n"}, true, own},
	} {
		if diff := cmp.Diff(tc.want, root(t, tc.files).maxRlimits(socket, tc.rootless)); diff != "" {
			t.Errorf("%s:\n%s", tc.name, diff)
		}
	}
	if got := (machine{}).maxRlimits(socket+"x", false); got != nil {
		t.Errorf("no socket: %v", got)
	}
}

// Where systemd holds the socket, dockerd's own file tells who it is.
func TestDockerdBehindSystemd(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  int
	}{
		"there":     {map[string]string{"run/docker.pid": "77", "proc/77/comm": "dockerd\n"}, 77},
		"another":   {map[string]string{"run/docker.pid": "77", "proc/77/comm": "bash\n"}, 0},
		"gone":      {map[string]string{"run/docker.pid": "77"}, 0},
		"half":      {map[string]string{"run/docker.pid": "", "proc/77/comm": "dockerd\n"}, 0},
		"no Docker": {nil, 0},
	} {
		if got := root(t, tc.files).dockerd(); got != tc.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// TestFactsAskOnce: what Docker has said once is not asked for again, and
// Podman says in its version alone what it is.
func TestFactsAskOnce(t *testing.T) {
	for name, commit := range map[string]string{"Docker Engine": "1.6.20", "Podman": ""} {
		d, e := newFakeDaemon(t, "1.41")
		d.handle("GET /info", reply(200, map[string]any{"ContainerdCommit": map[string]string{"ID": commit}}))
		d.handle("GET /version", reply(200, map[string]any{"Components": []map[string]string{{"Name": "Podman Engine", "Version": "4.3.1"}}}))
		for range 2 {
			if f, err := e.Facts(t.Context()); err != nil || f.Name != name {
				t.Errorf("%s: %+v, %v", name, f, err)
			}
		}
		want := []string{"GET /info"}
		if name == "Podman" {
			want = append(want, "GET /version", "GET /info") // the second time for what the client does not read
		}
		if !slices.Equal(d.calls, want) {
			t.Errorf("%s was asked %q, want %q", name, d.calls, want)
		}
	}
}

// The client gives the words alone of what ended a question for facts; who
// asked has to know its own end.
func TestFactsInterrupted(t *testing.T) {
	d, e := newFakeDaemon(t, "1.41")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("told to stop")
	d.handle("GET /info", func(w http.ResponseWriter, r *http.Request) {
		cancel(why)
		<-r.Context().Done()
	})
	if _, err := e.Facts(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// AMD's GPUs are files: those that its driver computes on, by number.
func TestAMD(t *testing.T) {
	const amd, other = "0x1002\n", "0x8086\n"
	files := map[string]string{
		"dev/kfd": "", "dev/dri/card0": "", "dev/dri/renderD1000": "", "dev/dri/renderD128": "", "dev/dri/renderD129": "",
		"sys/class/drm/renderD128/device/vendor": other, "sys/class/drm/renderD129/device/vendor": amd, "sys/class/drm/renderD1000/device/vendor": amd,
	}
	ask := func(m machine, name string) engine.Facts {
		f := localFacts{engine.Facts{Name: name}}
		f.addLocal(endpoint.Endpoint{Host: "tcp://127.0.0.1:1"}, system.Info{}, m)
		return f.Facts
	}
	m := root(t, files)
	for _, name := range []string{"kfd", "dri/renderD129"} {
		if err := os.Chmod(m.root+"/dev/"+name, 0o660); err != nil {
			t.Fatal(err)
		}
	}
	want := &plan.AMD{Shared: "/dev/kfd", GPUs: []string{"/dev/dri/renderD129", "/dev/dri/renderD1000"}}
	if gid := uint32(os.Getgid()); gid != 0 {
		want.Groups = []uint32{gid}
	}
	// Everybody may open the last one, which chmod has not touched but for others' right to write.
	if err := os.Chmod(m.root+"/dev/dri/renderD1000", 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Docker Engine", "Podman"} {
		if f := ask(m, name); f.GPUDriver != "amd" || !cmp.Equal(f.AMD, want) {
			t.Errorf("%s: %q, %+v, want %+v", name, f.GPUDriver, f.AMD, want)
		}
	}
	delete(files, "dev/kfd")
	if f := ask(root(t, files), "Docker Engine"); f.GPUDriver != "" || f.AMD != nil {
		t.Errorf("without the driver: %+v", f)
	}
	// Podman drops what it is asked for of NVIDIA's.
	if f := ask(root(t, map[string]string{"usr/bin/nvidia-container-runtime-hook": ""}), "Podman"); f.GPUDriver != "" {
		t.Errorf("Podman: %+v", f)
	}
}
