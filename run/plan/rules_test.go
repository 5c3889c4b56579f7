package plan

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func mustMake(t *testing.T, r Request) (*Plan, []string) {
	t.Helper()
	p, warnings, err := Make(r)
	if err != nil {
		t.Fatal(err)
	}
	return p, warnings
}

func TestThreads(t *testing.T) {
	for _, test := range []struct {
		name    string
		limits  Limits
		threads string
		workers string
	}{
		{"whole cpus", Limits{CPUs: &Amount{Value: 2e9}}, "2", "2"},
		{"part of one", Limits{CPUs: &Amount{Value: 2e8}}, "1", "1"},
		{"rounded up", Limits{CPUs: &Amount{Value: 2_000_000_001}}, "3", "3"},
		{"cpuset", Limits{CPUSet: ptr("0-2,5")}, "4", "4"},
		{"cpuset below cpus", Limits{CPUs: &Amount{Value: 8e9}, CPUSet: ptr("3")}, "1", "1"},
		{"cpus below cpuset", Limits{CPUs: &Amount{Value: 1e9}, CPUSet: ptr("0-7")}, "1", "1"},
		{"four workers at most", Limits{CPUs: &Amount{Value: 12e9}}, "12", "4"},
		{"share", Limits{CPUs: &Amount{Num: 1, Den: 3}}, "6", "4"},
		{"a number", Limits{CPUs: &Amount{Value: 2e9}, Threads: &Threads{N: 7}}, "7", "2"},
		{"nothing bounds them", Limits{}, "", ""},
		{"auto without cpus", Limits{Threads: &Threads{Auto: true}}, "16", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := small()
			r.Limits = test.limits
			p, _ := mustMake(t, r)
			for _, name := range threadVars {
				if name == cpuCountVar && test.name == "a number" {
					continue // the cores, whatever threads says: below
				}
				if got, _ := p.Getenv(name); got != test.threads {
					t.Errorf("%s is %q, want %q", name, got, test.threads)
				}
			}
			if got, _ := p.Getenv(WorkersVar); got != test.workers {
				t.Errorf("%s is %q, want %q", WorkersVar, got, test.workers)
			}
		})
	}
}

func TestThreadsOfRanks(t *testing.T) {
	for _, test := range []struct {
		command                string
		gpus                   int
		threads, workers, cpus string
	}{
		{"train.py --nproc_per_node 4", 0, "8", "4", "8"},
		{"torchrun train.py", 0, "8", "4", "8"},
		{"torchrun --nproc_per_node 4 train.py", 0, "2", "2", "2"},
		{"torchrun --standalone --nproc-per-node=4 train.py", 0, "2", "2", "2"},
		{"/opt/x/bin/torchrun --nproc_per_node=3 -m pkg.train", 0, "2", "2", "2"},
		{"torchrun train.py --nproc_per_node 4", 0, "8", "4", "8"},
		{"torchrun --nproc_per_node 64 train.py", 0, "1", "1", "1"},
		{"torchrun --nproc_per_node gpu train.py", 2, "4", "4", "4"},
		{"torchrun --nproc_per_node auto train.py", 2, "4", "4", "4"},
		{"torchrun --nproc_per_node auto train.py", 0, "1", "1", "1"},
		{"torchrun --nproc_per_node gpu train.py", 0, "8", "4", "8"},
		{"torchrun --nproc_per_node", 0, "8", "4", "8"},
		{"python -m torch.distributed.run --nproc_per_node 4 train.py", 0, "2", "2", "2"},
		{"python3 -u -m torch.distributed.launch --nproc_per_node=4 train.py", 0, "2", "2", "2"},
		{"python train.py -m torch.distributed.run --nproc_per_node 4", 0, "8", "4", "8"},
		{"python -m", 0, "8", "4", "8"},
	} {
		t.Run(test.command, func(t *testing.T) {
			r := small()
			r.Command = strings.Fields(test.command)
			r.Limits.CPUs.Value = 8e9
			if test.gpus > 0 {
				r.Limits.GPUs, r.Host.GPUDriver = &GPULimit{Count: test.gpus}, "nvidia"
			}
			p, _ := mustMake(t, r)
			want := map[string]string{"OMP_NUM_THREADS": test.threads, WorkersVar: test.workers, cpuCountVar: test.cpus, TokenizersVar: ""}
			if test.threads == "1" {
				want[TokenizersVar] = "false"
			}
			for name, value := range want {
				if got, _ := p.Getenv(name); got != value {
					t.Errorf("%s is %q, want %q", name, got, value)
				}
			}
		})
	}
	r := small()
	r.Limits.Threads = &Threads{N: 7}
	r.Command = []string{"torchrun", "--nproc_per_node=2", "train.py"}
	p, _ := mustMake(t, r)
	omp, _ := p.Getenv("OMP_NUM_THREADS")
	if p.Ranks != 2 {
		t.Errorf("%d ranks, want 2", p.Ranks)
	}
	if cpus, _ := p.Getenv(cpuCountVar); omp != "7" || cpus != "1" {
		t.Errorf("%s threads and %s cores, want 7, as was asked, and 1", omp, cpus)
	}
}

