package build

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
	"crun.dev/crun/internal/lazyregexp"
)

// compiledKind is a pip package that is compiled against torch.
type compiledKind struct {
	// nvcc tells that it needs CUDA's compiler where torch is one for CUDA.
	nvcc bool
	// long says how long it takes, where that is long.
	long string
}

// compiledPackages are those whose releases on PyPI, or whose repositories,
// are source that imports torch to be built. Others are found when their
// isolated build lacks torch.
var compiledPackages = map[string]compiledKind{
	"flash-attn":         {nvcc: true, long: "hours on few CPUs (its authors reckon with 3 to 5 minutes on 64)"},
	"apex":               {nvcc: true, long: "half an hour"},
	"detectron2":         {nvcc: true, long: "minutes"},
	"mmcv":               {nvcc: true, long: "half an hour"},
	"mmcv-full":          {nvcc: true, long: "half an hour"},
	"torch-scatter":      {nvcc: true, long: "minutes"},
	"torch-sparse":       {nvcc: true, long: "minutes"},
	"torch-cluster":      {nvcc: true, long: "minutes"},
	"torch-spline-conv":  {nvcc: true, long: "minutes"},
	"pyg-lib":            {nvcc: true, long: "minutes"},
	"pytorch3d":          {nvcc: true, long: "half an hour"},
	"xformers":           {nvcc: true, long: "an hour or more"},
	"causal-conv1d":      {nvcc: true, long: "minutes"},
	"mamba-ssm":          {nvcc: true, long: "an hour or more"},
	"natten":             {nvcc: true, long: "half an hour"},
	"transformer-engine": {nvcc: true, long: "half an hour"},
	"deepspeed":          {},
}

// buildNeeds are what "import torch" and the usual setup.py need, where pip
// brings it (dockerfiles/installer/compiled.py has the same).
var buildNeeds = []string{
	"filelock", "typing-extensions", "sympy", "mpmath", "networkx", "jinja2", "markupsafe", "fsspec", "numpy", "torch",
	"setuptools", "wheel", "packaging", "ninja", "psutil", "pybind11", "cython", "einops",
}

// splitCompiled takes those that are compiled out of packages.
func splitCompiled(packages []lock.Distribution) (compiled, rest []lock.Distribution) {
	for _, d := range packages {
		if d.Against != "" {
			compiled = append(compiled, d)
		} else {
			rest = append(rest, d)
		}
	}
	return compiled, rest
}

// asksForCompiled tells whether the file names a package of the table.
func asksForCompiled(env *environment.Environment) bool {
	for _, section := range env.Pip {
		for _, r := range section.Requirements {
			if _, known := compiledPackages[r.Name]; known {
				return true
			}
		}
	}
	return false
}

// compiledList is what the stage that compiles makes wheels of, and what the
// layer behind it installs.
type compiledList struct {
	Prefix  string   `json:"prefix"`
	Indexes []string `json:"indexes"`
	Options []string `json:"options"`
	// Identity is all that decides about a wheel beside the package itself.
	Identity []string `json:"identity"`
	// Needs are packages without which none is built.
	Needs     []distribution `json:"needs,omitempty"`
	Toolchain *condaList     `json:"toolchain,omitempty"`
	Packages  []distribution `json:"packages"`
}

// compiledLayer is the layer of compiled packages; rest are the pip packages
// that are not installed by then.
func (p *Project) compiledLayer(l *lock.Lock, compiled, rest []lock.Distribution) dockerfiles.Layer {
	options := pipOptionsOf(p.Environment)
	list := compiledList{
		Prefix: p.Environment.EnvDir(), Indexes: options.indexes, Options: options.other,
		Identity: []string{l.Platform, "python " + l.Python, strings.TrimSpace(from(l.Base) + " " + l.Base.ImageID)},
	}
	for _, pkg := range l.Conda {
		if pkg.Name == "pytorch" || pkg.Name == "libtorch" || pkg.Name == "numpy" || slices.Contains(condaCompilers, pkg.Name) {
			list.Identity = append(list.Identity, pkg.File+" "+pkg.SHA256+pkg.MD5)
		}
	}
	for _, d := range l.Pip {
		if d.Name == "torch" || d.Name == "numpy" {
			list.Identity = append(list.Identity, strings.Join(append([]string{d.Name, d.Version, d.URL}, d.Hashes...), " "))
		}
	}
	for _, d := range l.Apt {
		if slices.Contains(compilerPackages, d.Name) {
			list.Identity = append(list.Identity, d.Name+" "+d.Version)
		}
	}
	for _, d := range rest {
		if slices.Contains(buildNeeds, d.Name) {
			list.Needs = append(list.Needs, distribution(d))
		}
	}
	if len(l.Toolchain) > 0 {
		toolchain := newCondaList(toolchainRoot, l.Platform, l.Toolchain)
		list.Toolchain = &toolchain
		for _, pkg := range l.Toolchain {
			list.Identity = append(list.Identity, pkg.File)
		}
	}
	for _, d := range compiled {
		list.Packages = append(list.Packages, distribution(d))
	}
	// A lock that has just been made has the solver's order, one that was read
	// its own.
	slices.Sort(list.Identity)
	byName := func(a, b distribution) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(list.Needs, byName)
	slices.SortFunc(list.Packages, byName)
	return dockerfiles.Layer{
		Kind: dockerfiles.KindWheels, Title: "install the compiled pip packages", File: "compiled.json", Content: encode(list),
	}
}

