package build

import (
	"slices"
	"strings"

	"crun.dev/crun/build/lock"
	"crun.dev/crun/internal/cuda"
	"crun.dev/crun/internal/lazyregexp"
)

// torchBuild is what a lock's torch was built for.
type torchBuild struct {
	// Version is torch's: "2.8.0", "2.4.1+cu121".
	Version string
	// Of is pip, or the name of conda's channel.
	Of string
	// Pip tells whether pip brings it.
	Pip bool
	// CPU says that it runs on CPUs alone; ROCm that it is for AMD's GPUs.
	CPU, ROCm bool
	// CUDA is the version that it was built with, or zero: for CPUs, for
	// others' GPUs, or not known.
	CUDA cuda.Version
	// Build is conda's build string, or "".
	Build string
}

var (
	// buildCUDA finds the CUDA of a conda build: cuda126_mkl_py311h..._302 of
	// conda-forge, py3.9_cuda11.8_cudnn8.7.0_0 of the pytorch channel,
	// gpu_cuda118py39h..._101 of defaults.
	buildCUDA = lazyregexp.New(`cuda(\d+\.\d+|\d{2,3})(?:[^\d.]|\.\d|$)`)
	buildCPU  = lazyregexp.New(`(?:^|_)cpu(?:_|py|$)`)
)

// torchOf finds the torch of a lock; pip's counts, for it is installed over
// conda's. ok is false where there is none.
func torchOf(l *lock.Lock) (t torchBuild, ok bool) {
	if i := slices.IndexFunc(l.Pip, func(d lock.Distribution) bool { return d.Name == "torch" }); i >= 0 {
		return pipTorch(l, l.Pip[i]), true
	}
	i := slices.IndexFunc(l.Conda, func(p lock.Package) bool { return p.Name == "pytorch" })
	if i < 0 {
		return t, false
	}
	p := l.Conda[i]
	t = torchBuild{Version: p.Version, Of: p.Channel, Build: p.Build}
	if m := buildCUDA.FindStringSubmatch(p.Build); m != nil {
		t.CUDA, _ = cuda.ParseTag(m[1])
		return t, true
	}
	if t.CPU = buildCPU.MatchString(p.Build); !t.CPU {
		// Builds that do not say so in their name need its libraries.
		for _, name := range []string{"pytorch-cuda", "cudatoolkit", "cuda-version"} {
			if i := slices.IndexFunc(l.Conda, func(p lock.Package) bool { return p.Name == name }); i >= 0 && dependsOn(p, name) {
				t.CUDA, _ = cuda.ParseVersion(firstTwo(l.Conda[i].Version))
			}
		}
	}
	return t, true
}

func dependsOn(p lock.Package, name string) bool {
	return slices.ContainsFunc(p.Depends, func(d string) bool { return dependencyName.FindString(d) == name })
}

// pipTorch tells a wheel's kind by its local version, as torch's own index
// gives it ("+cpu", "+cu121"), or by the libraries of CUDA that come with it.
func pipTorch(l *lock.Lock, d lock.Distribution) torchBuild {
	t := torchBuild{Version: d.Version, Of: d.Index, Pip: true}
	text := d.Version
	if d.URL != "" {
		t.Of, text = d.URL, strings.ReplaceAll(d.URL, "%2B", "+")
		if t.Version == "" {
			t.Version = wheelVersion.FindString(text)
		}
	}
	_, local, _ := strings.Cut(text, "+")
	switch {
	case strings.HasPrefix(local, "cpu"):
		t.CPU = true
	case strings.HasPrefix(local, "rocm"):
		t.ROCm = true
	case strings.HasPrefix(local, "cu"):
		t.CUDA, _ = cuda.ParseTag(strings.TrimSuffix(wheelCUDA.FindString(local), "."))
	default:
		for _, name := range []string{"nvidia-cuda-runtime", "nvidia-cuda-runtime-cu13", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime-cu11"} {
			if i := slices.IndexFunc(l.Pip, func(d lock.Distribution) bool { return d.Name == name }); i >= 0 {
				t.CUDA, _ = cuda.ParseVersion(firstTwo(l.Pip[i].Version))
				return t
			}
		}
		switch {
		case cpuIndex.MatchString(d.Index):
			t.CPU = true
		case d.Index == pypi && l.Platform == "linux-64":
			t.CUDA = cuda.OnPyPI(d.Version)
		case d.Index == pypi && d.URL == "":
			t.CPU = true // no library of CUDA comes with it
		}
	}
	return t
}

var (
	wheelVersion = lazyregexp.New(`\d+\.\d+(?:\.\d+)?(?:\+[a-z0-9.]+)?`)
	wheelCUDA    = lazyregexp.New(`^cu\d+`)
	cpuIndex     = lazyregexp.New(`/whl(?:/nightly)?/cpu/?$`)
)

// firstTwo gives "12.8" of 12.8.90.
func firstTwo(version string) string {
	words := strings.SplitN(version, ".", 3)
	return strings.Join(words[:min(2, len(words))], ".")
}

// archs are the GPUs that it was compiled for, where that is known: for x86-64,
// of torch's makers and of conda-forge.
func (t torchBuild) archs(platform string) cuda.Archs {
	switch {
	case platform != "linux-64" || t.CUDA.IsZero():
		return ""
	case t.Of == "conda-forge":
		return cuda.OfCondaForge(t.CUDA)
	case t.Of == "pytorch" || t.Of == pypi || t.Pip && strings.Contains(t.Version, "+cu"):
		return cuda.OfWheel(t.Version, t.CUDA)
	}
	return ""
}

// kind is what it was built for, as LabelCUDA has it.
func (t torchBuild) kind() string {
	switch {
	case t.CPU:
		return CUDANone
	case !t.CUDA.IsZero():
		return t.CUDA.String()
	}
	return ""
}
