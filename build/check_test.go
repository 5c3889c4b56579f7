package build

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
)

// badReport is one with something of each kind.
func badReport() CheckReport {
	return CheckReport{
		Mode: CheckFull,
		Modules: []CheckedModule{
			{Name: "torch", Package: "pytorch", Version: "2.8.0", Status: ModuleWorks},
			{Name: "cv2", Package: "opencv-python", Status: ModuleFails, Reason: "ImportError: libGL.so.1: no", Advice: "write apt: [libgl1]"},
			{Name: "pynvml", Package: "pynvml", Status: ModuleNotCheckable, Reason: "NVML Shared Library Not Found"},
			{Name: "torch/lib/libcaffe2_nvrtc.so", Package: "torch", Status: ModuleNotCheckable, Reason: "libcuda.so.1"},
			{Name: "Python", Status: ModuleFails, Reason: "Python was ended by SIGABRT"},
			{Name: "a tensor from numpy", Package: "torch", Status: ModuleWorks},
		},
		Torch:     &CheckedTorch{Version: "2.8.0+cu128", CUDA: "12.8"},
		Conflicts: []string{"The package `a` requires `b>=2`, but `1` is installed"},
		Overwritten: []Overwritten{
			{Package: "numpy", Version: "2.0", Over: "numpy", OverVersion: "1.26", OverKind: "conda", Files: 812, Example: "lib/numpy/__init__.py"},
			{Package: "opencv-python-headless", Version: "4", Over: "opencv-python", OverVersion: "4", OverKind: "pip", Files: 3, Example: "lib/cv2/__init__.py"},
		},
	}
}

var badWarnings = []string{
	"opencv-python: cv2 cannot be imported: ImportError: libGL.so.1: no; write apt: [libgl1]",
	"Python fails: Python was ended by SIGABRT",
	"pip's numpy 2.0 has overwritten 812 files of conda's numpy 1.26 (lib/numpy/__init__.py): ask one of them for it",
	"the pip packages opencv-python 4 and opencv-python-headless 4 both hold 3 files (lib/cv2/__init__.py): keep one of them",
	"The package `a` requires `b>=2`, but `1` is installed",
}

func TestReport(t *testing.T) {
	report := badReport()
	if diff := cmp.Diff(badWarnings, report.Warnings()); diff != "" {
		t.Error(diff)
	}
	want := "1 module can be imported, torch 2.8.0+cu128 for CUDA 12.8, a tensor from numpy; not without a GPU's driver: pynvml"
	if got := report.Summary(); got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
}

func TestCheckOfABuild(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.report = badReport()
	var said notes
	result, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file), Notes: said.add})
	if err != nil {
		t.Fatal(err)
	}
	if result.Check == nil || result.Check.Torch.CUDA != "12.8" {
		t.Errorf("the result's check is %+v", result.Check)
	}
	text := strings.Join(said.lines, "\n")
	for _, line := range append(badWarnings, "checked: "+result.Check.Summary()) {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not said:\n%s", line, text)
		}
	}
	var asked checkRequest
	if err := json.Unmarshal(e.builds[0].Files[dockerfiles.CheckFile], &asked); err != nil {
		t.Fatal(err)
	}
	want := checkRequest{Mode: CheckFull, Prefix: "/opt/conda/envs/Train", Conda: []string{"python", "pytorch", "pyyaml", "pip"}, Pip: []string{"tqdm"}}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}

	// Where warnings are errors, an image that is there is checked all the same.
	_, err = Build(t.Context(), solver{e}, e, Request{Project: open(t, file), WarningsAsErrors: true})
	var refused *WarningsError
	if !errors.As(err, &refused) || len(refused.Lines) != 5 || !strings.HasSuffix(err.Error(), "warnings count as errors here (--warnings-as-errors), and there are 5") {
		t.Errorf("the error is %v", err)
	}
	if e.report = (CheckReport{}); len(e.builds) != 2 {
		t.Errorf("%d builds", len(e.builds))
	}
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file), WarningsAsErrors: true}); err != nil {
		t.Errorf("without warnings: %v", err)
	}
}