// Compilers' caches are in the home, whatever the image says, and extensions
// apart by image; the user's word counts, and weak values give way to the image.
func TestPlaces(t *testing.T) {
	r := small()
	r.Image.Env = append(r.Image.Env, "NUMBA_CACHE_DIR=/root/numba", "HF_HOME=/models", "WANDB_MODE=image")
	r.Env = []EnvVar{{Name: "TRITON_CACHE_DIR", Value: "/mine"}, {Name: "TZ", Value: "UTC"}}
	r.HostEnv = []HostVar{
		{EnvVar: EnvVar{Name: "HF_HOME", Value: "/home/ada/.cache/huggingface"}, Weak: true, Origin: "cache"},
		{EnvVar: EnvVar{Name: "TORCH_HOME", Value: "/home/ada/.cache/torch"}, Weak: true, Origin: "cache"},
		{EnvVar: EnvVar{Name: "TZ", Value: "Asia/Kathmandu"}, Weak: true, Origin: "zone"},
		{EnvVar: EnvVar{Name: "WANDB_MODE", FromHost: true}, Origin: "caller"},
	}
	p, _ := mustMake(t, r)
	home := r.HomeDir
	for name, want := range map[string]string{
		"XDG_CACHE_HOME": home + "/.cache", "NUMBA_CACHE_DIR": home + "/.cache/numba", "TRITON_CACHE_DIR": "/mine",
		"TORCH_EXTENSIONS_DIR": home + "/.cache/torch_extensions/beef", "HF_HOME": "/models", "TORCH_HOME": "/home/ada/.cache/torch",
		"TZ": "UTC", "WANDB_MODE": "",
	} {
		if got, _ := p.Getenv(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !slices.Equal(p.SecretEnv, []string{"WANDB_MODE"}) || p.Origin["env.WANDB_MODE"] != "caller" {
		t.Errorf("secrets %v, from %q", p.SecretEnv, p.Origin["env.WANDB_MODE"])
	}
}

func TestHomeOfARemoteEngine(t *testing.T) {
	r := small()
	r.Host.Remote = true
	p, warnings := mustMake(t, r)
	if home, _ := p.Getenv("HOME"); home != "/tmp/home" || !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, "HOME is /tmp/home there") }) {
		t.Errorf("HOME is %q, with %q", home, warnings)
	}
	for _, m := range p.Spec.Mounts {
		if m.Source == r.HomeDir {
			t.Errorf("%s is mounted", m.Source)
		}
	}
}

// Of what is lowered the plan keeps what was asked.
func TestAsked(t *testing.T) {
	r := small()
	r.Host.MaxRlimits = map[string]int64{"nofile": 4096}
	p, _ := mustMake(t, r)
	if p.Asked["nofile"] != "65536" || len(p.Asked) != 1 {
		t.Errorf("%v", p.Asked)
	}
}

