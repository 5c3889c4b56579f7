package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// threadVars are what the numeric libraries read their number of threads from,
// all of them once, when they are loaded: OpenMP (torch's intra-op pool too),
// MKL, OpenBLAS, numexpr (the number and what it may be raised to), Accelerate,
// BLIS, Rust's rayon (tokenizers, polars), and Python 3.13 and later for
// os.cpu_count.
var threadVars = []string{
	"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
	"NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS", "VECLIB_MAXIMUM_THREADS",
	"BLIS_NUM_THREADS", "RAYON_NUM_THREADS", cpuCountVar,
}

// ThreadVars are the names of the variables that hold threads in a run.
func ThreadVars() []string { return slices.Clone(threadVars) }

// WorkersVar names the hint for a DataLoader's num_workers: min(4, cores),
// since more only helps where a worker is slower than four steps.
const WorkersVar = "CRUN_WORKERS"

const maxWorkers = 4

// TokenizersVar turns the threads of Hugging Face's tokenizers off ("false").
const TokenizersVar = "TOKENIZERS_PARALLELISM"

// cpuCountVar is os.cpu_count of Python 3.13 and later, which programs size
// their pools of processes by: the cores, whatever threads says.
const cpuCountVar = "PYTHON_CPU_COUNT"

// GPUVar names what the nvidia runtime reads which GPUs to show from. It is
// crun's: by -e it would give GPUs that nobody asked for.
const GPUVar = "NVIDIA_VISIBLE_DEVICES"

// environment puts the variables together. Far to near: the image's, crun's
// own, the profile's, the command line's. Those for threads and for Python are
// defaults: the image's value is kept, and said.
func (m *maker) environment() {
	m.env = map[string]string{}
	m.secrets = map[string]bool{}
	for _, entry := range m.req.Image.Env {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			m.setEnv(name, value, "image")
		}
	}

	account := m.plan.Account
	if account.Home != "" {
		m.setEnv("HOME", account.Home, "crun")
	}
	if account.User != "" {
		m.setEnv("USER", account.User, "crun")
		m.setEnv("LOGNAME", account.User, "crun")
	}
	if m.req.Limits.TmpDir != nil {
		m.setEnv("TMPDIR", TmpPath, "tmpdir")
	}
	if m.plan.GPUs == nil || m.plan.GPUs.Driver != "nvidia" {
		// An nvidia default runtime reads this; the images of nvidia say "all".
		// By CDI the devices come another way.
		m.setEnv(GPUVar, "void", "gpus")
	}

	m.places()

	user := slices.Concat(m.req.Limits.Env, m.req.Env)
	m.defaults(user)
	m.hostEnv(user)
	for i, v := range user {
		origin := m.req.Origin["env."+v.Name]
		if origin == "" || i >= len(m.req.Limits.Env) {
			origin = "flag --env"
		}
		m.userEnv(v, origin)
	}

	for name, value := range m.env {
		m.plan.Spec.Process.Env = append(m.plan.Spec.Process.Env, name+"="+value)
	}
	slices.Sort(m.plan.Spec.Process.Env)
	for name := range m.secrets {
		m.plan.SecretEnv = append(m.plan.SecretEnv, name)
	}
	slices.Sort(m.plan.SecretEnv)
}

func (m *maker) setEnv(name, value, origin string) {
	m.env[name] = value
	m.origin["env."+name] = origin
}

// places points the caches of compilers and plots to the home, where they can
// be written and are there at the next run. What an image says of them is for
// its own user.
func (m *maker) places() {
	cache := TmpPath + "/.cache"
	if home := m.plan.Account.Home; home != "" && home != "/" {
		cache = home + "/.cache"
	}
	set := func(name, folder string) { m.setEnv(name, cache+folder, "home") }
	set("XDG_CACHE_HOME", "")
	set("MPLCONFIGDIR", "/matplotlib")
	set("NUMBA_CACHE_DIR", "/numba")
	set("TRITON_CACHE_DIR", "/triton")
	set("TORCHINDUCTOR_CACHE_DIR", "/torchinductor")
	// An extension is found by its name, the Python and the CUDA it was compiled
	// for, and not by its torch: what another image has left would crash.
	image := strings.TrimPrefix(cmp.Or(m.plan.Image.Lock, m.plan.Image.ID), "sha256:")
	set("TORCH_EXTENSIONS_DIR", "/torch_extensions/"+image[:min(12, len(image))])
}

// PassedOrigin begins the origin of a variable of the caller's that crun passes
// on by itself: a run without it is as good.
const PassedOrigin = "the caller, passed on by crun"