// toolchainRoot is where CUDA's compiler lies in the stage that compiles.
const toolchainRoot = "/opt/crun-cuda"

var (
	cudaBuild   = lazyregexp.New(`cuda_?(\d{2})\.?(\d)`)
	cudaVersion = lazyregexp.New(`\+cu(\d{2})(\d)`)
)

// cudaOf is the CUDA that the torch of l is built with ("12.4"), or "".
func cudaOf(l *lock.Lock) string {
	for _, d := range l.Pip {
		if m := cudaVersion.FindStringSubmatch(d.Version); d.Name == "torch" && m != nil {
			return m[1] + "." + m[2]
		}
	}
	for _, d := range l.Pip {
		if strings.HasPrefix(d.Name, "nvidia-cuda-runtime") {
			parts := strings.SplitN(d.Version, ".", 3)
			return strings.Join(parts[:min(2, len(parts))], ".")
		}
	}
	for _, pkg := range l.Conda {
		if m := cudaBuild.FindStringSubmatch(pkg.Build); pkg.Name == "pytorch" && m != nil {
			return m[1] + "." + m[2]
		}
	}
	return ""
}

// addToolchain puts what the compiled packages of l need into it: CUDA's
// compiler, where torch is one for CUDA and the base has none. look gives what
// the base has.
func (b *builder) addToolchain(ctx context.Context, l *lock.Lock, k kept, look func() (baseFacts, error)) error {
	p := b.project
	compiled, _ := splitCompiled(l.Pip)
	if len(compiled) == 0 {
		return nil
	}
	if l.Compiler == "" {
		return fmt.Errorf("%s: %s has no wheel that fits and is compiled, and the image has no C compiler: "+
			"leave build.compiler out of profiles.yaml, or name a base image with apt or a compiler", p.File, compiled[0].Name)
	}
	cuda := cudaOf(l)
	needs := slices.IndexFunc(compiled, func(d lock.Distribution) bool { return compiledPackages[d.Name].nvcc })
	if cuda == "" || needs < 0 {
		return nil
	}
	if facts, err := look(); err != nil || facts.NVCC {
		return err
	}
	if len(k.toolchain) > 0 && cudaOf(p.Lock) == cuda {
		l.Toolchain = k.toolchain // another one would compile all again
		return nil
	}
	request := p.solveRequest(kept{})
	request.Prefix, request.Miniconda, request.Files, request.Exact = toolchainRoot, nil, nil, false
	request.Specs = []string{"cuda-nvcc=" + cuda + ".*", "cuda-cudart-dev=" + cuda + ".*", "cuda-libraries-dev=" + cuda + ".*"}
	context, err := p.renderSolve(from(l.Base), request)
	if err != nil {
		return err
	}
	_, s, err := b.choose(ctx, "choosing CUDA's compiler", context, "")
	if err != nil {
		return fmt.Errorf("%s: %s is compiled against a torch for CUDA %s and needs nvcc %s; neither the base image nor a channel has one: "+
			"add the channel nvidia, or name a base image such as nvidia/cuda:%s.1-devel-ubuntu22.04: %w", p.File, compiled[needs].Name, cuda, cuda, cuda, err)
	}
	for _, c := range s.Conda {
		l.Toolchain = append(l.Toolchain, lock.Package(c))
	}
	return nil
}

// announce says what will be compiled before minutes are spent on it.
func (b *builder) announce(l *lock.Lock) {
	compiled, _ := splitCompiled(l.Pip)
	for _, d := range compiled {
		text := fmt.Sprintf("%s %s is compiled against torch %s, unless an earlier build has done it", d.Name, d.Version, version(l.Conda, l.Pip, "pytorch", "torch"))
		kind := compiledPackages[d.Name]
		if kind.long != "" {
			text += "; that takes " + kind.long
		}
		if cuda := cudaOf(l); kind.nvcc && cuda != "" {
			text += "; nvcc " + cuda + " is there for it"
		}
		b.request.Notes(strings.Replace(text, "  ", " ", 1))
	}
}

// compiledNames are the table's, sorted.
func compiledNames() []string { return slices.Sorted(maps.Keys(compiledPackages)) }
