package build

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
)

const baseName = "lab/base:1"

var baseID = "sha256:" + strings.Repeat("b", 64)

// engine is an engine with a BuildKit. It checks that what it is asked for is
// asked for as the interfaces say.
type engine struct {
	t      *testing.T
	mu     sync.Mutex
	images []buildkit.Image
	answer any // of a solve: a solution's JSON, or an error
	broken error
	solves []buildkit.Job // of conda packages
	// facts and user are those of the base image, apt is the answer for Debian
	// packages.
	facts baseFacts
	looks int // at the base
	user  string
	// toolchain is the answer for CUDA's compiler, compiler that for conda's,
	// where that is none.
	toolchain, compiler solution
	apt                 solution
	apts                []buildkit.Job
	report              CheckReport    // of the check of an image
	pips                []buildkit.Job // of pip packages
	builds              []buildkit.Job
	resolved            []string
	reached             []string // names that a registry was asked for
	registry            bool     // has what the engine has
	// during runs while a solve is at work.
	during func()
}

func newEngine(t *testing.T) *engine {
	return &engine{t: t, images: []buildkit.Image{{ID: baseID, Tags: []string{baseName}}}, answer: goodSolution(), facts: baseFacts{Apt: true, Compiler: true}}
}

func goodSolution() solution {
	pkg := func(name, version string, depends ...string) condaPackage {
		return condaPackage{Name: name, Version: version, Build: "0", Channel: "conda-forge", Subdir: "linux-64",
			File: name + "-" + version + "-0.conda", SHA256: strings.Repeat("a", 64), Depends: depends}
	}
	return solution{
		Virtual: []string{"__glibc=2.36"},
		Conda: []condaPackage{
			pkg("python", "3.9.18"), pkg("numpy", "1.26.4", "python >=3.9"), pkg("pytorch", "2.4.0", "python", "numpy >=1.19,<2", "__glibc >=2.17"),
			pkg("pyyaml", "6.0", "python"),
		},
		Pip:     []distribution{{Name: "tqdm", Version: "4.66.5", Index: pypi, Hashes: []string{"sha256:" + strings.Repeat("b", 64)}}},
		Indexes: []string{pypi},
	}
}

func (e *engine) Image(_ context.Context, ref string) (buildkit.Image, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, image := range e.images {
		if image.ID == ref || slices.Contains(image.Tags, ref) {
			return image, nil
		}
	}
	return buildkit.Image{}, buildkit.ErrNoImage
}

func (e *engine) ImagesByLabel(_ context.Context, name, value string) ([]buildkit.Image, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []buildkit.Image
	for _, image := range e.images {
		if image.Labels[name] == value {
			found = append(found, image)
		}
	}
	return found, nil
}

func (e *engine) Reach(_ context.Context, name string) error {
	e.reached = append(e.reached, name)
	if e.registry {
		return nil
	}
	return errors.New("no such host")
}

func (e *engine) Tag(_ context.Context, id, name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.images {
		if e.images[i].ID == id {
			e.images[i].Tags = append(e.images[i].Tags, name)
			return nil
		}
	}
	return errors.New("no image " + id)
}

