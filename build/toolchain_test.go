package build

import (
	"strings"
	"testing"

	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
)

// cudaEngine answers with a torch for CUDA and a package that needs nvcc.
func cudaEngine(t *testing.T) *engine {
	e := newEngine(t)
	s := compiledSolution(distribution{Name: "flash-attn", Version: "2.6.3", Against: "torch"})
	s.Conda[2].Build = "py3.9_cuda12.1_cudnn8.9.2_0"
	e.answer = s
	return e
}

func TestToolchainOfCUDA(t *testing.T) {
	file, e := write(t, environmentFile), cudaEngine(t)
	p := open(t, file)
	var said notes
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: p, Notes: said.add}); err != nil {
		t.Fatal(err)
	}
	last := string(e.solves[len(e.solves)-1].Files[dockerfiles.RequestFile])
	if !strings.Contains(last, `"cuda-nvcc=12.1.*"`) || !strings.Contains(last, toolchainRoot) {
		t.Errorf("the last solve asks\n%s", last)
	}
	if len(p.Lock.Toolchain) == 0 || !strings.Contains(compiledContent(t, p), `"prefix": "`+toolchainRoot+`"`) {
		t.Errorf("the toolchain is %v", p.Lock.Toolchain)
	}
	if text := strings.Join(said.lines, "\n"); !strings.Contains(text, "nvcc 12.1 is there for it") {
		t.Errorf("it says %q", text)
	}
	// The image's own layers have none of it.
	for _, layer := range p.image(p.Lock).Layers {
		if layer.Kind == dockerfiles.KindConda && strings.Contains(string(layer.Content), toolchainRoot) {
			t.Errorf("%s has the toolchain", layer.File)
		}
	}
}

func TestToolchainOfTheBase(t *testing.T) {
	file, e := write(t, environmentFile), cudaEngine(t)
	e.facts.NVCC = true
	p := open(t, file)
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: p}); err != nil {
		t.Fatal(err)
	}
	if len(e.solves) != 1 || len(p.Lock.Toolchain) != 0 {
		t.Errorf("%d solves, the toolchain is %v", len(e.solves), p.Lock.Toolchain)
	}
}

func TestNoToolchainOfCUDA(t *testing.T) {
	file, e := write(t, environmentFile), cudaEngine(t)
	e.toolchain = failed("conda", "No candidates were found for cuda-nvcc 12.1.*.")
	_, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file)})
	for _, want := range []string{"flash-attn is compiled against a torch for CUDA 12.1 and needs nvcc 12.1", "add the channel nvidia", "nvidia/cuda:12.1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q in it", err, want)
		}
	}
	if len(e.builds) > 0 {
		t.Error("an image was built")
	}
}

// An edit of a line that has nothing to do with it leaves the toolchain as it is:
// without, all would be compiled again, and could not be.
func TestToolchainStays(t *testing.T) {
	for name, edit := range map[string][2]string{"a pip line": {"tqdm==4.66.5", "tqdm"}, "a variable": {"DATA:", "DATEN:"}} {
		file, e := write(t, environmentFile), cudaEngine(t)
		if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file)}); err != nil {
			t.Fatal(err)
		}
		before := open(t, file)
		solves := len(e.solves)
		rewrite(t, file, strings.Replace(environmentFile, edit[0], edit[1], 1))
		p := open(t, file)
		if _, err := Build(t.Context(), solver{e}, e, Request{Project: p}); err != nil {
			t.Fatal(err)
		}
		if compiledContent(t, p) != compiledContent(t, before) {
			t.Errorf("%s: what is compiled is now\n%s", name, compiledContent(t, p))
		}
		if len(e.solves) != solves {
			t.Errorf("%s: conda was asked for CUDA's compiler again", name)
		}
	}
}

// Who asks for another one by name gets it, and loses nothing else.
func TestToolchainIsUpdatedByName(t *testing.T) {
	p := open(t, write(t, environmentFile))
	p.Lock = testLock(p)
	p.Lock.Toolchain = []lock.Package{{Name: "cuda-nvcc"}}
	update := Update{Names: []string{"cuda-nvcc"}}
	if err := update.check(p); err != nil {
		t.Error(err)
	}
	if k := p.keep(p.Lock.Base, update); k.pip || len(k.toolchain) > 0 || !k.conda || len(k.distributions) == 0 {
		t.Errorf("kept is %+v", k)
	}
}

// A package that is compiled may come with an edit of one pip line.
func TestToolchainComesWithALine(t *testing.T) {
	file, e := write(t, environmentFile), cudaEngine(t)
	withCompiled := e.answer
	without := goodSolution()
	without.Conda = withCompiled.(solution).Conda
	e.answer = without
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file)}); err != nil {
		t.Fatal(err)
	}
	rewrite(t, file, strings.Replace(environmentFile, "- tqdm==4.66.5", "- tqdm==4.66.5\n      - flash-attn", 1))
	e.answer = withCompiled
	p := open(t, file)
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: p}); err != nil {
		t.Fatal(err)
	}
	if len(p.Lock.Toolchain) == 0 {
		t.Error("flash-attn is compiled without CUDA's compiler")
	}
	no := false
	rewrite(t, file, strings.Replace(environmentFile, "- tqdm==4.66.5", "- tqdm==4.66.4\n      - flash-attn", 1))
	p = open(t, file)
	p.Options.Compiler, p.Request.Compiler = &no, "false"
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: p}); err == nil || !strings.Contains(err.Error(), "has no C compiler") {
		t.Errorf("without a C compiler the error is %v", err)
	}
}