func TestKeptThreadsAreShown(t *testing.T) {
	r := small()
	r.Image.Env = append(r.Image.Env, "OMP_NUM_THREADS=8")
	r.Env = []EnvVar{{Name: "MKL_NUM_THREADS", Value: "3"}}
	p, _ := mustMake(t, r)
	i := slices.IndexFunc(Describe(p), func(row Row) bool { return row.Field == "threads" })
	if i < 0 || Describe(p)[i].Value != "2, but OMP_NUM_THREADS=8, MKL_NUM_THREADS=3 kept" {
		t.Errorf("row %d of %v", i, Describe(p))
	}
}

func TestEnvironment(t *testing.T) {
	r := small()
	r.Image.Env = append(r.Image.Env, "OMP_NUM_THREADS=8", "HF_TOKEN=image", "HOME=/image", "TMPDIR=/var/tmp", "MKL_NUM_THREADS=2", "broken")
	r.Limits.Env = []EnvVar{{Name: "A", Value: "profile"}, {Name: "B", Value: "profile"}, {Name: "C", FromHost: true}}
	r.Origin["env.B"] = "profiles.yaml:40:7"
	r.Env = []EnvVar{{Name: "A", Value: "flag"}, {Name: "HF_TOKEN", FromHost: true}, {Name: "C", Value: "literal"}, {Name: "BLIS_NUM_THREADS", FromHost: true}}
	p, warnings := mustMake(t, r)
	for name, want := range map[string]string{
		"A": "flag", "B": "profile", "C": "literal", "OMP_NUM_THREADS": "8", "MKL_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2",
		"HOME": r.HomeDir, "TMPDIR": "/tmp", "USER": "ada", "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1",
		"NVIDIA_VISIBLE_DEVICES": "void", "HF_TOKEN": "", "BLIS_NUM_THREADS": "", cudaAllocVar: "", allocVar: "",
	} {
		if got, _ := p.Getenv(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"env.A": "flag --env", "env.B": "profiles.yaml:40:7", "env.OMP_NUM_THREADS": "image", "env.OPENBLAS_NUM_THREADS": "threads", "env.CONDA_PREFIX": "image",
	} {
		if got := p.Origin[name]; got != want {
			t.Errorf("origin of %s is %q, want %q", name, got, want)
		}
	}
	if want := []string{"BLIS_NUM_THREADS", "HF_TOKEN"}; !slices.Equal(p.SecretEnv, want) {
		t.Errorf("secrets %v, want %v", p.SecretEnv, want)
	}
	if !slices.IsSorted(p.Spec.Process.Env) {
		t.Errorf("not sorted: %v", p.Spec.Process.Env)
	}
	if want := []string{"the image's own OMP_NUM_THREADS=8 is kept, where threads says 2 (change it with -e)"}; !slices.Equal(warnings, want) {
		t.Errorf("warnings %q, want %q", warnings, want)
	}
}

func TestAllocatorSettings(t *testing.T) {
	for torch, want := range map[string]string{
		"": cudaAllocVar, "1.13.1": cudaAllocVar, "2.5.1": cudaAllocVar, "2.9.1": cudaAllocVar, "2.9.1+cu128": cudaAllocVar, "x.y": cudaAllocVar,
		"2.10.0": allocVar, "2.11.0a0+git": allocVar, "3.0": allocVar,
	} {
		r := small()
		r.Limits.GPUs, r.Host.GPUDriver, r.Image.Torch = &GPULimit{All: true}, "nvidia", torch
		p, _ := mustMake(t, r)
		for _, name := range []string{cudaAllocVar, allocVar} {
			got, ok := p.Getenv(name)
			if ok != (name == want) || ok && got != "max_split_size_mb:128" {
				t.Errorf("torch %q: %s is %q", torch, name, got)
			}
		}
		// The engine sets it, to the GPUs that were asked for.
		if got, ok := p.Getenv(GPUVar); ok {
			t.Errorf("%s is %q", GPUVar, got)
		}
		r.Env = []EnvVar{{Name: allocVar, Value: "expandable_segments:True"}}
		p, _ = mustMake(t, r)
		if _, ok := p.Getenv(cudaAllocVar); ok {
			t.Errorf("torch %q: both names are set", torch)
		}
	}
}

func TestWarnings(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Request)
		want   string
	}{
		{"none", func(*Request) {}, ""},
		{"no swap to limit", func(r *Request) { r.Host.SwapLimit = false }, "the engine's host cannot limit swap"},
		{"swap allowed", func(r *Request) { r.Host.SwapLimit, r.Host.Swap, r.Limits.MemorySwap = false, 1, ptr(int64(-1)) }, ""},
		{"wish", func(r *Request) { r.Host.MaxRlimits = map[string]int64{"nofile": 4096} }, "nofile is 4096, lowered from 65536: the engine may not give more"},
		{"wish that can be had", func(r *Request) { r.Host.MaxRlimits = map[string]int64{"nofile": 65536} }, ""},
		{"unlimited wish", func(r *Request) {
			r.Limits.MemLock, r.Host.MaxRlimits = ptr(int64(-1)), map[string]int64{"memlock": 8 << 20}
		}, "memlock is 8 MiB, lowered from unlimited"},
		{"signal for no limit", func(r *Request) {
			r.Limits.Memory, r.Limits.SignalBeforeKill = nil, &SignalShares{Memory: 90, Time: 90}
		}, "signal_before_kill asks for a share of a limit that the run has not"},
		{"half of a share of memory", func(r *Request) { r.Limits.Memory, r.Limits.ShmSize = &Amount{Num: 1, Den: 16}, ptr(int64(2<<30)) },
			"/dev/shm (2 GiB) and /tmp (1 GiB) count as memory and may take more than half of its 4 GiB"},
		{"half of memory, which the profile's check says", func(r *Request) { r.Limits.ShmSize = ptr(int64(2 << 30)) }, ""},
		{"swap that nobody knows of", func(r *Request) { r.Host.SwapLimit, r.Host.Swap = false, -1 }, "the engine's host cannot limit swap, and whether it has any is seen only once the run starts"},
		{"cpuset and a share", func(r *Request) { r.Limits.CPUSet, r.Limits.CPUs = ptr("1"), &Amount{Num: 1, Den: 8} }, "cpus is 2, but cpuset 1 has 1"},
		{"remote", func(r *Request) { r.Host.Remote, r.Host.Name, r.HomeDir, r.Account.Home = true, "ssh://big", "", "" },
			"/home/ada/work is mounted from the host of ssh://big, which is another machine"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := small()
			test.change(&r)
			_, warnings := mustMake(t, r)
			if got := strings.Join(warnings, "\n"); !strings.HasPrefix(got, test.want) || (test.want == "") != (got == "") || len(warnings) > 1 {
				t.Errorf("warnings %q, want %q", got, test.want)
			}
		})
	}
}

