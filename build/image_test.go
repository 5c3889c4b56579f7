package build

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
	"crun.dev/crun/internal/golden"
)

func testLock(p *Project) *lock.Lock {
	return lockOf(p, lock.Base{Reference: baseName, ImageID: "sha256:" + strings.Repeat("c", 64)}, goodSolution())
}

// lockOf is the lock of a solution.
func lockOf(p *Project, base lock.Base, s solution) *lock.Lock {
	l := p.newLock(base)
	takeConda(l, s)
	takePip(l, s)
	return l
}

// dump is a context as one text, without the files that are always the same.
func dump(context *dockerfiles.Context) string {
	_, text, _ := strings.Cut(context.Dockerfile, "COPY installer /opt/crun/installer\n")
	for _, name := range context.FileNames() {
		if strings.HasSuffix(name, ".json") {
			text += "\n-- " + name + " --\n" + string(context.Files[name])
		}
	}
	return text
}

func TestImageOfALock(t *testing.T) {
	p := open(t, write(t, environmentFile))
	context, err := dockerfiles.RenderImage(p.image(testLock(p)))
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "image.txt", dump(context))
}

func TestSolveOfAProject(t *testing.T) {
	p := open(t, write(t, environmentFile))
	context, err := p.solveContext(baseName, kept{})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "solve.txt", dump(context))
}

// Pip packages are chosen on the image's own layers of conda packages, or the
// conda packages would be installed twice.
func TestPipSolveStartsFromTheLayersOfTheImage(t *testing.T) {
	p := open(t, write(t, environmentFile))
	l := testLock(p)
	solve, err := p.pipContext(l, kept{distributions: l.Pip})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "solve-pip.txt", dump(solve))
	image, err := dockerfiles.RenderImage(p.image(l))
	if err != nil {
		t.Fatal(err)
	}
	layers, _, _ := strings.Cut(solve.Dockerfile, "FROM image AS solve")
	_, layers, _ = strings.Cut(layers, "COPY installer")
	if layers = strings.TrimSpace(layers); !strings.Contains(image.Dockerfile, layers) {
		t.Errorf("the image does not begin with\n%s", layers)
	}
}

// The edit of a light package must leave the heavy layer as it is.
func TestHeavyLayerStays(t *testing.T) {
	p := open(t, write(t, environmentFile))
	heavy := func(s solution) string {
		context, err := dockerfiles.RenderImage(p.image(lockOf(p, lock.Base{Reference: baseName}, s)))
		if err != nil {
			t.Fatal(err)
		}
		return string(context.Files["heavy.json"])
	}
	before := goodSolution()
	after := goodSolution()
	after.Conda[3].Version, after.Conda[3].File = "6.1", "pyyaml-6.1-0.conda"
	after.Conda = append(after.Conda, condaPackage{Name: "abc", Version: "1", Channel: "other", File: "abc-1-0.conda"})
	after.Pip = nil
	if heavy(before) != heavy(after) {
		t.Error("another pyyaml changes the layer of pytorch")
	}
	after.Conda[1].Version = "1.26.5"
	if heavy(before) == heavy(after) {
		t.Error("another numpy, which pytorch needs, does not change its layer")
	}
}

func TestSplitHeavy(t *testing.T) {
	names := func(packages []lock.Package) (names []string) {
		for _, p := range packages {
			names = append(names, p.Name)
		}
		return names
	}
	l := testLock(open(t, write(t, environmentFile)))
	heavy, rest := splitHeavy(l.Conda)
	if got := names(heavy); !slices.Equal(got, []string{"python", "numpy", "pytorch"}) {
		t.Errorf("heavy are %v", got)
	}
	if got := names(rest); !slices.Equal(got, []string{"pyyaml"}) {
		t.Errorf("the rest are %v", got)
	}
	heavy, rest = splitHeavy([]lock.Package{{Name: "python"}, {Name: "six", Depends: []string{"python", "python_abi 3.9.*"}}})
	if len(heavy) != 0 || len(rest) != 2 {
		t.Errorf("without PyTorch heavy are %v, the rest %v", names(heavy), names(rest))
	}
	// A circle of dependencies, as python and pip have it.
	heavy, _ = splitHeavy([]lock.Package{{Name: "mkl", Depends: []string{"a"}}, {Name: "a", Depends: []string{"mkl"}}})
	if len(heavy) != 2 {
		t.Errorf("of a circle heavy are %v", names(heavy))
	}
}