// hostEnv sets what the user, who comes after, does not.
func (m *maker) hostEnv(user []EnvVar) {
	for _, v := range m.req.HostEnv {
		if slices.ContainsFunc(user, func(u EnvVar) bool { return u.Name == v.Name }) {
			continue
		}
		if _, ok := m.env[v.Name]; ok && v.Weak {
			continue
		}
		m.userEnv(v.EnvVar, v.Origin)
	}
}

// userEnv sets a variable of the profile or of the command line.
func (m *maker) userEnv(v EnvVar, origin string) {
	switch {
	case v.Name == "" || strings.ContainsAny(v.Name, "=\x00"):
		m.errorf("%s: %q is no name of a variable: write NAME=VALUE, or NAME for the value that it has here", origin, v.Name)
		return
	case strings.ContainsRune(v.Value, 0):
		m.errorf("%s: the value of %s has a NUL byte in it: no variable can hold one", origin, v.Name)
		return
	case v.Name == GPUVar:
		m.errorf("%s: %s is crun's to set, from gpus: ask for GPUs with --gpus", origin, GPUVar)
		return
	}
	if v.FromHost {
		// The image's value must not stand in for a secret.
		delete(m.env, v.Name)
		m.secrets[v.Name] = true
		m.origin["env."+v.Name] = origin
		return
	}
	delete(m.secrets, v.Name)
	m.setEnv(v.Name, v.Value, origin)
}

// defaults sets what the image and the user have not set. user are the
// variables that come after.
func (m *maker) defaults(user []EnvVar) {
	given := func(name string) bool {
		return slices.ContainsFunc(user, func(v EnvVar) bool { return v.Name == name })
	}
	set := func(name, value, origin string) (kept string) {
		if given(name) {
			return ""
		}
		if old, ok := m.env[name]; ok {
			if old == value {
				return ""
			}
			return name + "=" + old
		}
		m.setEnv(name, value, origin)
		return ""
	}

	set("PYTHONUNBUFFERED", "1", "crun")
	set("PYTHONFAULTHANDLER", "1", "crun")

	if n := m.threads(); n > 0 {
		var kept []string
		for _, name := range threadVars {
			value := n
			if name == cpuCountVar && m.cores > 0 {
				value = max(1, m.cores/m.ranks)
			}
			if k := set(name, strconv.Itoa(value), "threads"); k != "" {
				kept = append(kept, k)
			}
		}
		if n == 1 {
			// With more, RAYON_NUM_THREADS bounds them, and the library itself
			// turns them off in a forked worker; "true" would forbid it that.
			set(TokenizersVar, "false", "threads")
		}
		if len(kept) > 0 {
			m.warnf("the image's own %s is kept, where threads says %d (change it with -e)", strings.Join(kept, ", "), n)
		}
	}
	if m.cores > 0 {
		set(WorkersVar, strconv.Itoa(min(maxWorkers, max(1, m.cores/m.ranks))), "cpus")
	}
	if m.plan.GPUs != nil && !given(allocVar) && !given(cudaAllocVar) &&
		m.env[allocVar] == "" && m.env[cudaAllocVar] == "" {
		m.setEnv(allocName(m.plan.Image.Torch), "max_split_size_mb:128", "gpus")
	}
}

// threads gives how many threads a library starts, or 0 for its own choice.
func (m *maker) threads() int {
	t := m.req.Limits.Threads
	switch {
	case t != nil && !t.Auto:
		if t.N < 1 {
			m.errorf("%sthreads is %d: allowed are auto, and 1 and more", m.at("threads"), t.N)
		}
		return t.N
	case m.cores == 0 && t == nil:
		return 0
	}
	n := m.cores
	if n == 0 {
		n = m.req.Host.CPUs
	} else if t == nil {
		m.origin["threads"] = "from cpus"
	}
	if m.ranks == 1 {
		return n
	}
	m.origin["threads"] = strings.TrimPrefix(m.origin["threads"]+fmt.Sprintf(", %d cores for %d ranks", n, m.ranks), ", ")
	return max(1, n/m.ranks)
}

const (
	cudaAllocVar = "PYTORCH_CUDA_ALLOC_CONF"
	allocVar     = "PYTORCH_ALLOC_CONF"
)

// allocName gives the variable that a version of PyTorch reads the settings of
// its CUDA allocator from. The newer name came with 2.9, whose CUDA allocator
// does not read it yet (pytorch/pytorch#183387); since 2.10 it reads both
// (#165135) and warns about the older one.
func allocName(torch string) string {
	major, rest, _ := strings.Cut(torch, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if err1 == nil && err2 == nil && (a > 2 || a == 2 && b >= 10) {
		return allocVar
	}
	return cudaAllocVar
}
