package build

import (
	"errors"
	"strings"
	"testing"

	"crun.dev/crun/build/lock"
)

func TestTorchOf(t *testing.T) {
	conda := func(channel, build string, depends ...string) lock.Lock {
		return lock.Lock{Platform: "linux-64", Conda: []lock.Package{{Name: "pytorch", Version: "2.4.1", Build: build, Channel: channel, Depends: depends}, {Name: "cudatoolkit", Version: "11.3.1"}}}
	}
	pip := func(version, index string, more ...lock.Distribution) lock.Lock {
		return lock.Lock{Platform: "linux-64", Pip: append(more, lock.Distribution{Name: "torch", Version: version, Index: index})}
	}
	arm := pip("2.8.0", pypi)
	arm.Platform = "linux-aarch64"
	for name, test := range map[string]struct {
		lock        lock.Lock
		kind, archs string
	}{
		"conda-forge":         {conda("conda-forge", "cuda126_mkl_py311h1234567_302"), "12.6", "5.0 6.0 6.1 7.0 7.5 8.0 8.6 8.9 9.0+PTX"},
		"conda-forge of old":  {conda("conda-forge", "cuda112py39h1234567_200"), "11.2", "3.5 5.0 6.0 6.1 7.0 7.5 8.0 8.6+PTX"},
		"conda-forge, CPUs":   {conda("conda-forge", "cpu_generic_py311h1234567_2"), CUDANone, ""},
		"conda-forge of 2021": {conda("conda-forge", "cpu_py39hc5866cc_1"), CUDANone, ""},
		"pytorch":             {conda("pytorch", "py3.9_cuda11.8_cudnn8.7.0_0"), "11.8", "3.7 5.0 6.0 7.0 7.5 8.0 8.6 9.0"},
		"pytorch, CPUs":       {conda("pytorch", "py3.9_cpu_0"), CUDANone, ""},
		"defaults":            {conda("pkgs/main", "gpu_cuda118py39h1234567_101"), "11.8", ""},
		"by its dependencies": {conda("lab", "py39_0", "cudatoolkit >=11.3"), "11.3", ""},
		"of nobody's":         {conda("lab", "py39_0"), "", ""},
		"PyPI":                {pip("2.8.0", pypi, lock.Distribution{Name: "nvidia-cuda-runtime-cu12", Version: "12.8.90"}), "12.8", "7.0 7.5 8.0 8.6 9.0 10.0 12.0"},
		"PyPI since 2.11":     {pip("2.11.0", pypi, lock.Distribution{Name: "nvidia-cuda-runtime", Version: "13.0.96"}), "13.0", "7.5 8.0 8.6 9.0 10.0 12.0+PTX"},
		"PyPI of old":         {pip("1.12.1", pypi), "10.2", "3.7 5.0 6.0 7.0"},
		"its own index":       {pip("2.4.1+cu118", "https://download.example.org/whl/cu118"), "11.8", "3.7 5.0 6.0 7.0 7.5 8.0 8.6 9.0"},
		"for CPUs":            {pip("2.4.1+cpu", "https://download.example.org/whl/cpu"), CUDANone, ""},
		"by its index":        {pip("2.1.0", "https://download.example.org/whl/cpu"), CUDANone, ""},
		"for AMD's":           {pip("2.4.1+rocm6.1", "https://download.example.org/whl/rocm6.1"), "", ""},
		"another index":       {pip("2.4.1", "https://lab.example.org/simple"), "", ""},
		"arm64":               {arm, CUDANone, ""},
	} {
		build, ok := torchOf(&test.lock)
		if archs := string(build.archs(test.lock.Platform)); !ok || build.kind() != test.kind || archs != test.archs {
			t.Errorf("%s is for %q and %q, want %q and %q", name, build.kind(), archs, test.kind, test.archs)
		}
	}
	byURL := lock.Lock{Platform: "linux-64", Pip: []lock.Distribution{{Name: "torch", URL: "https://x.example/torch-2.1.0%2Bcu121-cp39-cp39-linux_x86_64.whl"}}}
	if build, _ := torchOf(&byURL); build.kind() != "12.1" || build.Version != "2.1.0+cu121" {
		t.Errorf("a wheel by its address is %+v", build)
	}
	if _, ok := torchOf(&lock.Lock{}); ok {
		t.Error("a lock without torch has one")
	}
}

