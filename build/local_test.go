package build

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
)

// unpack writes the files of a txtar archive into a new folder.
func unpack(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	for _, f := range txtar.Parse([]byte(text)).Files {
		path := filepath.Join(folder, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

const localProject = `-- environment.yml --
name: lab
channels: [conda-forge]
dependencies:
  - python=3.9
  - pip
  - pip:
    - -e .[dev] ; python_version < "4"
    - ./libs/se3
    - --find-links wheels
-- pyproject.toml --
[project]
name = "lab"
-- train.py --
-- big.bin --
-- data/one.txt --
-- src/lab/__init__.py --
-- src/lab/model.py --
-- libs/se3/setup.py --
-- libs/se3/se3/__init__.py --
-- libs/se3/se3/core.py --
-- libs/se3/se3/__pycache__/core.cpython-39.pyc --
-- libs/se3/build/lib/se3/core.py --
-- libs/se3/.git/HEAD --
-- libs/se3/venv/pyvenv.cfg --
-- libs/se3/notes/keep.txt --
-- libs/se3/notes/drop.txt --
-- libs/se3/weights.pt --
-- libs/se3/.dockerignore --
notes/*
!notes/keep.txt
-- .dockerignore --
**/*.pt
-- wheels/a-1.0-py3-none-any.whl --
-- wheels/readme.txt --
`

func sent(p *Project) map[string][]string {
	got := map[string][]string{}
	for _, l := range p.local {
		got[l.kind+" "+l.Path] = slices.Sorted(maps.Keys(l.files))
	}
	return got
}

func TestWhatIsSent(t *testing.T) {
	folder := unpack(t, localProject)
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "libs/se3/se3/passwd")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("core.py", filepath.Join(folder, "libs/se3/se3/link.py")); err != nil {
		t.Fatal(err)
	}
	p := open(t, filepath.Join(folder, "environment.yml"))
	want := map[string][]string{
		"editable .":      {"pyproject.toml", "src/lab/__init__.py", "train.py"},
		"folder libs/se3": {"notes/keep.txt", "se3/__init__.py", "se3/core.py", "se3/link.py", "setup.py"},
		"links wheels":    {"a-1.0-py3-none-any.whl"},
	}
	if diff := cmp.Diff(want, sent(p)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{filepath.Join(folder, "src")}, p.PythonPath()); diff != "" {
		t.Errorf("PYTHONPATH -want +got:\n%s", diff)
	}
	packages, files := p.localSources()
	if one := packages[0]; one.Extras != "[dev]" || one.Marker != `python_version < "4"` || one.Kind != localEditable {
		t.Errorf("%+v", one)
	}
	if _, ok := files["local/1/se3/core.py"]; !ok {
		t.Errorf("files %v", slices.Sorted(maps.Keys(files)))
	}
}

// What an edit of a file changes: nothing, the image, or what has to be chosen.
func TestEditsOfLocalFolders(t *testing.T) {
	for file, want := range map[string]string{
		"train.py":                      "",
		"src/lab/__init__.py":           "",
		"src/lab/model.py":              "",
		"libs/se3/weights.pt":           "",
		"libs/se3/notes/drop.txt":       "",
		"wheels/readme.txt":             "",
		"libs/se3/se3/core.py":          "image",
		"libs/se3/setup.py":             "packages",
		"pyproject.toml":                "packages",
		"wheels/a-1.0-py3-none-any.whl": "packages",
	} {
		folder := unpack(t, localProject)
		before := open(t, filepath.Join(folder, "environment.yml")).Request
		if err := os.WriteFile(filepath.Join(folder, file), []byte("x = 1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		after := open(t, filepath.Join(folder, "environment.yml")).Request
		got := ""
		switch {
		case !after.SameConda(before):
			t.Errorf("%s: conda packages are chosen anew", file)
		case !after.SamePackages(before):
			got = "packages"
		case after.Key() != before.Key():
			got = "image"
		}
		if got != want {
			t.Errorf("an edit of %s changes %q, want %q", file, got, want)
		}
		if reason := lock.Explain(before, after); (want == "") != (reason == "") || want != "" && !strings.HasSuffix(reason, " changed") {
			t.Errorf("an edit of %s: %q", file, reason)
		}
	}
}

func TestLocalLayerComesLast(t *testing.T) {
	p := open(t, filepath.Join(unpack(t, localProject), "environment.yml"))
	s := goodSolution()
	s.Pip = append(s.Pip,
		distribution{Name: "lab", Path: ".", Editable: true}, distribution{Name: "se3", Path: "libs/se3"},
		distribution{Name: "a", Version: "1.0", Path: "wheels/a-1.0-py3-none-any.whl", Hashes: []string{"sha256:" + strings.Repeat("c", 64)}})
	l := p.newLock(lock.Base{Reference: baseName})
	takeConda(l, s)
	takePip(l, s)
	again, err := lock.Parse(l.Marshal(), "crun.lock")
	if err != nil {
		t.Fatal(err)
	}
	image := p.image(again)
	last := image.Layers[len(image.Layers)-1]
	if last.Kind != dockerfiles.KindLocal || strings.Contains(string(last.Content), "tqdm") {
		t.Errorf("the last layer is %s: %s", last.Kind, last.Content)
	}
	for _, layer := range image.Layers[:len(image.Layers)-1] {
		if strings.Contains(string(layer.Content), "se3") {
			t.Errorf("layer %s has the folder: %s", layer.Title, layer.Content)
		}
	}
	if len(image.Local) != 3+4+1 {
		t.Errorf("files %v", slices.Sorted(maps.Keys(image.Local)))
	}
	if _, err := dockerfiles.RenderImage(image); err != nil {
		t.Error(err)
	}
}

// Names that BuildKit cannot be sent, and a .dockerignore that nobody writes to.
func TestLocalFilesThatCannotBeSent(t *testing.T) {
	for want, make := range map[string]func(folder string) error{
		`:6:11: "./pkg" holds a file whose name is not UTF-8 ("pkg/a\xff.py"): rename it, or name it in .dockerignore`: func(folder string) error {
			if err := os.Mkdir(filepath.Join(folder, "pkg"), 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(folder, "pkg", "a\xff.py"), nil, 0o644)
		},
		`:6:11: "./pkg" cannot be sent to a build`: func(folder string) error {
			return syscall.Mkfifo(filepath.Join(folder, ".dockerignore"), 0o644)
		},
	} {
		folder := unpack(t, `-- environment.yml --
name: lab
channels: [conda-forge]
dependencies:
  - python=3.9
  - pip
  - pip: [./pkg]
-- pkg/setup.py --
`)
		if err := make(filepath.Join(folder, "pkg")); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, "environment.yml")
		if _, err := Open(file, Options{Base: baseName, ToolboxBase: "debian", Platform: "linux-64"}); err == nil || !strings.Contains(err.Error(), file+want) {
			t.Errorf("the error is %v, want %q in it", err, want)
		}
	}
	// Names of all other kinds are a file's like any.
	folder := unpack(t, "-- environment.yml --\nchannels: [conda-forge]\ndependencies: [python=3.9, pip, pip: [./pkg]]\n-- pkg/setup.py --\n-- pkg/.dockerignore --\n*\xfe\n")
	odd := []string{"a\nb.py", `c"d.py`, `e\f.py`, "$g.py", "h\x1b[31m.py"}
	for _, name := range append(odd, "ignored\xfe") {
		if err := os.WriteFile(filepath.Join(folder, "pkg", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := open(t, filepath.Join(folder, "environment.yml"))
	for _, name := range odd {
		if _, ok := p.local[0].files[name]; !ok {
			t.Errorf("%q is not sent", name)
		}
	}
}

func TestLocalRefused(t *testing.T) {
	folder := unpack(t, `-- environment.yml --
name: lab
channels: [conda-forge]
dependencies:
  - python=3.9
  - pip
  - pip:
    - ./empty
    - notes.txt/
    - --find-links nowheels
    - --find-links a-1.0.whl
    - ./gone.whl
-- notes.txt --
-- empty/a.txt --
-- nowheels/a.txt --
-- a-1.0.whl --
`)
	file := filepath.Join(folder, "environment.yml")
	_, err := Open(file, Options{Base: baseName, ToolboxBase: "debian", Platform: "linux-64"})
	if err == nil || !strings.Contains(err.Error(), file+`:11:7: "./gone.whl" names `+folder+"/gone.whl, which does not exist") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "gone.whl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Open(file, Options{Base: baseName, ToolboxBase: "debian", Platform: "linux-64"})
	for _, want := range []string{
		`:7:7: "./empty" holds neither pyproject.toml nor setup.py`,
		`:8:7: "notes.txt/" is a file, but no wheel`,
		`:9:7: "--find-links nowheels" holds no wheel`,
		`:10:7: "--find-links a-1.0.whl" is a file`,
	} {
		if err == nil || !strings.Contains(err.Error(), file+want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

func TestImportedFrom(t *testing.T) {
	for want, files := range map[string]fileSet{
		"":       {"pyproject.toml": []byte("[project]\n"), "lab/__init__.py": nil},
		"src":    {"pyproject.toml": []byte("[tool.setuptools.package-dir]\n\"\" = \"src\"\n"), "src/lab/__init__.py": nil},
		"python": {"pyproject.toml": []byte("[tool.setuptools.packages.find]\nwhere = [\"python\"]\n")},
		"code":   {"setup.py": []byte("setup(package_dir={'': 'code'}, packages=find_packages('code'))")},
		"lib":    {"setup.cfg": []byte("[options]\npackage_dir =\n    = lib\n")},
		"pkgs":   {"pyproject.toml": []byte(`packages = [{ include = "lab", from = "pkgs" }]`)},
	} {
		if got := (local{files: files}).importedFrom(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