func TestSignalBeforeKill(t *testing.T) {
	r := small()
	r.Limits.SignalBeforeKill, r.Limits.TimeLimit = &SignalShares{Memory: 90, Time: 95}, ptr(100*time.Minute)
	p, _ := mustMake(t, r)
	if want := (EarlySignal{Signal: "SIGUSR1", Memory: (4 << 30) / 100 * 90, Time: Duration(95 * time.Minute)}); p.SignalBeforeKill == nil || *p.SignalBeforeKill != want {
		t.Errorf("%+v, want %+v", p.SignalBeforeKill, want)
	}
	r.Limits.SignalBeforeKill = &SignalShares{Signal: "SIGUSR2"}
	if p, _ = mustMake(t, r); p.SignalBeforeKill != nil {
		t.Errorf("%+v where no share is asked for", p.SignalBeforeKill)
	}
}

func TestSwap(t *testing.T) {
	swap := func(change func(*Request)) *int64 {
		r := small()
		change(&r)
		p, _ := mustMake(t, r)
		return p.Spec.Linux.Resources.Memory.Swap
	}
	if got := swap(func(*Request) {}); got == nil || *got != 4<<30 {
		t.Errorf("swap is not closed: %v", got)
	}
	if got := swap(func(r *Request) { r.Limits.MemorySwap = ptr(int64(6 << 30)) }); *got != 6<<30 {
		t.Errorf("swap is %v", *got)
	}
	if got := swap(func(r *Request) { r.Host.SwapLimit = false }); got != nil {
		t.Errorf("swap is asked for where it cannot be limited: %v", *got)
	}
}