// cpuSolution has a torch for CPUs.
func cpuSolution() solution {
	s := goodSolution()
	s.Conda[2].Build = "cpu_generic_py39h1234567_0"
	return s
}

func cudaSolution() solution {
	s := goodSolution()
	s.Conda[2].Build = "cuda126_generic_py39h1234567_200"
	return s
}

func openFor(t *testing.T, file, cuda, host string) *Project {
	t.Helper()
	p, err := Open(file, Options{Base: baseName, ToolboxBase: "debian:bookworm-slim", Platform: "linux-64", Extras: Extras{CUDA: cuda}, HostCUDA: host})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTarget(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.answer = cpuSolution()
	_, err := Build(t.Context(), solver{e}, e, Request{Project: openFor(t, file, "12.4", "")})
	var refused *TargetError
	if !errors.As(err, &refused) {
		t.Fatalf("the error is %v", err)
	}
	for _, want := range []string{
		"torch 2.4.0 (build cpu_generic_py39h1234567_0 of conda-forge) is for CPUs, and the image is to use NVIDIA's GPUs (CUDA 12.4)",
		file + ":5:5: pytorch=2.*", `write "- pytorch-gpu=2.4", or "- pytorch=2.4=*cuda*"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	if len(e.pips) > 0 || len(e.builds) > 0 || open(t, file).Lock != nil {
		t.Errorf("%d pip solves, %d builds, the lock is %v", len(e.pips), len(e.builds), open(t, file).Lock)
	}

	e.answer = cudaSolution()
	p := openFor(t, file, "12.4", "")
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: p}); err != nil {
		t.Fatal(err)
	}
	last := e.solves[len(e.solves)-1]
	if request := string(last.Files["request.json"]); !strings.Contains(request, `"__cuda=12.4"`) {
		t.Errorf("the solver is asked\n%s", request)
	}
	if text := e.builds[0].Dockerfile; !strings.Contains(text, LabelCUDA+`="12.6"`) || !strings.Contains(text, LabelArchs+`="5.0 6.0`) {
		t.Errorf("the labels are missing:\n%s", text)
	}
	// What nobody has said stays as the lock has it.
	if result, err := Build(t.Context(), noSolver{t}, e, Request{Project: openFor(t, file, "", "")}); err != nil || result.Built {
		t.Errorf("%+v, %v", result, err)
	}
	var said notes
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: openFor(t, file, CUDANone, ""), Notes: said.add}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CUDA changed from 12.4 to none", "torch 2.4.0 brings CUDA 12.6 along"} {
		if text := strings.Join(said.lines, "\n"); !strings.Contains(text, want) {
			t.Errorf("%q is not said:\n%s", want, text)
		}
	}
}

// A build whose name does not tell what it is for tells it in the check.
func TestTargetByCheck(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.report = CheckReport{Torch: &CheckedTorch{Version: "2.4.0"}}
	_, err := Build(t.Context(), solver{e}, e, Request{Project: openFor(t, file, "12.4", "")})
	var refused *TargetError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "torch 2.4.0 (build 0 of conda-forge) is for CPUs") || len(e.images) != 1 {
		t.Errorf("the error is %v, there are %d images", err, len(e.images))
	}
	e.report.Torch.CUDA = "12.1"
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: openFor(t, file, "12.4", "")}); err != nil {
		t.Error(err)
	}
}

