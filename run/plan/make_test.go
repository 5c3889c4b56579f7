package plan

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/internal/golden"
)

func ptr[T any](v T) *T { return &v }

// small is the request of DESIGN.md's small profile on a host of 16 CPUs.
func small() Request {
	return Request{
		ID:      "01jde0123456",
		Name:    "brave-otter",
		Profile: "small",
		Limits: Limits{
			Memory:  &Amount{Value: 4 << 30},
			CPUs:    &Amount{Value: 2e9},
			Pids:    ptr(int64(1024)),
			ShmSize: ptr(int64(1 << 30)),
			TmpDir:  &TmpDir{Size: 1 << 30, Kind: TmpFS},
			NoFile:  ptr(int64(65536)),
			Threads: &Threads{Auto: true},
		},
		Origin: map[string]string{
			"memory": "profiles.yaml:5:13", "cpus": "profiles.yaml:6:11", "pids": "profiles.yaml:7:11",
			"shm_size": "profiles.yaml:8:15", "tmpdir.size": "profiles.yaml:9:20", "nofile": "profiles.yaml:10:13",
			"threads": "profiles.yaml:11:14",
		},
		Host: Host{Arch: "amd64", CPUs: 16, Memory: 64 << 30, CgroupVersion: 2, SwapLimit: true},
		Image: ImageFacts{
			Image: Image{Ref: "crun/demo:0123456789ab", ID: "sha256:feed", Lock: "sha256:beef", Torch: "2.5.1"},
			Env:   []string{"PATH=/opt/conda/envs/demo/bin:/usr/bin:/bin", "CONDA_PREFIX=/opt/conda/envs/demo"},
			Arch:  "amd64",
		},
		Command: []string{"train.py", "--epochs", "10"},
		Project: "/home/ada/work",
		Dir:     "/home/ada/work",
		Account: Account{User: "ada", UID: 1000, GID: 1000, Home: "/home/ada", Groups: []Group{{"ada", 1000}, {"gpu", 44}}},
		HomeDir: "/home/ada/.cache/crun/home",
		Umask:   ptr(uint32(0o022)),
	}
}

// large is what the small one is not: shares, disk, GPUs, secrets, ports.
func large() Request {
	r := small()
	r.Profile, r.Name = "gpu", "vast-heron"
	r.Limits = Limits{
		Memory:       &Amount{Num: 1, Den: 2},
		MemorySwap:   ptr(int64(Unlimited)),
		CPUs:         &Amount{Num: 1, Den: 3},
		CPUSet:       ptr("8-11,0-1"),
		GPUs:         &GPULimit{Count: 2},
		TmpDir:       &TmpDir{Size: 20 << 30, Kind: Disk},
		OOMScoreAdj:  ptr(int64(300)),
		MemLock:      ptr(int64(Unlimited)),
		Stack:        ptr(int64(64 << 20)),
		Core:         ptr(int64(0)),
		AddressSpace: ptr(int64(128 << 30)),
		Env:          []EnvVar{{Name: "WANDB_MODE", Value: "offline"}, {Name: "HF_TOKEN", FromHost: true}},
		Home:         ptr(HomeMine),
		Network:      ptr(NetworkDefault),
		TimeLimit:    ptr(36 * time.Hour),
		Strict:       ptr(true),
	}
	r.Origin = map[string]string{"memory": "profiles.yaml:20:13", "cpus": "flag --cpus", "env.WANDB_MODE": "profiles.yaml:30:5"}
	r.Host.GPUDriver, r.Host.GPUDevices = "cdi", []string{"nvidia.com/gpu=0", "nvidia.com/gpu=1", "nvidia.com/gpu=GPU-a", "nvidia.com/gpu=GPU-b", "nvidia.com/gpu=all"}
	r.Host.ScratchRoot = "/scratch/crun"
	r.Image.Entrypoint, r.Image.Torch = []string{"/entry.sh", "--quiet"}, "2.10.0+cu128"
	r.Image.Env = append(r.Image.Env, "NVIDIA_VISIBLE_DEVICES=all", "OMP_NUM_THREADS=32", "PYTHONUNBUFFERED=x")
	r.Command = []string{"torchrun", "it's here.py"}
	r.Dir = "/home/ada/work/experiments"
	r.Mounts = []Mount{{"/data/images", "/data", true, "flag -v"}}
	r.Env = []EnvVar{{Name: "SEED", Value: "7"}, {Name: "WANDB_API_KEY", Value: "must-not-be-seen", FromHost: true}, {Name: "MKL_NUM_THREADS", Value: "3"}}
	r.Ports = []Port{{Host: 6006, Container: 6006}}
	r.TTY, r.Interactive, r.Grace = true, true, time.Minute
	return r
}

