package build

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/dockerfiles"
)

func openWithApt(t *testing.T, file string, apt ...string) *Project {
	t.Helper()
	p, err := Open(file, Options{Base: baseName, ToolboxBase: "debian:bookworm-slim", Platform: "linux-64", Miniconda: true,
		Extras: Extras{Apt: apt, AptPlace: "profiles.yaml:3:8"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func aptPackages(packages ...aptPackage) solution { return solution{Apt: packages} }

// asked gives what each question for apt packages has asked for.
func (e *engine) askedApt() []string {
	var all []string
	for _, job := range e.apts {
		all = append(all, strings.Join(strings.Fields(string(job.Files[dockerfiles.RequestFile])), ""))
	}
	return all
}

func TestAptPackages(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.facts = baseFacts{Apt: true}
	e.apt = aptPackages(aptPackage{Name: "libgl1", Version: "1.6.0-1"}, aptPackage{Name: "gcc", Version: "4:12.2.0-3"}, aptPackage{Name: "g++", Version: "4:12.2.0-3"},
		aptPackage{Name: "libc6-dev", Version: "2.36-9"}, aptPackage{Name: "libglvnd0", Version: "1.6.0-1", Auto: true})
	p := openWithApt(t, file, "libgl1")
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: p}); err != nil {
		t.Fatal(err)
	}
	// First what was asked for, before anything is downloaded; then with the
	// compiler that torch 2 needs.
	want := []string{`{"apt":["libgl1"]}`, `{"apt":["libgl1","g++","gcc","libc6-dev"]}`}
	if got := e.askedApt(); !slices.Equal(got, want) {
		t.Errorf("asked for %q, want %q", got, want)
	}
	layer := p.image(p.Lock).Layers[0]
	if layer.Kind != dockerfiles.KindApt || !strings.Contains(string(layer.Content), `"version": "4:12.2.0-3"`) {
		t.Errorf("the first layer is %+v", layer)
	}
	if job := e.builds[0]; p.Lock.Compiler != "apt" || !strings.Contains(job.Dockerfile, LabelCompiler+`="apt"`) {
		t.Errorf("the Dockerfile does not name the compiler:\n%s", job.Dockerfile)
	}
	// Another pip package asks for no apt package again.
	rewrite(t, file, strings.Replace(environmentFile, "tqdm==4.66.5", "tqdm==4.66.4", 1))
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: openWithApt(t, file, "libgl1")}); err != nil {
		t.Fatal(err)
	}
	e.apt.Apt = append(e.apt.Apt, aptPackage{Name: "ffmpeg", Version: "7:5"})
	if got := openWithApt(t, file, "libgl1", "ffmpeg").outdated(baseImage{}); len(e.apts) != 2 || got != "apt package ffmpeg added" {
		t.Errorf("the archives were asked %d times, the reason is %q", len(e.apts), got)
	}
}

func TestWhereTheCompilerComesFrom(t *testing.T) {
	yes, no := true, false
	for name, test := range map[string]struct {
		facts    baseFacts
		torch    string
		compiler *bool
		packages []string // of the conda solve
		want     string
	}{
		"apt":                {baseFacts{Apt: true}, "2.4.0", nil, nil, "apt"},
		"the base":           {baseFacts{Apt: true, Compiler: true}, "2.4.0", nil, nil, "base"},
		"the environment":    {baseFacts{Apt: true}, "2.4.0", nil, []string{"gxx"}, "environment"},
		"conda":              {baseFacts{}, "2.4.0", nil, nil, "conda"},
		"not for torch 1":    {baseFacts{Apt: true}, "1.13.1", nil, nil, ""},
		"asked for":          {baseFacts{Apt: true}, "1.13.1", &yes, nil, "apt"},
		"not wanted":         {baseFacts{Apt: true}, "2.4.0", &no, nil, ""},
		"already there, too": {baseFacts{Compiler: true}, "2.4.0", &no, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file, e := write(t, strings.Replace(environmentFile, "  - pip\n  - pip:\n      - tqdm==4.66.5\n", "", 1)), newEngine(t)
			s := goodSolution()
			s.Pip, s.Indexes = nil, nil
			s.Conda[2].Version = test.torch
			for _, name := range test.packages {
				pkg := s.Conda[0]
				pkg.Name, pkg.File = name, name+"-1-0.conda"
				s.Conda = append(s.Conda, pkg)
			}
			e.answer, e.facts, e.apt = s, test.facts, aptPackages(aptPackage{Name: "gcc", Version: "1"})
			p := open(t, file)
			p.Options.Compiler = test.compiler
			if _, err := Build(t.Context(), solver{e}, e, Request{Project: p}); err != nil {
				t.Fatal(err)
			}
			if p.Lock.Compiler != test.want || (len(p.Lock.Apt) > 0) != (test.want == "apt") {
				t.Errorf("the compiler is from %q, want %q; the apt packages are %v", p.Lock.Compiler, test.want, p.Lock.Apt)
			}
			if last := string(e.solves[len(e.solves)-1].Files[dockerfiles.RequestFile]); (test.want == "conda") != strings.Contains(last, `"gxx"`) && test.packages == nil {
				t.Errorf("the last solve asks\n%s", last)
			}
		})
	}
}

