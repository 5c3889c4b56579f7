package environment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOtherKinds(t *testing.T) {
	for _, test := range []struct {
		name, tree, python string
		// want are facts as in the .want files.
		want map[string]string
	}{
		{"requirements", `-- lab/requirements.txt --
# what it needs
-c held.txt
torch==2.4.0 --extra-index-url https://example.org/whl
einops ; python_version < "3.10"
-- lab/held.txt --
numpy<2
`, "", map[string]string{
			"name": "lab", "channels": "", "conda": "python=3.9 | pip", "lint": "python-added",
			"pip": `torch==2.4.0 | --extra-index-url https://example.org/whl | einops; python_version < "3.10"`,
		}},
		{"requirements, python given", "-- requirements.txt --\n", "3.11", map[string]string{"conda": "python=3.11 | pip", "pip": "", "lint": ""}},
		{"mistakes", "-- requirements.txt --\ntorch=2.4\n\n  numpy >= 1.20 <2\n", "", map[string]string{
			"error": `1:1 "torch=2.4" has one "=", which is conda's; pip's is "torch==2.4"` + "\n" +
				`3:3 "numpy >= 1.20 <2" has the version ">= 1.20 <2"; allowed are such as ==1.2.3 and >=1.2,<2`,
		}},
		{"a torch that the usual Python is too old for", "-- requirements.txt --\ntorch==2.13.0\n", "", map[string]string{
			"error": `1:1 torch 2.13.0 needs Python 3.10 or newer; the last for 3.9 is 2.8; the file names no Python, so that 3.9 is taken: choose another one with --python 3.10`,
		}},
		{"a torch that the usual Python is too new for", "-- requirements.txt --\ntorch==1.4.0\n", "", map[string]string{
			"error": `1:1 torch 1.4.0 has no build for Python 3.9; the first that has one is 1.7.1; the file names no Python, so that 3.9 is taken: choose another one with --python 3.8`,
		}},
		{"a torch that is too old for every Python", "-- requirements.txt --\ntorch==1.2.0\n", "", map[string]string{
			"error": `1:1 torch 1.2.0 has no build for Python 3.9; the first that has one is 1.7.1; the file names no Python, so that 3.9 is taken`,
		}},
		{"a torch that the chosen Python is too new for", "-- requirements.txt --\ntorch==1.7.0\n", "3.9", map[string]string{
			"error": `1:1 torch 1.7.0 has no build for Python 3.9; the first that has one is 1.7.1`,
		}},
		{"conda list", "-- requirements.txt --\n# This file may be used to create an environment using:\n# $ conda create --name <env> --file <this file>\n_libgcc_mutex=0.1=main\n", "", map[string]string{
			"error": `1:1 this is a list that "conda list" wrote, of one machine's exact packages; write an environment file of what was asked for: "crun init --from-conda NAME", or "conda env export --from-history"`,
		}},
		{"pyproject", `-- pyproject.toml --
[build-system]
requires = ["setuptools"]
[project]
name = "lab"
requires-python = ">=3.10,<3.13"
dependencies = [
  "torch>=2.4",
  'numpy<2 ; python_version < "3.13"',
]
[project.optional-dependencies]
dev = ["ruff"]
[tool.uv.sources]
torch = { index = "x" }
`, "", map[string]string{
			"conda": "python=3.10 | pip", "lint": "python-chosen key-ignored",
			"pip": `torch>=2.4 | numpy<2; python_version < "3.13" | -e .`,
		}},
		{"pyproject, dynamic", `-- pyproject.toml --
[project]
name = "lab"
requires-python = ">=3.8"
dynamic = ["version", "dependencies"]
[tool.setuptools.dynamic]
dependencies = { file = ["requirements.in"] }
-- requirements.in --
tqdm
`, "", map[string]string{"conda": "python=3.9 | pip", "pip": "tqdm", "lint": "python-added"}},
		{"pyproject, mistakes", `-- pyproject.toml --
[project]
requires-python = "3.10"
dependencies = [
  "torch=2.4", 3,
  "--pre",
]
`, "", map[string]string{
			"error": `2:19 requires-python is "3.10"; allowed is a constraint such as ">=3.9" or ">=3.9,<3.13"` + "\n" +
				`3:1 the item is neither text, a list nor a table, not a requirement; write it in quotes` + "\n" +
				`4:3 "torch=2.4" has one "=", which is conda's; pip's is "torch==2.4"` + "\n" +
				`5:3 "--pre" is an option of pip, which [project] cannot hold; write it into a requirements.txt with "-e .", and build that`,
		}},
		{"a Python that it allows", "-- pyproject.toml --\n[project]\nrequires-python = '==3.9.*'\ndependencies = []\n", "", map[string]string{"conda": "python=3.9 | pip", "lint": "python-added"}},
		{"one release of Python alone", "-- pyproject.toml --\n[project]\nrequires-python = '==3.9.7'\ndependencies = []\n", "", map[string]string{"conda": "python=3.9.7 | pip", "lint": "python-chosen"}},
		{"patches of Python that it rules out", "-- pyproject.toml --\n[project]\nrequires-python = '>=3.8, !=3.9.7, <3.9.10'\ndependencies = []\n", "", map[string]string{"conda": "python=3.9,!=3.9.7,<3.9.10 | pip", "lint": "python-added"}},
		{"patches, Python given", "-- pyproject.toml --\n[project]\nrequires-python = '>=3.8,<3.9.10'\ndependencies = []\n", "3.9", map[string]string{"conda": "python=3.9,<3.9.10 | pip", "lint": ""}},
		{"patches of another Python", "-- pyproject.toml --\n[project]\nrequires-python = '>=3.10.2,<3.13.1'\ndependencies = []\n", "", map[string]string{"conda": "python=3.10,>=3.10.2 | pip", "lint": "python-chosen"}},
		{"patches of Poetry's Python", "-- pyproject.toml --\n[tool.poetry.dependencies]\npython = '~3.9.1'\n", "", map[string]string{"conda": "python=3.9,>=3.9.1 | pip", "lint": "python-added"}},
		{"tables of other tools", `-- pyproject.toml --
[project]
dependencies = ["torch==2.4.1"]
[[tool.pdm.source]]
name = "torch"
[[tool.poetry.source]]
name = "torch"
[tool.poetry.dependencies]
torch = { source = "torch" }
[tool.pixi.dependencies]
ffmpeg = "*"
[tool.uv]
exclude-dependencies = ["numpy"]
`, "", map[string]string{"lint": "python-added key-ignored key-ignored key-ignored key-ignored key-ignored"}},
		{"Pipfile", "-- Pipfile --\n[[source]]\nurl = 'https://example.org/simple'\n[packages]\ntorch = {version= '==2.4.1'}\n", "", map[string]string{
			"error": `3:2 the packages of [packages] are pipenv's own form; "pipenv requirements > requirements.txt" writes the file to build`,
		}},
		{"a list for conda create", "-- requirements.txt --\n# This file may be used to create an environment using:\n# $ conda create --name <env> --file <this file>\npython=3.8\npytorch=1.6=py3.8_cuda10.2.89_cudnn7.6.5_0\n", "", map[string]string{
			"error": `1:1 this is a list of conda packages, for "conda create --file"; put them under "dependencies:" of an environment.yml, one an item ("- python=3.9")`,
		}},
		{"an option with a condition", "-- requirements.txt --\n--extra-index-url=https://example.org/whl ; sys_platform  != 'darwin'\ntorch\n", "3.11", map[string]string{
			"pip": "--extra-index-url https://example.org/whl | torch", "lint": "option-unused cuda-driver",
		}},
		{"wheels of other systems", `-- requirements.txt --
torch@https://example.org/torch-1.13.1-cp38-cp38-win_amd64.whl
https://example.org/tools-1.0-cp39-cp39-macosx_11_0_arm64.whl
https://example.org/other-1.0-cp38-cp38-win_amd64.whl ; platform_system == "Windows"
https://example.org/window-1.0-py3-none-any.whl
`, "3.9", map[string]string{"lint": "other-platform other-platform"}},
		{"python that it does not allow", "-- pyproject.toml --\n[project]\nrequires-python = '>=3.10'\ndependencies = []\n", "3.9", map[string]string{
			"error": `2:19 requires-python ">=3.10" does not allow --python 3.9; leave --python out, or change the file`,
		}},
		{"dynamic, by its build", "-- pyproject.toml --\n[project]\ndynamic = ['dependencies']\n", "", map[string]string{
			"error": `2:1 dependencies are "dynamic", so that only a build of the package knows them; write a requirements.txt with "-e .", and build that`,
		}},
		{"extras and groups", extrasTree, "", map[string]string{"pip": "torch | seaborn | wandb | pandas | ruff | pytest>=8"}},
		{"extras in a circle", "-- pyproject.toml --\n[project]\nname = 'lab'\n[project.optional-dependencies]\nPlots = ['lab[logs]', 'seaborn']\nlogs = ['lab[plots]', 'wandb']\nall = []\n[dependency-groups]\ndev = ['ruff']\n", "", map[string]string{"pip": "wandb | seaborn | ruff"}},
		{"extras, mistakes", "-- pyproject.toml --\n[project]\nname = 'lab'\n[project.optional-dependencies]\nPlots = 'seaborn'\n[dependency-groups]\ndev = [{include-group = 'nope'}, {other = 1},\n  {include-group = 'plots'}, {include-group = 'loop'}]\nloop = [{include-group = 'dev'}]\n", "", map[string]string{
			"error": `3:10 has no extra for --extra All; there are Plots` + "\n" +
				`4:9 is text; allowed is a list: ["ruff", "pytest>=8"]` + "\n" +
				`6:1 the item is a table, not a requirement; write it in quotes` + "\n" +
				`6:25 has no group for include-group "nope"; there are dev, loop` + "\n" +
				`7:20 has no group for include-group "plots"; it has one under that name for --extra` + "\n" +
				`8:26 the group dev goes round in a circle (the group dev -> the group loop -> the group dev); take one of them out`,
		}},
		{"uv", uvTree, "", map[string]string{
			"lint": "python-added vcs-unpinned key-ignored", "override": "protobuf==3.20",
			"pip": "--extra-index-url https://download.example/whl/cu124 | --find-links https://example.org/wheels | --pre | --no-binary any,other | " +
				"torch==2.6.0+cu124 | torchvision>=0.2 | clip[x] @ git+https://example.org/clip@v1#subdirectory=py ; python_version >= '3.8' | " +
				"geo @ https://example.org/geo-1.zip | own @ ./libs/own | -e ./libs/edit[y] | plain>=1",
			"constraint": "numpy<2",
		}},
		{"uv, a workspace", `-- pyproject.toml --
[project]
name = "root"
dependencies = ["my-lib", "other[x]"]
[tool.uv.sources]
my-lib = { workspace = true }
other = { workspace = true }
[tool.uv.workspace]
members = ["libs/*", "other"]
-- libs/my_lib/pyproject.toml --
[project]
name = "my-lib"
-- other/pyproject.toml --
[project]
name = "other"
`, "", map[string]string{"pip": "-e ./libs/my_lib | -e ./other[x]", "lint": "python-added"}},
		{"uv, a workspace without packages of its own", "-- pyproject.toml --\n[tool.uv.workspace]\nmembers = ['libs/*']\n", "", map[string]string{
			"error": `2:1 is the root of a workspace of uv and asks for no packages itself; name the pyproject.toml of one of its members (libs/*)`,
		}},
		{"uv, dev-dependencies", "-- pyproject.toml --\n[project]\nname = 'x'\ndependencies = ['tqdm']\n[tool.uv]\ndev-dependencies = ['ruff']\n", "", map[string]string{"pip": "tqdm | ruff"}},
		{"uv, mistakes", "-- pyproject.toml --\n[project]\ndependencies = ['a', 'b']\n[tool.uv.sources]\na = { workspace = true }\nb = { git = 'ssh://x y' }\n[[tool.uv.index]]\nname = 'n'\n", "", map[string]string{
			"error": "2:22 \"b @ git+ssh://x y\" holds the character ' ', which is not allowed here\n" +
				"4:1 the source of a is of a workspace, of which no member of that name is found from here; write where it lies: a = { path = \"../a\" }\n" +
				"6:11 the index \"n\" has no url; write url = \"https://...\"",
		}},
		{"Poetry", poetryTree, "", map[string]string{
			"conda": "python=3.10 | pip", "lint": "python-chosen vcs-unpinned",
			"pip": "--extra-index-url https://example.org/simple | torch>=2.1,<3 | numpy>=1.24.3,<1.25 | tqdm==4.66.4 | einops>=0.3.1,<0.4 | any | " +
				`uvicorn[standard]>=0.20; sys_platform == "linux" and python_version >= "3.8" and python_version < "4" | ` +
				"clip @ git+https://example.org/clip@main | -e ./libs/own | geo==1.0+cpu",
		}},
		{"Poetry, extras and groups", strings.Replace(poetryTree, "^3.10", "~3.9", 1), "", map[string]string{"conda": "python=3.9 | pip"}},
		{"extras of Poetry", "-- pyproject.toml --\n[tool.poetry.dependencies]\npython = '*'\nwandb = { version = '*', optional = true }\nseaborn = { version = '*', optional = true }\nhidden = { version = '*', optional = true }\n[tool.poetry.extras]\nplots = ['seaborn']\nall = ['wandb']\n[tool.poetry.dev-dependencies]\nruff = '0.5'\n", "", map[string]string{
			"pip": "wandb | seaborn | ruff==0.5",
		}},
		{"Poetry 2", "-- pyproject.toml --\n[project]\nname = 'x'\nrequires-python = '>=3.9'\ndynamic = ['dependencies']\n[tool.poetry.dependencies]\ntqdm = '^4'\n", "", map[string]string{"pip": "tqdm>=4,<5", "lint": "python-added"}},
		{"Poetry, mistakes", "-- pyproject.toml --\n[tool.poetry.dependencies]\npython = '^3.9 || ^3.11'\na = 3\nb = 'newest'\n", "", map[string]string{
			"error": `2:10 python has the version "^3.9 || ^3.11", of which pip knows no alternatives; write one range (">=1.2,<3")` + "\n" +
				`3:1 a is neither text, a list nor a table; allowed is a version in quotes ("^1.2", "*") or a table` + "\n" +
				`4:5 b has the version "newest"; allowed are such as "^1.2", "~1.2", ">=1.2,<2", "1.2.*" and "*"`,
		}},
		{"settings", "-- pyproject.toml --\n[tool.black]\nline-length = 99\n", "", map[string]string{
			"error": `1:1 has no [project] table, so it asks for no packages; write [project] with dependencies = ["torch"], or a requirements.txt or environment.yml`,
		}},
		{"not TOML", "-- pyproject.toml --\n[project\n", "", map[string]string{"error": "1:9 the name of a table is letters, digits, - and . in brackets: [project] or [[tool.uv.index]]"}},
		{"standard input, requirements", "-- <stdin> --\ntorch\ntqdm==4 \\\n  --hash=sha256:" + strings.Repeat("0", 64) + "\n", "", map[string]string{"pip": "torch | tqdm==4 --hash=sha256:" + strings.Repeat("0", 64)}},
		{"standard input, TOML", "-- <stdin> --\n# x\n[project]\ndependencies = ['torch']\n", "", map[string]string{"pip": "torch"}},
		{"standard input, YAML", "-- <stdin> --\ndependencies: [python=3.9, numpy]\n", "", map[string]string{"conda": "python=3.9 | numpy"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, data, opts := tree(test.tree)
			opts.Python = test.python
			if strings.HasSuffix(test.name, "dev-dependencies") {
				opts.Groups = []string{"dev"}
			}
			if strings.HasPrefix(test.name, "extras") {
				opts.ProjectExtras, opts.Groups = []string{"plots", "All"}, []string{"dev"}
			}
			env, findings, err := Parse(data, opts)
			got := facts(env, findings, err)
			if env != nil {
				for _, r := range env.Constraints {
					got["constraint"] += r.Text
				}
				for _, r := range env.Overrides {
					got["override"] += r.Text
				}
			}
			for key, want := range test.want {
				if got[key] != want {
					t.Errorf("%s is\n%s\nwant\n%s", key, got[key], want)
				}
			}
			if test.want["error"] == "" && err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAllowsPython(t *testing.T) {
	for constraint, want := range map[string][2]bool{ // 3.9 and 3.12
		">=3.8": {true, true}, ">=3.10": {false, true}, "<3.10": {true, false}, "<=3.9": {true, false}, "~=3.9": {true, true},
		"~=3.9.1": {true, false}, "==3.9.*": {true, false}, "!=3.9.*": {false, true}, ">3.9": {true, true}, ">=3.9.5,<4": {true, true},
		"<4": {true, true}, ">=3.9,<3.12": {true, false}, "==3.12": {false, true}, "<3.9": {false, false},
	} {
		got := [2]bool{allowsPython(constraint, release{3, 9}), allowsPython(constraint, release{3, 12})}
		if got != want {
			t.Errorf("%s: %v, want %v", constraint, got, want)
		}
	}
}

func TestFindOtherKinds(t *testing.T) {
	dir := t.TempDir()
	add := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	find := func() string {
		path, err := Find(dir)
		if err != nil {
			return ""
		}
		return filepath.Base(path)
	}
	add("pyproject.toml", "[tool.black]\n")
	if got := find(); got != "" {
		t.Errorf("settings are an environment: %s", got)
	}
	add("pyproject.toml", "[project]\nname='x'\n")
	for _, name := range []string{"pyproject.toml", "requirements.txt", "conda-lock.yml", "conda.yaml", "environment.yml"} {
		if name != "pyproject.toml" {
			add(name, "")
		}
		if got := find(); got != name {
			t.Errorf("found %s, want %s", got, name)
		}
	}
}

const extrasTree = `-- pyproject.toml --
[project]
name = "The_Lab"
dependencies = ["torch"]
[project.optional-dependencies]
Plots = ["seaborn"]
logs = ["wandb"]
all = ["the-lab[plots, logs]", "pandas"]
docs = ["sphinx"]
[dependency-groups]
lint_tools = ["ruff"]
dev = [{include-group = "lint-tools"}, "pytest>=8", "The.Lab[logs]"]
`

func TestNoExtras(t *testing.T) {
	for _, file := range []string{"environment.yml", "requirements.txt"} {
		_, _, err := Parse([]byte("dependencies: [numpy]\n"), Options{File: file, ProjectExtras: []string{"plots"}})
		if err == nil || !strings.Contains(err.Error(), `has no extras and no groups, which a pyproject.toml alone has; name that file, or leave "--extra plots" out`) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

const uvTree = `-- pyproject.toml --
[project]
dependencies = ["torch==2.6.0+cu124", "torchvision>=0.2", "clip[x]>=1 ; python_version >= '3.8'", "geo", "own", "edit[y]", "plain>=1"]
[tool.uv]
constraint-dependencies = ["numpy<2"]
prerelease = "allow"
no-binary-package = ["any", "other"]
override-dependencies = ["protobuf==3.20"]
[tool.uv.sources]
torch = [
  { index = "cpu", marker = "sys_platform == 'darwin'" },
  { index = "cu124", marker = "sys_platform == 'linux'" },
]
torchvision = { index = "cu124" }
clip = { git = "https://example.org/clip", tag = "v1", subdirectory = "py" }
geo = { url = "https://example.org/geo-1.zip" }
own = { path = "libs/own" }
edit = { path = "libs/edit", editable = true }
plain = { path = "libs/plain", marker = "sys_platform == 'win32'" }
[[tool.uv.index]]
name = "cu124"
url = "https://download.example/whl/cu124"
explicit = true
[[tool.uv.index]]
name = "cpu"
url = "https://download.example/whl/cpu"
explicit = true
[[tool.uv.index]]
name = "flat"
url = "https://example.org/wheels"
format = "flat"
-- libs/own/pyproject.toml --
-- libs/edit/pyproject.toml --
`

const poetryTree = `-- pyproject.toml --
[tool.poetry]
name = "lab"
[tool.poetry.dependencies]
python = "^3.10"
torch = "^2.1"
numpy = "~1.24.3"
tqdm = "4.66.4"
einops = "^0.3.1"
any = "*"
uvicorn = { version = ">= 0.20", extras = ["standard"], platform = "linux", python = "^3.8" }
clip = { git = "https://example.org/clip", branch = "main" }
own = { path = "libs/own", develop = true }
geo = { version = "1.0+cpu", source = "lab" }
[tool.poetry.group.dev.dependencies]
ruff = "*"
[[tool.poetry.source]]
name = "lab"
url = "https://example.org/simple"
priority = "explicit"
[[tool.poetry.source]]
name = "other"
url = "https://example.org/other"
priority = "explicit"
-- libs/own/pyproject.toml --
`

func TestPoetryVersions(t *testing.T) {
	for text, want := range map[string]string{
		"^1.2.3": ">=1.2.3,<2", "^0.2.3": ">=0.2.3,<0.3", "^0.0.3": ">=0.0.3,<0.0.4", "^0.0": ">=0.0,<0.1", "^0": ">=0,<1", "^1": ">=1,<2",
		"~1.2.3": ">=1.2.3,<1.3", "~1.2": ">=1.2,<1.3", "~1": ">=1,<2", "~=1.2": "~=1.2", "1.2.*": "==1.2.*", "=1.2": "==1.2",
		">=1, <2": ">=1,<2", ">= 1 < 2": ">=1,<2", "!=1.5": "!=1.5", "^1.0.0b2": ">=1.0.0b2,<2", "*": "",
	} {
		if got, err := poetryVersions(text); got != want || err != nil {
			t.Errorf("%s is %s, want %s (%v)", text, got, want, err)
		}
	}
}
