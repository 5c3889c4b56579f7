package build

import (
	"slices"
	"strings"
	"testing"

	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
)

func compiledSolution(pip ...distribution) solution {
	s := goodSolution()
	hash := []string{"sha256:" + strings.Repeat("c", 64)}
	for _, d := range pip {
		d.Index, d.Hashes = pypi, hash
		s.Pip = append(s.Pip, d)
	}
	return s
}

// compiledContent is the list of the stage that compiles.
func compiledContent(t *testing.T, p *Project) string {
	t.Helper()
	for _, layer := range p.image(p.Lock).Layers {
		if layer.Kind == dockerfiles.KindWheels {
			return string(layer.Content)
		}
	}
	t.Fatal("nothing is compiled")
	return ""
}

func TestCompiledPackages(t *testing.T) {
	file, e := write(t, strings.Replace(environmentFile, "- tqdm==4.66.5", "- tqdm==4.66.5\n      - flash-attn", 1)), newEngine(t)
	e.facts = baseFacts{Apt: true}
	e.apt = aptPackages(aptPackage{Name: "g++", Version: "4:12"}, aptPackage{Name: "gcc", Version: "4:12"}, aptPackage{Name: "libc6-dev", Version: "2.36-9"})
	e.answer = compiledSolution(distribution{Name: "flash-attn", Version: "2.6.3", Against: "torch"}, distribution{Name: "einops", Version: "0.8.0"})
	var said notes
	p := open(t, file)
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: p, Notes: said.add}); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(said.lines, "\n"); !strings.Contains(text, "flash-attn 2.6.3 is compiled against torch 2.4.0, unless an earlier build has done it; that takes hours") {
		t.Errorf("it says %q", text)
	}
	content := compiledContent(t, p)
	for _, want := range []string{`"name": "einops"`, `"name": "flash-attn"`, "pytorch-2.4.0-0.conda", "g++ 4:12"} {
		if !strings.Contains(content, want) {
			t.Errorf("the list lacks %s:\n%s", want, content)
		}
	}
	if strings.Contains(content, "tqdm") {
		t.Errorf("tqdm decides what is compiled:\n%s", content)
	}
	text := e.builds[0].Dockerfile
	if below, compile, image := strings.Index(text, " AS below\n"), strings.Index(text, "FROM below AS compile\n"), strings.Index(text, "FROM below AS image\n"); below < 0 || compile < below || image < compile {
		t.Errorf("the stages are out of order:\n%s", text)
	}
	// So does the lock as it is read again, which has another order.
	if read := (&Project{Environment: p.Environment, Options: p.Options, Request: p.Request, Lock: readLock(t, p)}); compiledContent(t, read) != content {
		t.Errorf("the lock that was read compiles again:\n%s", compiledContent(t, read))
	}
	// Another pip package leaves it as it is, another torch does not.
	other := *p.Lock
	other.Pip = slices.DeleteFunc(slices.Clone(other.Pip), func(d lock.Distribution) bool { return d.Name == "tqdm" })
	p.Lock = &other
	if compiledContent(t, p) != content {
		t.Error("another pip package compiles again")
	}
	other.Conda = slices.Clone(other.Conda)
	for i := range other.Conda {
		if other.Conda[i].Name == "pytorch" {
			other.Conda[i].SHA256 = strings.Repeat("e", 64)
		}
	}
	if compiledContent(t, p) == content {
		t.Error("another torch does not compile again")
	}
	// So do another base image of that name, which no registry has, and another compiler.
	content = compiledContent(t, p)
	other.Base.ImageID = "sha256:" + strings.Repeat("f", 64)
	if compiledContent(t, p) == content {
		t.Error("another base image does not compile again")
	}
	content = compiledContent(t, p)
	other.Conda = append(other.Conda, lock.Package{Name: "gxx", File: "gxx-13.2.0-0.conda"})
	if compiledContent(t, p) == content {
		t.Error("another compiler does not compile again")
	}
}

func TestCompiledPackagesNeedACompiler(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.answer = compiledSolution(distribution{Name: "odd", Version: "1.0", Against: "torch"})
	p, no := open(t, file), false
	p.Options.Compiler = &no
	_, err := Build(t.Context(), solver{e}, e, Request{Project: p})
	if err == nil || !strings.Contains(err.Error(), "odd has no wheel that fits and is compiled, and the image has no C compiler") {
		t.Errorf("the error is %v", err)
	}
}

func TestCUDAOfTorch(t *testing.T) {
	for _, test := range []struct {
		lock lock.Lock
		want string
	}{
		{lock.Lock{Pip: []lock.Distribution{{Name: "torch", Version: "2.4.0+cu121"}}}, "12.1"},
		{lock.Lock{Pip: []lock.Distribution{{Name: "torch", Version: "2.8.0"}, {Name: "nvidia-cuda-runtime-cu12", Version: "12.8.90"}}}, "12.8"},
		{lock.Lock{Conda: []lock.Package{{Name: "pytorch", Build: "py3.9_cuda11.8_cudnn8.7.0_0"}}}, "11.8"},
		{lock.Lock{Conda: []lock.Package{{Name: "pytorch", Build: "cuda124_py39h4d4ea5b_3"}}}, "12.4"},
		{lock.Lock{Conda: []lock.Package{{Name: "pytorch", Build: "cpu_generic_py39"}}}, ""},
		{lock.Lock{Pip: []lock.Distribution{{Name: "torch", Version: "2.4.0+cpu"}}}, ""},
	} {
		if got := cudaOf(&test.lock); got != test.want {
			t.Errorf("%+v: %q, want %q", test.lock, got, test.want)
		}
	}
}