// TestCheckOfNameless holds that what a file names by its place alone is tried
// under the name that the lock has for it.
func TestCheckOfNameless(t *testing.T) {
	l := &lock.Lock{Pip: []lock.Distribution{
		{Name: "clip", URL: "git+https://git.example.org/lab/clip.git@3f2a1c9"},
		{Name: "ftfy", Index: "pypi"},
		{Name: "libs", Path: "libs"},
		{Name: "train", Path: ".", Editable: true},
	}}
	for lines, want := range map[string][]string{
		"[\"git+https://git.example.org/lab/clip.git\", tqdm]": {"tqdm", "clip", "libs"},
		"[./libs, -e .]": {"clip", "libs"},
		"[tqdm]":         {"tqdm"}, // and an address that tqdm asks for is tqdm's affair
	} {
		file := write(t, "name: x\nchannels: [conda-forge]\ndependencies:\n  - python=3.9\n  - pip\n  - pip: "+lines+"\n")
		for path, text := range map[string]string{"libs/setup.py": "setup(name='libs')", "setup.py": "setup(name='train')"} {
			path = filepath.Join(filepath.Dir(file), path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, open(t, file).checkLabel(l).Pip); diff != "" {
			t.Errorf("%s: %s", lines, diff)
		}
	}
}

func TestCheckOff(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.report = badReport()
	p := open(t, file)
	p.Options.CheckMode = CheckOff
	result, err := Build(t.Context(), solver{e}, e, Request{Project: p, WarningsAsErrors: true})
	if err != nil || result.Check != nil || e.builds[0].Check != "" {
		t.Errorf("the result is %+v, the error %v, the stage %q", result, err, e.builds[0].Check)
	}
}

// checker is a BuildKit that is asked for a check alone.
type checker struct {
	t    *testing.T
	jobs []buildkit.Job
}

func (c *checker) File(_ context.Context, job buildkit.Job, path, resolve string) (buildkit.Answer, error) {
	c.jobs = append(c.jobs, job)
	if job.Target != dockerfiles.StageCheck || path != dockerfiles.ReportFile || resolve != "" {
		c.t.Errorf("asked for %s of stage %s", path, job.Target)
	}
	return buildkit.Answer{Data: encode(badReport())}, nil
}

func (c *checker) Image(context.Context, buildkit.Job, []string) (string, error) {
	c.t.Error("an image is made")
	return "", errors.New("unexpected")
}

func TestCheckImage(t *testing.T) {
	e, c := newEngine(t), &checker{t: t}
	e.images = append(e.images, buildkit.Image{ID: "sha256:1", Tags: []string{"crun/a:1"}, Labels: map[string]string{LabelCheck: `{"conda":["pytorch"],"pip":["tqdm"],"must":["timm"]}`}})
	for _, name := range []string{"crun/a:1", baseName, "lab.example/other:1"} {
		report, err := CheckImage(t.Context(), c, e, name, "debian:bookworm-slim", "linux-64", CheckImport, Sources{})
		if err != nil || report.Torch.CUDA != "12.8" {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
	var asked checkRequest
	if err := json.Unmarshal(c.jobs[0].Files[dockerfiles.CheckFile], &asked); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(checkRequest{Mode: CheckImport, Conda: []string{"pytorch"}, Pip: []string{"tqdm"}, Must: []string{"timm"}}, asked); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(c.jobs[1].Files[dockerfiles.CheckFile]), `"everything": true`) {
		t.Errorf("an image of somebody else's is asked for %s", c.jobs[1].Files[dockerfiles.CheckFile])
	}
	if local := strings.Join(c.jobs[1].Local, " "); local != baseName {
		t.Errorf("the images that only the engine has are %q", local)
	}
	e.images[1].Labels[LabelCheck] = "{"
	if _, err := CheckImage(t.Context(), c, e, "crun/a:1", "debian", "linux-64", CheckFull, Sources{}); err == nil || !strings.Contains(err.Error(), LabelCheck) {
		t.Errorf("of a broken label it says %v", err)
	}
}

type unreachableRegistry struct{ checker }

func (*unreachableRegistry) File(context.Context, buildkit.Job, string, string) (buildkit.Answer, error) {
	return buildkit.Answer{}, errors.New("no such host")
}

// Where neither the engine nor a registry has the image, the names that there
// are can be looked up; of one that the engine has nothing is added.
func TestCheckOfNoImage(t *testing.T) {
	e := newEngine(t)
	for name, hint := range map[string]bool{"crun/nope:1": true, baseName: false} {
		_, err := CheckImage(t.Context(), &unreachableRegistry{}, e, name, "debian:bookworm-slim", "linux-64", CheckImport, Sources{})
		if err == nil || !strings.Contains(err.Error(), "no such host") || strings.Contains(err.Error(), "crun images") != hint {
			t.Errorf("%s: it says %v", name, err)
		}
	}
}

// Modules that have to work are tried in the image that is there, too.
func TestCheckOfOtherModules(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	for i, test := range []struct {
		check []string
		mode  CheckMode
		want  int // builds so far
	}{{nil, "", 1}, {nil, "", 1}, {[]string{"yaml"}, "", 2}, {[]string{"yaml"}, "", 2}, {nil, CheckOff, 2}, {nil, "", 2}} {
		p := open(t, file)
		p.Options.Check, p.Options.CheckMode = test.check, test.mode
		if _, err := Build(t.Context(), solver{e}, e, Request{Project: p}); err != nil {
			t.Fatal(err)
		}
		if len(e.builds) != test.want || len(e.solves) != 1 {
			t.Errorf("after build %d with %q: %d builds and %d solves, want %d and 1", i+1, test.check, len(e.builds), len(e.solves), test.want)
		}
	}
}