// What is large stays where it is when another pip or conda line is edited.
func TestSplitHeavyPip(t *testing.T) {
	p := open(t, write(t, environmentFile))
	layers := func(s solution) map[string]string {
		context, err := dockerfiles.RenderImage(p.image(lockOf(p, lock.Base{Reference: baseName}, s)))
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, name := range []string{"heavy.json", "heavypip.json", "conda.json", "pipdeps.json", "pip.json"} {
			files[name] = string(context.Files[name])
		}
		return files
	}
	make := func(tqdm, pyyaml string) solution {
		python := condaPackage{Name: "python", Version: "3.9.18", Channel: "conda-forge", File: "python-3.9.18-0.conda", Depends: []string{"openssl >=3"}}
		return solution{
			Conda: []condaPackage{
				{Name: "openssl", Version: "3", Channel: "conda-forge", File: "openssl-3-0.conda"}, python,
				{Name: "pyyaml", Version: pyyaml, Channel: "conda-forge", File: "pyyaml-0.conda", Depends: []string{"python"}},
			},
			Pip: []distribution{
				{Name: "nvidia-cublas-cu12", Version: "12.8.4.1", Index: "pypi"}, {Name: "torch", Version: "2.8.0", Index: "pypi"},
				{Name: "tqdm", Version: tqdm, Index: "pypi", Hashes: []string{"sha256:" + strings.Repeat("b", 64)}},
				{Name: "sympy", Version: "1.14.0", Index: "pypi", Hashes: []string{"sha256:" + strings.Repeat("c", 64)}},
			},
		}
	}
	before, pip, conda := layers(make("4.66.5", "6.0")), layers(make("4.66.4", "6.0")), layers(make("4.66.5", "6.1"))
	for _, name := range []string{"heavy.json", "heavypip.json", "conda.json", "pipdeps.json"} {
		if before[name] == "" || before[name] != pip[name] {
			t.Errorf("an edit of tqdm changes %s:\n%s\n%s", name, before[name], pip[name])
		}
	}
	for _, name := range []string{"heavy.json", "heavypip.json"} {
		if before[name] != conda[name] {
			t.Errorf("an edit of pyyaml changes %s:\n%s", name, conda[name])
		}
	}
	if !strings.Contains(before["heavypip.json"], "torch") || strings.Contains(before["pip.json"], "torch") || !strings.Contains(before["heavy.json"], "openssl") {
		t.Errorf("the layers are %v", before)
	}
	// pip's torch over conda's comes after conda's.
	over := make("4.66.5", "6.0")
	over.Conda = append(over.Conda, condaPackage{Name: "pytorch", Version: "2.7.0", Channel: "conda-forge", File: "pytorch-2.7.0-0.conda"})
	if files := layers(over); strings.Contains(files["heavypip.json"], `"torch"`) || !strings.Contains(files["pip.json"], `"torch"`) {
		t.Errorf("the layers are %v", files)
	}
}

// The first edit after a first build must find the layers of that.
func TestImageOfALockReadBack(t *testing.T) {
	p := open(t, write(t, environmentFile))
	solved := testLock(p)
	solved.Conda = append([]lock.Package{}, solved.Conda...)
	slices.Reverse(solved.Conda)
	read, err := lock.Parse(solved.Marshal(), "crun.lock")
	if err != nil {
		t.Fatal(err)
	}
	texts := [2]string{}
	for i, l := range []*lock.Lock{solved, read} {
		context, err := dockerfiles.RenderImage(p.image(l))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = dump(context)
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Error(diff)
	}
}

