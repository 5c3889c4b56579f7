package build

import (
	"strings"
	"testing"

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
