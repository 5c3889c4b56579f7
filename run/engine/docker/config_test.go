package docker

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"crun.dev/crun/internal/golden"
	"crun.dev/crun/run/plan"
)

func newProcess(args ...string) *specs.Process { return &specs.Process{Args: args, Cwd: "/"} }

func ptr[T any](v T) *T { return &v }

// fullPlan has every field that the mapping knows.
func fullPlan() *plan.Plan {
	return &plan.Plan{
		ID: "0123456789ab", Name: "calm-otter", Profile: "small", Project: "/home/ann/proj",
		Image:       plan.Image{Ref: "crun/demo:0123456789ab", ID: "sha256:aa"},
		SecretEnv:   []string{"WANDB_API_KEY", "HF_TOKEN"},
		Interactive: true,
		Network:     plan.NetworkDefault,
		Ports: []plan.Port{
			{HostIP: "0.0.0.0", Host: 8888, Container: 8888, Protocol: "tcp"},
			{Container: 6006},
			{Host: 5353, Container: 6006, Protocol: "udp"},
		},
		Grace: plan.Duration(10 * time.Second),
		Log:   plan.Log{MaxSize: 32 << 20, MaxFiles: 4},
		Spec: specs.Spec{
			Hostname: "calm-otter",
			Process: &specs.Process{
				Args: []string{"python", "/home/ann/proj/train.py", "--lr", "0.1"}, Cwd: "/home/ann/proj", Terminal: true,
				Env:  []string{"HOME=/home/ann", "OMP_NUM_THREADS=2"},
				User: specs.User{UID: 1000, GID: 100, AdditionalGids: []uint32{44, 2000}},
				Rlimits: []specs.POSIXRlimit{
					{Type: "RLIMIT_NOFILE", Soft: 65536, Hard: 65536},
					{Type: "RLIMIT_MEMLOCK", Soft: ^uint64(0), Hard: ^uint64(0)},
					{Type: "RLIMIT_STACK", Soft: 8 << 20, Hard: 64 << 20},
					{Type: "RLIMIT_CORE"},
					{Type: "RLIMIT_AS", Soft: 8 << 30, Hard: 8 << 30},
				},
			},
			Mounts: []specs.Mount{
				{Type: "bind", Source: "/home/ann/proj", Destination: "/home/ann/proj", Options: []string{"rbind", "rw"}},
				{Type: "bind", Source: "/data", Destination: "/data/", Options: []string{"bind", "ro", "rslave"}},
				{Type: "volume", Source: "crun-home", Destination: "/home/ann"},
				{Type: "tmpfs", Source: "shm", Destination: "/dev/shm", Options: []string{"nosuid", "size=1073741824"}},
				{Type: "tmpfs", Source: "tmpfs", Destination: "/tmp", Options: []string{"nosuid", "nodev", "size=536870912"}},
				{Type: "tmpfs", Destination: "/scratch", Options: []string{"noexec", "mode=0700", "size=1m"}},
			},
			Linux: &specs.Linux{Resources: &specs.LinuxResources{
				Memory: &specs.LinuxMemory{Limit: ptr[int64](4 << 30), Swap: ptr[int64](4 << 30), Reservation: ptr[int64](1 << 30)},
				CPU:    &specs.LinuxCPU{Quota: ptr[int64](250_000), Period: ptr[uint64](100_000), Cpus: "0-3"},
				Pids:   &specs.LinuxPids{Limit: ptr[int64](1024)},
			}},
			Annotations: map[string]string{"dev.crun.run": "0123456789ab", "dev.crun.schema": "1"},
		},
	}
}