func TestCommandAndFolder(t *testing.T) {
	for _, test := range []struct {
		name         string
		project, dir string
		entrypoint   []string
		command      []string
		args, cwd    string
	}{
		{"script", "/p", "/p", nil, []string{"a.py", "-x"}, "python a.py -x", "/p"},
		{"script that looks like an option", "/p", "/p", nil, []string{"-c.py", "-x"}, "python ./-c.py -x", "/p"},
		{"script in a folder below", "/p", "/p/sub", nil, []string{"../a.py"}, "python ../a.py", "/p/sub"},
		{"script from elsewhere", "/p", "/home", nil, []string{"../p/a.py", "b.py"}, "python /p/a.py b.py", "/p"},
		{"absolute", "/p", "/home", nil, []string{"/p/a.py"}, "python /p/a.py", "/p"},
		{"a sibling is not below", "/p", "/p2", nil, []string{"./run.sh"}, "/p2/run.sh", "/p"},
		{"command", "/p", "/p", nil, []string{"torchrun", "a.py"}, "torchrun a.py", "/p"},
		{"entrypoint", "/p", "/p", []string{"/entry"}, []string{"a.py"}, "/entry python a.py", "/p"},
		{"entrypoint alone", "/p", "/p", []string{"/entry"}, nil, "/entry", "/p"},
		{"no project", "", "/home", nil, []string{"true"}, "true", "/work"},
		{"root as project", "/", "/home", nil, []string{"true"}, "true", "/home"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := small()
			r.Project, r.Dir, r.Command = test.project, test.dir, test.command
			r.Image.Entrypoint, r.Image.WorkingDir = test.entrypoint, "/work"
			if test.project == "/" { // refused as a mount; the rule is below's
				if !below(test.dir, "/") {
					t.Error("nothing is below /")
				}
				return
			}
			p, _ := mustMake(t, r)
			if got := strings.Join(p.Spec.Process.Args, " "); got != test.args {
				t.Errorf("args %q, want %q", got, test.args)
			}
			if p.Spec.Process.Cwd != test.cwd {
				t.Errorf("folder %q, want %q", p.Spec.Process.Cwd, test.cwd)
			}
		})
	}
}

func TestRootlessRunsAsRootInside(t *testing.T) {
	r := small()
	r.Host.Rootless = true
	p, _ := mustMake(t, r)
	if u := p.Spec.Process.User; u.UID != 0 || u.GID != 0 || len(u.AdditionalGids) != 0 {
		t.Errorf("user %+v", u)
	}
	if p.Spec.Annotations["dev.crun.uid"] != "1000" {
		t.Errorf("labels %v", p.Spec.Annotations)
	}
}

// What asks for nothing that the engine cannot hold starts there.
func TestNothingToHold(t *testing.T) {
	r := small()
	r.Limits.Memory, r.Limits.CPUs, r.Limits.Pids = nil, nil, ptr(int64(Unlimited))
	r.Host.Rootless, r.Host.CgroupVersion, r.Host.CannotLimit = true, 1, []string{"memory", "cpus", "cpuset", "pids"}
	if p, _ := mustMake(t, r); !p.Uncounted {
		t.Error("what the groups around the run count would be taken for its own")
	}
}