// Where no channel has a compiler either, that is asked and said once.
func TestNoCompilerAnywhere(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.facts, e.compiler = baseFacts{}, failed("conda", "No candidates were found for gxx *.")
	p := open(t, file)
	var said notes
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: p, Notes: said.add}); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(said.lines, "\n"); p.Lock.Compiler != "" || len(e.solves) != 2 || strings.Count(text, "the image has no C compiler, which torch.compile needs") != 1 {
		t.Errorf("%d solves, the compiler is from %q, it says %q", len(e.solves), p.Lock.Compiler, said.lines)
	}
}

func TestTorchThatPipIsAskedFor(t *testing.T) {
	for text, want := range map[string]bool{
		"torch": true, "torch>=2.0": true, "torch==2.8.0+cu128": true, "torch>=1.13": true,
		"torch==1.13.1": false, "torch<2": false, "torch~=1.7": false, "torch<=1.13": false, "torchvision": false,
	} {
		file := write(t, "name: x\nchannels: [conda-forge]\ndependencies: [python=3.9, pip, {pip: [\""+text+"\"]}]\n")
		if got := open(t, file).needsCompiler(open(t, file).newLock(open(t, file).newBase())); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// An archive that no longer has a locked version is asked once more, for the
// apt packages alone.
func TestAptPackagesThatAreGone(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.facts = baseFacts{Apt: true}
	e.apt = aptPackages(aptPackage{Name: "libgl1", Version: "1.6.0-1"}, aptPackage{Name: "g++", Version: "4:12"}, aptPackage{Name: "libx", Version: "1", Auto: true})
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: openWithApt(t, file, "libgl1=1.6.0-1")}); err != nil {
		t.Fatal(err)
	}
	e.images, e.apts, e.solves = e.images[:1], nil, nil
	e.apt = aptPackages(aptPackage{Name: "libgl1", Version: "1.6.0-2"}, aptPackage{Name: "g++", Version: "4:12"})
	gone := &buildkit.StepError{Step: "install the apt packages", ExitCode: 1, Output: []string{"x", "crun: the package archive no longer has libgl1 1.6.0-1"}}
	broken := func() brokenOnce { return brokenOnce{solver{e}, new(int), fmt.Errorf("building the image: %w", gone)} }

	p := openWithApt(t, file, "libgl1=1.6.0-1")
	_, err := Build(t.Context(), broken(), e, Request{Project: p, Locked: true})
	if want := "the archive no longer has libgl1 1.6.0-1, which " + p.LockFile + " names"; err == nil || !strings.Contains(err.Error(), want) || len(e.apts) > 0 {
		t.Errorf("with --locked the error is %v", err)
	}
	var said notes
	if _, err := Build(t.Context(), broken(), e, Request{Project: p, Notes: said.add}); err != nil {
		t.Fatal(err)
	}
	if got := e.askedApt(); len(e.solves) != 0 || len(got) != 1 || got[0] != `{"apt":["libgl1=1.6.0-1","g++"]}` {
		t.Errorf("%d solves, asked for %q", len(e.solves), got)
	}
	data, _ := os.ReadFile(p.LockFile)
	if !strings.Contains(string(data), "version: 1.6.0-2") || !strings.Contains(string(data), "name: pytorch") || strings.Contains(string(data), "libx") {
		t.Errorf("the lock is now\n%s", data)
	}
	want := "the archive no longer has libgl1 1.6.0-1: " + p.LockFile + " has the versions of today now"
	if len(said.lines) != 1 || said.lines[0] != want {
		t.Errorf("it says %q, want %q", said.lines, want)
	}
}

// brokenOnce fails the first image.
type brokenOnce struct {
	solver
	built *int
	err   error
}

func (b brokenOnce) Image(ctx context.Context, job buildkit.Job, names []string) (string, error) {
	if *b.built++; *b.built == 1 {
		return "", b.err
	}
	return b.solver.Image(ctx, job, names)
}

func TestAptArchivesAreAskedOnceMore(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.apt = failed("archive", "no route")
	var said notes
	_, err := Build(t.Context(), solver{e}, e, Request{Project: openWithApt(t, file, "libgl1"), Notes: said.add})
	if err == nil || !strings.HasPrefix(err.Error(), "profiles.yaml:3:8: no route\n") {
		t.Errorf("the error is %v", err)
	}
	if len(e.askedApt()) != 2 || !strings.Contains(strings.Join(said.lines, "\n"), "trying once more") {
		t.Errorf("%d solves; it says %q", len(e.askedApt()), said.lines)
	}
}

func TestAptErrorsNameThePlace(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.apt = failed("apt", "the archives have no libgl2")
	_, err := Build(t.Context(), solver{e}, e, Request{Project: openWithApt(t, file, "libgl2")})
	if err == nil || err.Error() != "profiles.yaml:3:8: the archives have no libgl2\nchange build.apt there, or the base image" || len(e.solves) > 0 {
		t.Errorf("the error is %v after %d solves", err, len(e.solves))
	}
	e.facts = baseFacts{}
	_, err = Build(t.Context(), solver{e}, e, Request{Project: openWithApt(t, file, "libgl2")})
	if err == nil || !strings.Contains(err.Error(), "profiles.yaml:3:8: build.apt names packages, and the base image "+baseName+" has no apt") {
		t.Errorf("the error is %v", err)
	}
}