func (e *engine) File(_ context.Context, job buildkit.Job, path, resolve string) (buildkit.Answer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if strings.Contains(job.Dockerfile, "/base.py ") {
		e.looks++
		if resolve != "" {
			e.resolved = append(e.resolved, resolve)
		}
		data, err := json.Marshal(map[string]any{"base": e.facts})
		return buildkit.Answer{Data: data, Digest: "sha256:" + strings.Repeat("d", 64), User: e.user}, err
	}
	if strings.Contains(job.Dockerfile, "/start solve-apt ") {
		e.apts = append(e.apts, job)
		data, err := json.Marshal(e.apt)
		return buildkit.Answer{Data: data}, err
	}
	if strings.Contains(job.Dockerfile, "/start solve-pip ") {
		e.pips = append(e.pips, job)
	} else {
		e.solves = append(e.solves, job)
	}
	if resolve != "" {
		e.resolved = append(e.resolved, resolve)
	}
	if path != dockerfiles.SolutionFile || job.Target != dockerfiles.StageSolve {
		e.t.Errorf("asked for %s of stage %s", path, job.Target)
	}
	if !job.Anew || !strings.Contains(job.Dockerfile, " AS solve\nARG "+buildkit.ArgAnew+"\n") {
		e.t.Error("a solve may come from the cache")
	}
	if e.during != nil {
		e.during()
	}
	if err, ok := e.answer.(error); ok {
		return buildkit.Answer{}, err
	}
	answer := e.answer
	if e.toolchain.Failure != nil && strings.Contains(string(job.Files[dockerfiles.RequestFile]), "cuda-nvcc") {
		answer = e.toolchain
	}
	if e.compiler.Failure != nil && strings.Contains(string(job.Files[dockerfiles.RequestFile]), `"gxx"`) {
		answer = e.compiler
	}
	data, err := json.Marshal(answer)
	if err != nil {
		e.t.Fatal(err)
	}
	return buildkit.Answer{Data: data, Digest: "sha256:" + strings.Repeat("d", 64)}, nil
}

func (e *engine) Image2(job buildkit.Job, names []string) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.builds = append(e.builds, job)
	if job.Target != dockerfiles.StageImage || job.Check != dockerfiles.StageCheck && job.Check != "" {
		e.t.Errorf("built stage %q after a check of %q", job.Target, job.Check)
	}
	if job.Check != "" {
		if job.CheckFile != dockerfiles.ReportFile {
			e.t.Errorf("the report is looked for in %s", job.CheckFile)
		}
		if err := job.Checked(encode(e.report)); err != nil {
			return "", err
		}
	}
	if e.broken != nil {
		return "", e.broken
	}
	if !strings.Contains(job.Dockerfile, LabelLock+`="`) {
		e.t.Error("the Dockerfile does not label the image with its lock")
	}
	id := "sha256:built" + string(rune('0'+len(e.builds)))
	e.images = append(e.images, buildkit.Image{ID: id, Tags: names, Labels: labelsOf(job.Dockerfile, LabelLock, LabelCheck)})
	return id, nil
}

// solver is the engine's BuildKit, whose Image is another one than the engine's.
type solver struct{ *engine }

func (s solver) Image(_ context.Context, job buildkit.Job, names []string) (string, error) {
	return s.Image2(job, names)
}

// noSolver fails whoever asks BuildKit for anything.
type noSolver struct{ t *testing.T }

func (s noSolver) File(context.Context, buildkit.Job, string, string) (buildkit.Answer, error) {
	s.t.Error("BuildKit was asked to solve")
	return buildkit.Answer{}, errors.New("unexpected")
}

func (s noSolver) Image(context.Context, buildkit.Job, []string) (string, error) {
	s.t.Error("BuildKit was asked to build")
	return "", errors.New("unexpected")
}

const environmentFile = `name: Train
channels: [conda-forge]
dependencies:
  - python=3.9
  - pytorch=2.*
  - pyyaml
  - pip
  - pip:
      - tqdm==4.66.5
variables:
  DATA: $HOME/data
`

// write puts an environment file into a new folder.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "environment.yml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func open(t *testing.T, file string) *Project {
	t.Helper()
	p, err := Open(file, Options{Base: baseName, ToolboxBase: "debian:bookworm-slim", Platform: "linux-64", Miniconda: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// notes collects what is said.
type notes struct{ lines []string }

func (n *notes) add(line string) { n.lines = append(n.lines, line) }

func readLock(t *testing.T, p *Project) *lock.Lock {
	t.Helper()
	data, err := os.ReadFile(p.LockFile)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lock.Parse(data, p.LockFile)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// labelsOf reads labels of a Dockerfile.
func labelsOf(dockerfile string, names ...string) map[string]string {
	labels := map[string]string{}
	for _, name := range names {
		_, rest, _ := strings.Cut(dockerfile, name+"=")
		text, _, _ := strings.Cut(rest, "\n")
		labels[name], _ = strconv.Unquote(strings.TrimSuffix(text, ` \`))
	}
	return labels
}