func TestMakeGolden(t *testing.T) {
	for name, request := range map[string]Request{
		"small": small(),
		"large": large(),
		"bare":  {ID: "000000000000", Name: "bare", Profile: "debug", Command: []string{"true"}, Image: ImageFacts{Image: Image{Ref: "debian", ID: "sha256:1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			p, warnings, err := Make(request)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			fmt.Fprintf(&b, "%s\n\n", Summary(p))
			for _, w := range warnings {
				fmt.Fprintf(&b, "warning: %s\n", w)
			}
			for _, row := range Describe(p) {
				fmt.Fprintf(&b, "%-28s %s   [%s]\n", row.Field, row.Value, row.Origin)
			}
			data, err := json.MarshalIndent(p, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "\n%s\n", data)
			golden.Check(t, name+".golden", b.String())
			if strings.Contains(b.String(), "must-not-be-seen") {
				t.Error("the value of a secret is in the plan")
			}

			// A record is read back as it was.
			var again Plan
			if err := json.Unmarshal(data, &again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(*p, again); diff != "" {
				t.Error(diff)
			}
			// Pure: the same request, the same bytes, and the request is as it was.
			second, _, _ := Make(request)
			if more, _ := json.MarshalIndent(second, "", "  "); string(more) != string(data) {
				t.Error("a second plan of the same request differs")
			}
		})
	}
}

func TestMakeLeavesTheRequest(t *testing.T) {
	request, same := large(), large()
	if _, _, err := Make(request); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(request, same) {
		t.Error("Make has changed its request")
	}
}

func TestMakeErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Request)
		want   string // the whole message, or its beginning before "..."
	}{
		{"memory of the host", func(r *Request) { r.Limits.Memory.Value = 65 << 30 },
			`profiles.yaml:5:13: memory is 65 GiB, but the engine's host has 64 GiB: ask for at most that (--memory 65536m), or for a share like "1/2"`},
		{"memory too small", func(r *Request) { r.Limits.Memory.Value = 1 << 20 },
			"profiles.yaml:5:13: memory is 1 MiB, less than the 6 MiB that an engine takes: ask for more (--memory 1g)"},
		{"share of nothing", func(r *Request) { r.Limits.Memory = &Amount{Num: 1, Den: 2}; r.Host.Memory = 0 },
			"profiles.yaml:5:13: memory is a share of the host (1/2), and nobody knows how much the engine's host has: give a fixed value..."},
		{"swap below memory", func(r *Request) { r.Limits.MemorySwap = ptr(int64(1 << 30)) },
			"memory_swap is 1 GiB, less than memory, which is 4 GiB: it is memory and swap together, so ask for at least that (--memory-swap 4294967296)"},
		{"swap without memory", func(r *Request) { r.Limits.Memory = nil; r.Limits.MemorySwap = ptr(int64(1 << 30)) },
			"memory_swap without memory: it is memory and swap together, so set memory too"},
		{"swap cannot be limited", func(r *Request) { r.Host.SwapLimit = false; r.Host.Swap = 8 << 30 },
			"the engine's host cannot limit swap, and has 8 GiB of it: the run could pass its memory by swapping..."},
		{"reservation", func(r *Request) { r.Limits.MemoryReservation = ptr(int64(5 << 30)) },
			"memory_reservation is 5 GiB, more than memory, which is 4 GiB..."},
		{"oom_score_adj", func(r *Request) { r.Limits.OOMScoreAdj = ptr(int64(-1000)) }, "oom_score_adj is -1000: allowed are -999 to 1000..."},
		{"oom_score_adj of a rootless engine", func(r *Request) { r.Limits.OOMScoreAdj, r.Host.Rootless = ptr(int64(-5)), true }, "oom_score_adj is -5, and a rootless engine..."},
		{"cpus of the host", func(r *Request) { r.Limits.CPUs.Value = 16_500_000_000 },
			"profiles.yaml:6:11: cpus is 16.5, but the engine's host has 16: ask for at most that (--cpus 16)"},
		{"cpus too few", func(r *Request) { r.Limits.CPUs.Value = 1_000_000 }, "profiles.yaml:6:11: cpus is 0.001, less than the 0.01..."},
		{"cpuset of the host", func(r *Request) {
			r.Limits.CPUSet = ptr("0,16")
			r.Origin["cpuset"] = "flag --cpuset"
			r.Host.Name = "ssh://big"
		}, "flag --cpuset: cpuset is 0,16, but the host of ssh://big has the CPUs 0-15..."},
		{"cpuset", func(r *Request) { r.Limits.CPUSet = ptr("3-1") }, `cpuset "3-1" is no list of CPUs: write numbers and ranges as in "0-3,8"`},
		{"a rootless engine on cgroup v1", func(r *Request) {
			r.Host.Rootless, r.Host.CgroupVersion, r.Host.CannotLimit = true, 1, []string{"memory", "cpus", "cpuset", "pids"}
		}, "profiles.yaml:5:13: the engine's host cannot hold a run to its memory, cpus and pids: its engine is rootless, and with cgroup version 1 limits are root's to set: use the machine's own engine (--host unix:///var/run/docker.sock), or boot that machine with systemd.unified_cgroup_hierarchy=1..."},
		{"a rootless engine without delegation", func(r *Request) {
			r.Limits.CPUSet, r.Host.Rootless, r.Host.CannotLimit = ptr("0-1"), true, []string{"cpuset"}
		}, "the engine's host cannot hold a run to its cpuset: its engine is rootless, and its user may not set these: give them to users (Delegate=..."},
		{"a kernel without cgroups of memory", func(r *Request) {
			r.Limits = Limits{MemoryReservation: ptr(int64(1 << 30)), Pids: ptr(int64(-1))}
			r.Host.CannotLimit = []string{"memory", "pids"}
		}, "profiles.yaml:5:13: the engine's host cannot hold a run to its memory: its kernel has no such cgroups (memory: boot it with cgroup_enable=memory..."},
		{"pids", func(r *Request) { r.Limits.Pids = ptr(int64(3)) }, "profiles.yaml:7:11: pids is 3: allowed are 16 and more..."},
		{"address space", func(r *Request) { r.Limits.AddressSpace = ptr(int64(1 << 29)) }, "address_space is 512 MiB: allowed are 2 GiB and more..."},
		{"rlimit", func(r *Request) { r.Limits.Stack = ptr(int64(-2)) }, "stack is -2: allowed are 0 and more, and -1 for no limit"},
		{"strict wish", func(r *Request) {
			r.Limits.Strict = ptr(true)
			r.Host.MaxRlimits = map[string]int64{"nofile": 4096}
		}, "profiles.yaml:10:13: nofile is 65536, but the engine may give at most 4096, and the profile is strict..."},
		{"no GPU", func(r *Request) { r.Limits.GPUs = &GPULimit{Count: 1}; r.Origin["gpus"] = "flag --gpus" },
			"flag --gpus: gpus is 1, but the engine's host has none that its engine can give: install the GPU's driver..."},
		{"too many GPUs", func(r *Request) {
			r.Limits.GPUs = &GPULimit{Count: 2}
			r.Host.GPUDriver, r.Host.GPUDevices = "cdi", []string{"nvidia.com/gpu=0", "nvidia.com/gpu=GPU-a", "nvidia.com/gpu=all"}
		}, "gpus is 2, but the engine's host has 1: ask for at most that (--gpus 1)"},
		{"GPU that is not there", func(r *Request) {
			r.Limits.GPUs = &GPULimit{IDs: []string{"1"}}
			r.Host.GPUDriver, r.Host.GPUDevices = "cdi", []string{"nvidia.com/gpu=0"}
		}, `GPU "1" is not on the engine's host, which has 0: name some of these, or a number of GPUs`},
		{"too many of AMD's GPUs", func(r *Request) {
			r.Limits.GPUs, r.Host.GPUDriver, r.Host.AMD = &GPULimit{Count: 3}, DriverAMD, twoOfAMD()
		}, "gpus is 3, but the engine's host has 2: ask for at most that (--gpus 2)"},
		{"one of AMD's that is not there", func(r *Request) {
			r.Limits.GPUs, r.Host.GPUDriver, r.Host.AMD = &GPULimit{IDs: []string{"2"}}, DriverAMD, twoOfAMD()
		}, `GPU "2" is not on the engine's host, which has 0, 1: name some of these, or a number of GPUs`},
		{"GPUs of Podman", func(r *Request) { r.Limits.GPUs, r.Host.Podman = &GPULimit{Count: 1}, true }, "gpus is set, and Podman's service for Docker's clients starts a run without the NVIDIA GPUs..."},
		{"network", func(r *Request) { r.Limits.Network = ptr("bridge") }, `network is "bridge": allowed are none, default and host`},
		{"port without network", func(r *Request) { r.Limits.Network = ptr(NetworkNone); r.Ports = []Port{{Container: 80}} },
			"network is none, where ports cannot be published: leave out -p, or use --network default"},
		{"port", func(r *Request) { r.Ports = []Port{{Host: 70000, Container: 80}} }, "port 70000:80 is outside 1 to 65535"},
		{"shm", func(r *Request) { r.Limits.ShmSize = ptr(int64(0)) }, "profiles.yaml:8:15: shm_size is 0 bytes: allowed are 1 and more (1g)"},
		{"no scratch root", func(r *Request) { r.Limits.TmpDir.Kind = Disk }, "tmpdir is on disk, but this machine has no scratch root..."},
		{"tmpdir kind", func(r *Request) { r.Limits.TmpDir.Kind = "ram" }, `tmpdir.kind is "ram": allowed are tmpfs and disk`},
		{"two mounts", func(r *Request) { r.Mounts = []Mount{{Source: "/x", Target: "/tmp", Origin: "config.yaml:1:7"}} }, "config.yaml:1:7: /tmp is the place of the run's tmpdir: mount /x elsewhere (-v /x:/mnt/NAME)"},
		{"two mounts of the user's", func(r *Request) { r.Mounts = []Mount{{Source: "/x", Target: "/y"}, {Source: "/z", Target: "/y"}} }, "two mounts on /y, of /x and of /z: leave one out"},
		{"the project again", func(r *Request) { r.Mounts = []Mount{{Source: r.Project, Target: r.Project, Origin: "flag --data"}} }, "flag --data: /home/ada/work is the project, which the run has there already: leave it out"},
		{"one host port twice", func(r *Request) { r.Ports = []Port{{Host: 80, Container: 80}, {Host: 80, Container: 81}} }, "port 80 of 127.0.0.1 is published twice, for 80 and for 81: name another one (-p 81:81)"},
		{"one port on all addresses", func(r *Request) {
			r.Ports = []Port{{Host: 80, Container: 80}, {HostIP: "0.0.0.0", Host: 80, Container: 80}}
		}, "port 80 of 127.0.0.1 is published twice: leave one out"},
		{"one port on all addresses of IPv6", func(r *Request) {
			r.Ports = []Port{{HostIP: "::", Host: 80, Container: 80}, {HostIP: "::1", Host: 80, Container: 80}}
		}, "port 80 of :: is published twice: leave one out"},
		{"mount", func(r *Request) { r.Mounts = []Mount{{Source: "data", Target: "/data"}} }, `mount "data" on "/data": both are absolute paths...`},
		{"mount on /", func(r *Request) { r.Mounts = []Mount{{Source: "/data", Target: "/"}} }, `mount "/data" on "/": both are absolute paths...`},
		{"mount on the image", func(r *Request) { r.Mounts = []Mount{{Source: "/x", Target: "/opt/conda", Origin: "flag -v"}} }, `flag -v: mount "/x" on "/opt/conda": it would hide what the image...`},
		{"mount below crun's folder", func(r *Request) { r.Mounts = []Mount{{Source: "/x", Target: "/.crun/init"}} }, `mount "/x" on "/.crun/init": it would hide...`},
		{"read-only, remote", func(r *Request) { r.ReadOnly, r.Host.Remote = true, true }, "--read-only needs an engine on this machine..."},
		{"read-only, no tmpdir", func(r *Request) { r.ReadOnly, r.Limits.TmpDir = true, nil }, "--read-only leaves no place for temporary files: add one with --tmpdir SIZE"},
		{"threads", func(r *Request) { r.Limits.Threads = &Threads{} }, "profiles.yaml:11:14: threads is 0: allowed are auto, and 1 and more"},
		{"gpu variable", func(r *Request) { r.Env = []EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}} },
			"flag --env: NVIDIA_VISIBLE_DEVICES is crun's to set, from gpus: ask for GPUs with --gpus"},
		{"gpu variable of the caller", func(r *Request) { r.Env = []EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", FromHost: true}} },
			"flag --env: NVIDIA_VISIBLE_DEVICES is crun's to set..."},
		{"variable", func(r *Request) { r.Env = []EnvVar{{Name: "A=B"}} }, `flag --env: "A=B" is no name of a variable...`},
		{"NUL", func(r *Request) { r.Env = []EnvVar{{Name: "A", Value: "x\x00"}} }, "flag --env: the value of A has a NUL byte in it..."},
		{"time limit", func(r *Request) { r.Limits.TimeLimit = ptr(time.Duration(0)) }, "time_limit is 0s: it has to be longer than nothing"},
		{"no command", func(r *Request) { r.Command = nil }, "no command: name a script or a command to run"},
		{"empty command", func(r *Request) { r.Command = []string{""} }, "the command is an empty word: name a script or a command to run"},
		{"architecture", func(r *Request) { r.Image.Arch = "arm64" },
			"image crun/demo:0123456789ab is made for arm64 and the engine's host is amd64: build it there, or use another image"},
		{"name", func(r *Request) { r.Name = "Otter" }, `run name "Otter" has 'O' in it...`},
		{"id", func(r *Request) { r.ID = "x" }, `run id "x" is not 12 base32 digits`},
		{"project", func(r *Request) { r.Project = "work/../x" }, `project "work/../x" is not an absolute path without . and .. in it...`},
		{"two at once", func(r *Request) { r.Name = ""; r.Limits.CPUs.Value = 99e9 },
			"run name is empty: a name is 1 to 63 of a-z, 0-9 and '-', and begins and ends with a letter or digit\nprofiles.yaml:6:11: cpus is 99, but the engine's host has 16: ask for at most that (--cpus 16)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := small()
			test.change(&r)
			p, _, err := Make(r)
			if err == nil {
				t.Fatal("no error")
			}
			want, part := strings.CutSuffix(test.want, "...")
			if got := err.Error(); got != want && (!part || !strings.HasPrefix(got, want)) {
				t.Errorf("error\n%s\nwant\n%s", got, test.want)
			}
			if p != nil {
				t.Error("there is a plan in spite of the error")
			}
		})
	}
}

// A remote engine must be able to run the profiles that want /tmp on disk.
func TestTmpdirOnDiskOfARemoteEngine(t *testing.T) {
	r := small()
	r.Limits.TmpDir.Kind = Disk
	r.Host.Remote = true
	p, warnings, err := Make(r)
	if err != nil {
		t.Fatal(err)
	}
	if p.Scratch != "" {
		t.Errorf("scratch is %q, a folder of this machine", p.Scratch)
	}
	for _, m := range p.Spec.Mounts {
		if m.Destination == TmpPath {
			t.Errorf("mount %v on %s", m, TmpPath)
		}
	}
	if dir, _ := p.Getenv("TMPDIR"); dir != TmpPath {
		t.Errorf("TMPDIR is %q", dir)
	}
	if !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, "/tmp is part of the container there") }) {
		t.Errorf("no warning among %q", warnings)
	}
}