func TestChannels(t *testing.T) {
	for name, want := range map[string]string{
		"conda-forge": "https://conda.anaconda.org/conda-forge", "nvidia/label/cuda-12.4.0": "https://conda.anaconda.org/nvidia/label/cuda-12.4.0",
		"pkgs/main": "https://repo.anaconda.com/pkgs/main", "https://lab.example/conda": "https://lab.example/conda",
	} {
		if got := channelURL(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	p := open(t, write(t, "name: a\nchannels: [defaults, pytorch]\ndependencies: [python=3.9]\n"))
	if got := channelsOf(p.Environment); !slices.Equal(got, []string{"pkgs/main", "pkgs/r", "pytorch"}) {
		t.Errorf("the channels are %v", got)
	}
	p = open(t, write(t, "name: a\ndependencies: [python=3.9]\n"))
	if got := channelsOf(p.Environment); !slices.Equal(got, []string{"conda-forge"}) {
		t.Errorf("without channels they are %v", got)
	}
}

func TestSecrets(t *testing.T) {
	p := open(t, write(t, environmentFile))
	s := Sources{
		Conda: map[string]string{"conda-forge": "http://mirror.lab/cf/", "unused": "http://mirror.lab/unused"},
		Apt:   map[string]string{"debian": "http://mirror.lab/debian"}, PipIndex: "https://user:secret@mirror.lab/simple", CA: []byte("PEM"),
		PipExtra: []string{"https://user:secret@wheels.lab/simple"},
	}
	secrets := s.secrets(p.Environment)
	var file sourcesFile
	if err := json.Unmarshal(secrets[dockerfiles.SecretSources], &file); err != nil {
		t.Fatal(err)
	}
	want := sourcesFile{
		Channels: map[string][]string{"https://conda.anaconda.org/conda-forge": {"http://mirror.lab/cf"}},
		Indexes:  map[string]string{"pypi": "https://user:secret@mirror.lab/simple"},

		ExtraIndexes: []string{"https://user:secret@wheels.lab/simple"},
		Hidden:       []string{"secret"},
	}
	if diff := cmp.Diff(want, file); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{dockerfiles.SecretCA, dockerfiles.SecretApt, dockerfiles.SecretPipConf} {
		if len(secrets[name]) == 0 {
			t.Errorf("there is no secret %s", name)
		}
	}
	// None of it may be in what decides about the cache or comes into an image.
	e := newEngine(t)
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: p, Sources: s}); err != nil {
		t.Fatal(err)
	}
	for _, job := range append(e.solves, e.builds...) {
		text := job.Dockerfile
		for _, data := range job.Files {
			text += string(data)
		}
		for _, secret := range []string{"mirror.lab", "secret@", "PEM"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: the context holds %q", job.Title, secret)
			}
		}
	}
}

func TestPipConf(t *testing.T) {
	for index, want := range map[string]string{
		"https://u:p@mirror.lab/simple":    "[global]\nindex-url = https://u:p@mirror.lab/simple\n",
		"http://u:p@mirror.lab:80/simple/": "[global]\nindex-url = http://u:p@mirror.lab:80/simple/\ntrusted-host = mirror.lab:80\n",
	} {
		if got := (Sources{PipIndex: index}).pipConf(); got != want {
			t.Errorf("the pip.conf for %s is %q, want %q", index, got, want)
		}
	}
}

func TestHostNetwork(t *testing.T) {
	p := open(t, write(t, environmentFile))
	for name, test := range map[string]struct {
		sources Sources
		want    bool
	}{
		"nothing":               {Sources{}, false},
		"a proxy on this host":  {Sources{Proxy: buildkit.Proxy{HTTP: "http://127.0.0.1:3128"}}, true},
		"a proxy without http":  {Sources{Proxy: buildkit.Proxy{HTTPS: "localhost:3128"}}, true},
		"a mirror on this host": {Sources{Conda: map[string]string{"conda-forge": "http://[::1]:80/x"}}, true},
		"a mirror elsewhere":    {Sources{Conda: map[string]string{"conda-forge": "http://10.0.0.1/x"}}, false},
		"a mirror not asked":    {Sources{Conda: map[string]string{"bioconda": "http://127.0.0.1/x"}}, false},
	} {
		if got := test.sources.needsHostNetwork(p.Environment); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRepository(t *testing.T) {
	for _, test := range [][2]string{
		{"debian", "debian"}, {"debian:12", "debian"}, {"lab:5000/a/b", "lab:5000/a/b"}, {"lab:5000/a/b:c", "lab:5000/a/b"},
		{"debian:12@sha256:ab", "debian"}, {"docker.io/library/debian@sha256:ab", "docker.io/library/debian"},
	} {
		if got := repository(test[0]); got != test[1] {
			t.Errorf("the repository of %s is %s, want %s", test[0], got, test[1])
		}
	}
	if !sameRepository("debian@sha256:ab", "docker.io/library/debian:12") || sameRepository("a/debian@sha256:ab", "debian") {
		t.Error("repositories are told apart by more or less than their names")
	}
}