func TestTargetAuto(t *testing.T) {
	for name, test := range map[string]struct {
		file, host, want string
	}{
		"the host's":              {environmentFile, "12.2", "12.2"},
		"nobody knows":            {environmentFile, "", "13.2"},
		"nobody knows, pinned":    {strings.Replace(environmentFile, "pytorch=2.*", "pytorch=2.1", 1), "", "12.1"},
		"nobody knows, in pip":    {strings.Replace(environmentFile, "tqdm==4.66.5", "torch==2.6.0", 1), "", "12.6"},
		"nobody knows, not exact": {strings.Replace(environmentFile, "pytorch=2.*", "pytorch>=2.0", 1), "", "13.2"},
	} {
		if p := openFor(t, write(t, test.file), CUDAAuto, test.host); p.Request.CUDA != test.want {
			t.Errorf("%s: it is %s, want %s", name, p.Request.CUDA, test.want)
		}
	}
	// A lock that runs on this host is this host's, whoever made it.
	file, e := write(t, environmentFile), newEngine(t)
	e.answer = cudaSolution()
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: openFor(t, file, "12.8", "")}); err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"12.2": "12.8", "13.0": "12.8", "": "12.8", "11.8": "11.8"} {
		if p := openFor(t, file, CUDAAuto, host); p.Request.CUDA != want {
			t.Errorf("on a driver for %q the lock is for %s, want %s", host, p.Request.CUDA, want)
		}
	}
	// One for CPUs is not.
	e.answer = cpuSolution()
	file = write(t, environmentFile)
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: openFor(t, file, "", "")}); err != nil {
		t.Fatal(err)
	}
	if p := openFor(t, file, CUDAAuto, "12.2"); p.Request.CUDA != "12.2" {
		t.Errorf("a lock for CPUs is kept for %q", p.Request.CUDA)
	}
}

// A torch that the target's driver does not run.
func TestTargetOfAnotherCUDA(t *testing.T) {
	pipFile := strings.Replace(strings.Replace(environmentFile, "  - pytorch=2.*\n", "", 1), "tqdm==4.66.5", "torch==2.4.1", 1)
	file, e := write(t, pipFile), newEngine(t)
	s := goodSolution()
	s.Conda = s.Conda[:2]
	s.Pip = []distribution{{Name: "torch", Version: "2.4.1", Index: pypi, Hashes: []string{"sha256:" + strings.Repeat("b", 64)}},
		{Name: "nvidia-cuda-runtime-cu12", Version: "12.1.105", Index: pypi, Hashes: []string{"sha256:" + strings.Repeat("c", 64)}}}
	e.answer = s
	_, err := Build(t.Context(), solver{e}, e, Request{Project: openFor(t, file, "11.8", "")})
	for _, want := range []string{
		"torch 2.4.1 (from PyPI) is built for CUDA 12.1, which does not run on a driver for CUDA 11.8 (it needs driver 525.60.13)",
		`write "- --extra-index-url https://download.pytorch.org/whl/cu118" and "- torch==2.4.1+cu118" in its place`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: openFor(t, file, "12.0", "")}); err != nil {
		t.Errorf("within one major version: %v", err)
	}
}

// A file that says CPUs itself is told before anybody is asked.
func TestTargetOfFile(t *testing.T) {
	const head = "name: a\nchannels: [conda-forge]\ndependencies:\n  - python=3.9\n  - pip\n"
	for text, want := range map[string]string{
		"  - pytorch=2.1=cpu_py*\n":          `:6:5: pytorch=2.1=cpu_py* takes a torch for CPUs, and the image is to use GPUs (CUDA 12.4): write "- pytorch=2.1=*cuda*", or build for CPUs (--cuda none)`,
		"  - pytorch=*=*cpu*\n":              `write "- pytorch=*=*cuda*"`,
		"  - cpuonly\n":                      `:6:5: cpuonly takes a torch for CPUs`,
		"  - pytorch-cpu=2.1\n":              `write "- pytorch-gpu=2.1"`,
		"  - pip:\n    - torch==2.4.1+cpu\n": `:7:7: torch==2.4.1+cpu takes a torch for CPUs, and the image is to use GPUs (CUDA 12.4): write "- torch==2.4.1", which comes from PyPI with CUDA`,
		"  - pip:\n    - --index-url https://d.example/whl/cpu\n    - torch\n": `:7:7: --index-url https://d.example/whl/cpu takes a torch for CPUs`,
	} {
		file := write(t, head+text)
		_, err := Open(file, Options{Base: baseName, Platform: "linux-64", Extras: Extras{CUDA: "12.4"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q", text, err, want)
		}
		for _, cuda := range []string{"", CUDANone} {
			if _, err := Open(file, Options{Base: baseName, Platform: "linux-64", Extras: Extras{CUDA: cuda}}); err != nil {
				t.Errorf("%q for CUDA %q: %v", text, cuda, err)
			}
		}
	}
}

func TestCheckCUDA(t *testing.T) {
	for text, ok := range map[string]bool{"12.4": true, "none": true, "auto": true, "": false, "12": false, "12.4.1": false, "cu124": false, "None": false} {
		if err := CheckCUDA(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