func TestContainerConfig(t *testing.T) {
	gpu := func(g plan.GPUs, env ...string) *plan.Plan {
		p := minimalPlan()
		p.GPUs = &g
		p.Spec.Process.Env = env
		return p
	}
	odd := minimalPlan()
	odd.Network = plan.NetworkNone
	odd.Spec.Linux = &specs.Linux{Resources: &specs.LinuxResources{
		Memory: &specs.LinuxMemory{Limit: ptr[int64](1 << 30), Swap: ptr[int64](-1)},
		CPU:    &specs.LinuxCPU{Quota: ptr[int64](10_000), Period: ptr[uint64](50_000)},
		Pids:   &specs.LinuxPids{Limit: ptr[int64](-1)},
	}}
	devices := []string{"nvidia.com/gpu=10", "nvidia.com/gpu=2", "nvidia.com/gpu=0", "nvidia.com/gpu=GPU-1", "nvidia.com/gpu=all", "other.com/x=1"}
	for name, tc := range map[string]struct {
		plan *plan.Plan
		init bool
	}{
		"full":              {fullPlan(), true},
		"minimal":           {minimalPlan(), false},
		"odd":               {odd, true},
		"gpu-count":         {gpu(plan.GPUs{Driver: "nvidia", Count: 2}), false},
		"gpu-all":           {gpu(plan.GPUs{Driver: "nvidia", All: true}, "NVIDIA_DRIVER_CAPABILITIES=all"), false},
		"gpu-ids":           {gpu(plan.GPUs{Driver: "nvidia", IDs: []string{"1", "GPU-9"}}), false},
		"gpu-cdi-count":     {gpu(plan.GPUs{Driver: "cdi", Count: 2}), false},
		"gpu-cdi-all":       {gpu(plan.GPUs{Driver: "cdi", All: true}), false},
		"gpu-cdi-ids":       {gpu(plan.GPUs{Driver: "cdi", IDs: []string{"0:1", "nvidia.com/gpu=GPU-1"}}), false},
		"gpu-cdi-all-count": {gpu(plan.GPUs{Driver: "cdi", Count: 3}), false},
	} {
		t.Run(name, func(t *testing.T) {
			config, host, err := containerConfig(tc.plan, map[string]string{"HF_TOKEN": "hf=1", "WANDB_API_KEY": "w", "OTHER": "x"}, tc.init, devices)
			if err != nil {
				t.Fatal(err)
			}
			if host.Privileged || host.AutoRemove || host.Init == nil || *host.Init {
				t.Error("privileged, removed by the engine or with its init")
			}
			got := map[string]any{"Config": prune(t, config), "HostConfig": prune(t, host)}
			data, err := json.MarshalIndent(got, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, name+".json", string(data)+"\n")
		})
	}
}

// prune gives v as JSON without what is empty, so that golden files show what
// was set.
func prune(t *testing.T, v any) map[string]any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	for k, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, k)
		case string:
			if v == "" {
				delete(m, k)
			}
		case float64:
			if v == 0 {
				delete(m, k)
			}
		case bool:
			if !v && k != "Init" {
				delete(m, k)
			}
		case []any:
			if len(v) == 0 || k == "ConsoleSize" {
				delete(m, k)
			}
		case map[string]any:
			if len(v) == 0 || k == "RestartPolicy" {
				delete(m, k)
			}
		}
	}
	return m
}

// TestSecretsStayOut: a plan is recorded, so making a container of it must not
// write the values into it.
func TestSecretsStayOut(t *testing.T) {
	p := fullPlan()
	if _, _, err := containerConfig(p, map[string]string{"HF_TOKEN": "hunter2", "WANDB_API_KEY": "hunter2"}, true, nil); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "hunter2") {
		t.Error("the plan holds a secret's value")
	}
}

func TestContainerConfigErrors(t *testing.T) {
	with := func(change func(p *plan.Plan)) *plan.Plan {
		p := minimalPlan()
		change(p)
		return p
	}
	mount := func(m specs.Mount) *plan.Plan { return with(func(p *plan.Plan) { p.Spec.Mounts = []specs.Mount{m} }) }
	for _, tc := range []struct {
		plan *plan.Plan
		want string
	}{
		{with(func(p *plan.Plan) { p.Spec.Process = nil }), "has no command"},
		{with(func(p *plan.Plan) { p.SecretEnv = []string{"K"} }), "the value of K"},
		{mount(specs.Mount{Type: "overlay", Destination: "/x"}), `type "overlay" on /x is not supported`},
		{mount(specs.Mount{Type: "bind", Destination: "/x", Options: []string{"nosymfollow"}}), `option "nosymfollow" of the mount on /x`},
		{mount(specs.Mount{Type: "tmpfs", Destination: "/dev/shm"}), "has no size in bytes"},
		{mount(specs.Mount{Type: "tmpfs", Destination: "/dev/shm", Options: []string{"size=no"}}), `has no size in bytes among its options ["size=no"]`},
		{with(func(p *plan.Plan) { p.GPUs = &plan.GPUs{Driver: "intel", All: true} }), `"intel" is not known: allowed are nvidia, cdi and amd`},
		{with(func(p *plan.Plan) { p.GPUs = &plan.GPUs{Driver: "cdi", Count: 2} }), "2 GPUs are asked for, and the engine knows 1"},
	} {
		_, _, err := containerConfig(tc.plan, nil, false, []string{"nvidia.com/gpu=0"})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v, want %q", err, tc.want)
		}
	}
}

// AMD's GPUs are files, and no request for devices.
func TestFilesOfAMD(t *testing.T) {
	p := minimalPlan()
	p.GPUs = &plan.GPUs{Driver: plan.DriverAMD, Count: 1, Devices: []string{"/dev/kfd", "/dev/dri/renderD128"}}
	_, host, err := containerConfig(p, nil, false, nil)
	if err != nil || len(host.DeviceRequests) != 0 || len(host.Devices) != 2 {
		t.Fatalf("%+v, %v", host, err)
	}
	if d := host.Devices[1]; d.PathOnHost != "/dev/dri/renderD128" || d.PathInContainer != d.PathOnHost || d.CgroupPermissions != "rw" {
		t.Errorf("%+v", d)
	}
}
