package inside

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/run/plan"
)

func ptr[T any](v T) *T { return &v }

const gib = int64(1) << 30

// asked and held are a plan and a kernel that agree.
func asked() Expectation {
	return Expectation{
		Version: Version, Memory: ptr(4 * gib), MemorySwap: ptr(4 * gib), CPUQuota: ptr(int64(200_000)), CPUPeriod: ptr(int64(100_000)),
		CPUSet: "0-3", Pids: ptr(int64(1024)), NoFile: ptr(int64(65536)), MemLock: ptr(int64(plan.Unlimited)), Core: ptr(int64(0)),
		AddressSpace: ptr(64 * gib), ShmSize: ptr(gib), TmpSize: ptr(2 * gib), GPUs: ptr(0),
		Env: map[string]string{"OMP_NUM_THREADS": "2"}, UID: ptr(uint32(1000)), GID: ptr(uint32(100)),
	}
}

func held() Limits {
	return Limits{
		Memory: ptr(4 * gib), MemorySwap: ptr(4 * gib), CPUQuota: ptr(int64(200_000)), CPUPeriod: ptr(int64(100_000)),
		CPUSet: "0-3", CPUs: 4, Pids: ptr(int64(1024)),
		Rlimits: map[string]Rlimit{
			"nofile": {ptr(int64(65536)), 65536}, "memlock": {ptr(int64(-1)), -1}, "core": {ptr(int64(0)), 0}, "address_space": {ptr(64 * gib), 64 * gib},
		},
		Shm: &Filesystem{Type: "tmpfs", Size: gib}, Tmp: &Filesystem{Type: "tmpfs", Size: 2 * gib},
		Env: map[string]string{"OMP_NUM_THREADS": "2"}, UID: 1000, GID: 100,
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Expectation, *Limits)
		want   string // "" for none; "refuse: " or "say: " before the difference
	}{
		{"agrees", func(*Expectation, *Limits) {}, ""},
		{"nothing asked", func(e *Expectation, l *Limits) { *e, *l = Expectation{}, Limits{} }, ""},
		{"memory above", func(e *Expectation, l *Limits) { l.Memory = ptr(8 * gib) }, "refuse: memory is 8 GiB, not 4 GiB"},
		{"memory unlimited", func(e *Expectation, l *Limits) { l.Memory = ptr(int64(-1)) }, "refuse: memory is unlimited, not 4 GiB"},
		{"memory unreadable", func(e *Expectation, l *Limits) { l.Memory = nil }, "refuse: memory is unreadable, not 4 GiB"},
		{"memory below", func(e *Expectation, l *Limits) { l.Memory = ptr(2 * gib) }, "say: memory is 2 GiB, not 4 GiB"},
		{"memory below, strict", func(e *Expectation, l *Limits) { l.Memory, e.Strict = ptr(2*gib), true }, "refuse: memory is 2 GiB, not 4 GiB"},
		{"memory to the page", func(e *Expectation, l *Limits) { e.Memory = ptr(4*gib + 1000) }, ""},
		{"memory by little", func(e *Expectation, l *Limits) { l.Memory = ptr(4*gib + 1<<20) }, "refuse: memory is 4296015872 bytes, not 4294967296 bytes"},
		{"memory lifted on purpose", func(e *Expectation, l *Limits) { e.Memory, l.Memory = ptr(int64(-1)), nil }, ""},
		{"swap", func(e *Expectation, l *Limits) { l.MemorySwap = ptr(8 * gib) }, "refuse: memory_swap is 8 GiB, not 4 GiB"},
		{"swap to the page, twice", func(e *Expectation, l *Limits) {
			// Version 2 rounds memory and swap down, each by itself.
			e.Memory, e.MemorySwap, e.Strict = ptr(4*gib+4095), ptr(6*gib+4095+4095), true
			l.Memory, l.MemorySwap = ptr(4*gib), ptr(6*gib)
		}, ""},
		{"reservation", func(e *Expectation, l *Limits) { e.MemoryReservation, l.MemoryReservation = ptr(2*gib), ptr(2*gib) }, ""},
		{"reservation dropped, version 2", func(e *Expectation, l *Limits) { e.MemoryReservation, l.MemoryReservation = ptr(2*gib), ptr(int64(0)) }, "refuse: memory_reservation is none, not 2 GiB"},
		{"reservation dropped, version 1", func(e *Expectation, l *Limits) { e.MemoryReservation, l.MemoryReservation = ptr(2*gib), ptr(int64(-1)) }, "refuse: memory_reservation is none, not 2 GiB"},
		{"reservation above", func(e *Expectation, l *Limits) { e.MemoryReservation, l.MemoryReservation = ptr(2*gib), ptr(3*gib) }, "refuse: memory_reservation is 3 GiB, not 2 GiB"},
		{"reservation below", func(e *Expectation, l *Limits) { e.MemoryReservation, l.MemoryReservation = ptr(2*gib), ptr(gib) }, "say: memory_reservation is 1 GiB, not 2 GiB"},
		{"reservation unreadable", func(e *Expectation, l *Limits) { e.MemoryReservation = ptr(2 * gib) }, "refuse: memory_reservation is unreadable, not 2 GiB"},
		{"swap that cannot be limited", func(e *Expectation, l *Limits) { e.MemorySwap, e.NoSwap, l.Swap = nil, true, ptr(gib) }, "refuse: memory_swap is 1 GiB of swap on the host, not none, since it cannot be limited here"},
		{"no swap, so no limit", func(e *Expectation, l *Limits) { e.MemorySwap, e.NoSwap, l.Swap = nil, true, ptr(int64(0)) }, ""},
		{"oom_score_adj safer", func(e *Expectation, l *Limits) { e.OOMScoreAdj, l.OOMScoreAdj = ptr(300), ptr(0) }, "refuse: oom_score_adj is 0, not 300"},
		{"oom_score_adj less safe", func(e *Expectation, l *Limits) { e.OOMScoreAdj, l.OOMScoreAdj = ptr(-300), ptr(0) }, "say: oom_score_adj is 0, not -300"},
		{"oom_score_adj unreadable", func(e *Expectation, l *Limits) { e.OOMScoreAdj = ptr(0) }, "refuse: oom_score_adj is unreadable, not 0"},
		{"cpus as systemd rounds them", func(e *Expectation, l *Limits) { e.CPUQuota, l.CPUQuota = ptr(int64(33_333)), ptr(int64(34_000)) }, ""},
		{"cpus above by little", func(e *Expectation, l *Limits) { e.CPUQuota, l.CPUQuota = ptr(int64(33_333)), ptr(int64(34_500)) }, "refuse: cpus is 0.345, not 0.333"},
		{"cpus above", func(e *Expectation, l *Limits) { l.CPUQuota = ptr(int64(300_000)) }, "refuse: cpus is 3, not 2"},
		{"cpus unlimited", func(e *Expectation, l *Limits) { l.CPUQuota = ptr(int64(-1)) }, "refuse: cpus is unlimited, not 2"},
		{"cpus unreadable", func(e *Expectation, l *Limits) { l.CPUQuota, l.CPUPeriod = nil, nil }, "refuse: cpus is unreadable, not 2"},
		{"cpus in another period", func(e *Expectation, l *Limits) { l.CPUQuota, l.CPUPeriod = ptr(int64(20_000)), ptr(int64(10_000)) }, ""},
		{"cpus below", func(e *Expectation, l *Limits) { l.CPUQuota = ptr(int64(100_000)) }, "say: cpus is 1, not 2"},
		{"cpuset outside", func(e *Expectation, l *Limits) { l.CPUSet = "0-4" }, "refuse: cpuset is 0-4, not 0-3"},
		{"cpuset elsewhere", func(e *Expectation, l *Limits) { l.CPUSet = "4-7" }, "refuse: cpuset is 4-7, not 0-3"},
		{"cpuset below", func(e *Expectation, l *Limits) { l.CPUSet = "1,2" }, "say: cpuset is 1,2, not 0-3"},
		{"cpuset unreadable", func(e *Expectation, l *Limits) { l.CPUSet = "" }, "refuse: cpuset is unreadable, not 0-3"},
		{"pids", func(e *Expectation, l *Limits) { l.Pids = ptr(int64(-1)) }, "refuse: pids is unlimited, not 1024"},
		{"nofile below", func(e *Expectation, l *Limits) { l.Rlimits["nofile"] = Rlimit{ptr(int64(1024)), 65536} }, "say: nofile is 1024, not 65536"},
		{"nofile below, strict", func(e *Expectation, l *Limits) {
			l.Rlimits["nofile"], e.Strict = Rlimit{ptr(int64(1024)), 65536}, true
		}, "refuse: nofile is 1024, not 65536"},
		{"nofile above", func(e *Expectation, l *Limits) { l.Rlimits["nofile"] = Rlimit{nil, -1} }, ""},
		{"memlock", func(e *Expectation, l *Limits) { l.Rlimits["memlock"] = Rlimit{ptr(8 << 20 * int64(1)), 8 << 20} }, "say: memlock is 8 MiB, not unlimited"},
		{"core", func(e *Expectation, l *Limits) { l.Rlimits["core"] = Rlimit{ptr(int64(0)), -1} }, "refuse: core is unlimited, not 0 bytes"},
		{"address_space", func(e *Expectation, l *Limits) { l.Rlimits["address_space"] = Rlimit{nil, -1} }, "refuse: address_space is unlimited, not 64 GiB"},
		{"address_space missing", func(e *Expectation, l *Limits) { delete(l.Rlimits, "address_space") }, "refuse: address_space is unreadable, not 64 GiB"},
		{"shm above", func(e *Expectation, l *Limits) { l.Shm.Size = 2 * gib }, "refuse: shm_size is 2 GiB, not 1 GiB"},
		{"shm below", func(e *Expectation, l *Limits) { l.Shm.Size = 64 << 20 }, "refuse: shm_size is 64 MiB, not 1 GiB"},
		{"shm to the page", func(e *Expectation, l *Limits) { e.ShmSize = ptr(gib - 100) }, ""},
		{"tmp on disk", func(e *Expectation, l *Limits) { l.Tmp = &Filesystem{Type: "overlayfs", Size: 100 * gib} }, "refuse: tmpdir.size is 100 GiB of overlayfs, not 2 GiB of tmpfs"},
		{"tmp unreadable", func(e *Expectation, l *Limits) { l.Tmp = nil }, "refuse: tmpdir.size is unreadable, not 2 GiB"},
		{"GPU that nobody asked for", func(e *Expectation, l *Limits) { l.Devices = []string{"/dev/nvidia0", "/dev/nvidiactl"} }, "refuse: gpus is 1, not 0"},
		{"GPU missing", func(e *Expectation, l *Limits) { e.GPUs, l.Devices = ptr(2), []string{"/dev/nvidia3"} }, "refuse: gpus is 1, not 2"},
		{"GPUs", func(e *Expectation, l *Limits) {
			e.GPUs, l.Devices = ptr(2), []string{"/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia-uvm"}
		}, ""},
		{"GPUs of AMD", func(e *Expectation, l *Limits) {
			e.GPUs, l.Devices = ptr(2), []string{"/dev/dri/renderD128", "/dev/dri/renderD129", "/dev/kfd"}
		}, ""},
		{"GPU of AMD that nobody asked for", func(e *Expectation, l *Limits) { l.Devices = []string{"/dev/dri/renderD128", "/dev/kfd"} }, "refuse: gpus is 1, not 0"},
		{"render node of another driver", func(e *Expectation, l *Limits) { l.Devices = []string{"/dev/dri/card0", "/dev/dri/renderD128"} }, ""},
		{"GPU below WSL", func(e *Expectation, l *Limits) { e.GPUs, l.Devices = ptr(1), []string{"/dev/dxg"} }, ""},
		{"groups", func(e *Expectation, l *Limits) { e.Groups, l.Groups = []uint32{44, 100, 7}, []uint32{7} }, "refuse: groups is [7], not with 44"},
		{"network", func(e *Expectation, l *Limits) { e.NoNetwork, l.Routes = true, []string{"eth0"} }, "refuse: network is reached by eth0, not none"},
		{"no network", func(e *Expectation, l *Limits) { e.NoNetwork = true }, ""},
		{"uid", func(e *Expectation, l *Limits) { l.UID = 0 }, "refuse: uid is 0, not 1000"},
		{"env", func(e *Expectation, l *Limits) { l.Env["OMP_NUM_THREADS"] = "64" }, `refuse: env.OMP_NUM_THREADS is "64", not "2"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, l := asked(), held()
			test.change(&e, &l)
			// What init is told comes to it as JSON.
			data, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var told Expectation
			if err := json.Unmarshal(data, &told); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range Check(told, l) {
				how := "say: "
				if d.Refuse {
					how = "refuse: "
				}
				got = append(got, how+d.String())
			}
			if s := strings.Join(got, "\n"); s != test.want {
				t.Errorf("%q, want %q", s, test.want)
			}
		})
	}
}

func TestExpect(t *testing.T) {
	p, _, err := plan.Make(plan.Request{
		ID: "01jde0123456", Name: "otter", Profile: "p", Command: []string{"true"},
		Limits: plan.Limits{
			Memory: &plan.Amount{Value: 4 * gib}, CPUs: &plan.Amount{Value: 2e9}, CPUSet: ptr("0-3"), Pids: ptr(int64(1024)),
			NoFile: ptr(int64(65536)), MemLock: ptr(int64(-1)), Core: ptr(int64(0)), AddressSpace: ptr(64 * gib),
			ShmSize: ptr(gib), TmpDir: &plan.TmpDir{Size: 2 * gib, Kind: plan.TmpFS}, TimeLimit: ptr(time.Hour),
		},
		Host:    plan.Host{CPUs: 8, Memory: 64 * gib, SwapLimit: true},
		Account: plan.Account{UID: 1000, GID: 100},
		Umask:   ptr(uint32(0o027)),
		Env:     []plan.EnvVar{{Name: "MKL_NUM_THREADS", FromHost: true}, {Name: "SECRET", Value: "x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := Expect(p)
	env := map[string]string{"CRUN_WORKERS": "2", "TMPDIR": "/tmp", "NVIDIA_VISIBLE_DEVICES": "void"}
	for _, name := range plan.ThreadVars() {
		if name != "MKL_NUM_THREADS" {
			env[name] = "2"
		}
	}
	want := asked()
	want.Run, want.Env, want.Umask = "01jde0123456", env, ptr(uint32(0o027))
	want.TimeLimit, want.Grace = ptr(plan.Duration(time.Hour)), plan.Duration(10*time.Second)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestExpectGPUs(t *testing.T) {
	for _, test := range []struct {
		gpus *plan.GPUs
		want string
	}{{nil, "0"}, {&plan.GPUs{Count: 2}, "2"}, {&plan.GPUs{All: true}, "any"}, {&plan.GPUs{IDs: []string{"MIG-x"}}, "any"},
		{&plan.GPUs{IDs: []string{"0", "12"}}, "2"}, {&plan.GPUs{IDs: []string{"GPU-a"}}, "1"}, {&plan.GPUs{IDs: []string{"0:1"}}, "any"}, {&plan.GPUs{IDs: []string{"0", "GPU-a"}}, "any"}} {
		got := "any"
		if n := expectGPUs(test.gpus); n != nil {
			got = fmt.Sprint(*n)
		}
		if got != test.want {
			t.Errorf("%v: %s, want %s", test.gpus, got, test.want)
		}
	}
}

// The engine gives the variable another value than the image, and runtimes
// differ in which of the two the command gets.
func TestExpectLeavesTheEngineItsVariable(t *testing.T) {
	for driver, want := range map[string]string{"": "void", "cdi": "void", "nvidia": ""} {
		request := plan.Request{
			ID: "01jde0123456", Name: "otter", Profile: "p", Command: []string{"true"},
			Image: plan.ImageFacts{Env: []string{"NVIDIA_VISIBLE_DEVICES=all"}},
		}
		if driver != "" {
			request.Host.GPUDriver, request.Limits.GPUs = driver, &plan.GPULimit{Count: 1}
		}
		p, _, err := plan.Make(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := Expect(p).Env["NVIDIA_VISIBLE_DEVICES"]; got != want {
			t.Errorf("driver %q: %q is expected, want %q", driver, got, want)
		}
	}
}

func TestDevices(t *testing.T) {
	dev := t.TempDir()
	for _, name := range []string{"nvidia0", "nvidia12", "nvidiactl", "nvidia-uvm", "nvidia-caps/nvidia-cap1", "dri/card0", "kfd", "null"} {
		path := filepath.Join(dev, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	devices := gpuDevices(dev)
	if len(devices) != 7 || countGPUs(devices) != 2 {
		t.Errorf("%d GPUs in %v", countGPUs(devices), devices)
	}
}