func TestMountsFromTheRootDown(t *testing.T) {
	r := small()
	r.Project, r.Dir = "/tmp/x/project", "/tmp/x/project"
	p, _ := mustMake(t, r)
	var order []string
	for _, m := range p.Spec.Mounts {
		order = append(order, m.Destination)
	}
	want := []string{"/tmp", "/dev/shm", "/var/tmp", "/tmp/x/project", "/home/ada/.cache/crun/home"}
	if !slices.Equal(order, want) {
		t.Errorf("mounts %v, want %v", order, want)
	}
}

func TestSummary(t *testing.T) {
	r := small()
	p, _ := mustMake(t, r)
	if got, want := Summary(p), "small: 4 GiB memory, 2 cpus, 1 GiB shm, 1 GiB tmp"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Host.GPUDriver = "nvidia"
	for want, gpus := range map[string]GPULimit{"1 GPU": {Count: 1}, "2 GPUs": {Count: 2}, "all GPUs": {All: true}, "GPU 0,3": {IDs: []string{"0", "3"}}} {
		r.Limits.GPUs, r.Limits.TimeLimit = &gpus, ptr(90*time.Minute)
		p, _ := mustMake(t, r)
		if got := Summary(p); !strings.HasSuffix(got, ", "+want+", 1h30m") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func twoOfAMD() *AMD {
	return &AMD{Shared: "/dev/kfd", GPUs: []string{"/dev/dri/renderD128", "/dev/dri/renderD129"}, Groups: []uint32{44, 105}}
}

// TestPortsOfBothFamilies publishes a port for IPv4 and for IPv6, and on two
// addresses of one.
func TestPortsOfBothFamilies(t *testing.T) {
	for _, addresses := range [][]string{
		{"0.0.0.0", "::"}, {"::", "0.0.0.0"}, {"0.0.0.0", "::1"}, {"127.0.0.1", "::"}, {"127.0.0.1", "::1"}, {"127.0.0.1", "127.0.0.2"},
	} {
		r := small()
		for _, address := range addresses {
			r.Ports = append(r.Ports, Port{HostIP: address, Host: 8080, Container: 8080})
		}
		if p, _, err := Make(r); err != nil || len(p.Ports) != 2 {
			t.Errorf("%v: %v", addresses, err)
		}
	}
}

// A run gets the render nodes of its own GPUs, and the groups that may open them.
func TestFilesOfAMD(t *testing.T) {
	for want, limit := range map[string]GPULimit{
		"/dev/kfd /dev/dri/renderD128":                     {Count: 1},
		"/dev/kfd /dev/dri/renderD128 /dev/dri/renderD129": {All: true},
		"/dev/kfd /dev/dri/renderD129":                     {IDs: []string{"1"}},
	} {
		r := small()
		r.Limits.GPUs, r.Host.GPUDriver, r.Host.AMD = &limit, DriverAMD, twoOfAMD()
		p, _ := mustMake(t, r)
		if got := strings.Join(p.GPUs.Devices, " "); got != want {
			t.Errorf("%s: %s, want %s", p.GPUs, got, want)
		}
		// 44 is the caller's own already.
		if got := p.Spec.Process.User.AdditionalGids; !slices.Equal(got, []uint32{44, 105}) {
			t.Errorf("groups %v", got)
		}
		if got, _ := p.Getenv(GPUVar); got != "void" {
			t.Errorf("%s is %q", GPUVar, got)
		}
		r.Host.Rootless = true
		if p, _ := mustMake(t, r); len(p.GPUs.Groups)+len(p.Spec.Process.User.AdditionalGids) != 0 {
			t.Errorf("groups below a rootless engine: %+v", p.Spec.Process.User)
		}
	}
}

func TestGPUKind(t *testing.T) {
	for want, devices := range map[string][]string{"": {"x.com/y=0"}, "amd.com/gpu": {"amd.com/gpu=0"}, "nvidia.com/gpu": {"amd.com/gpu=0", "nvidia.com/gpu=all"}} {
		if got := GPUKind(devices); got != want {
			t.Errorf("%v: %q", devices, got)
		}
	}
}
