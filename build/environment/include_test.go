package environment

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// tree is the files of a txtar archive, of which the first is the environment.
func tree(text string) (file string, data []byte, opts Options) {
	archive := txtar.Parse([]byte(text))
	files := map[string][]byte{}
	for _, f := range archive.Files {
		files[f.Name] = f.Data
	}
	first := archive.Files[0]
	return first.Name, first.Data, Options{
		File: first.Name, FolderName: "lab",
		ReadFile: func(name string) ([]byte, error) {
			if data, ok := files[name]; ok {
				return data, nil
			}
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		},
		Exists: func(name string) bool {
			_, ok := files[name]
			return ok || slices.ContainsFunc(archive.Files, func(f txtar.File) bool {
				return strings.HasPrefix(f.Name, strings.TrimSuffix(name, "/")+"/") || name == path.Dir(f.Name)
			})
		},
	}
}

func places(requirements []PipRequirement) string {
	var lines []string
	for _, r := range requirements {
		lines = append(lines, fmt.Sprintf("%s %s", r.Pos, r.Text))
	}
	return strings.Join(lines, "\n")
}

func TestIncludedFiles(t *testing.T) {
	_, data, opts := tree(`-- lab/environment.yml --
name: lab
channels: [conda-forge]
dependencies:
  - python=3.9
  - pip
  - pip:
    - -r requirements/train.txt
    - rich
-- lab/requirements/train.txt --
# what a training needs
-i https://user:s3cr3t@pypi.example.org/simple --pre
-c ../constraints.txt
-r base.txt

einops==0.8.0 \
    --hash=sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa \
    --hash=sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
torch==2.1.0+cu121 -f https://example.org/whl/torch.html  # CUDA 12.1
-e "git+https://git.example.org/lab/clip.git@0123456#egg=clip"
  tqdm ; python_version < "3.10"
-e ../libs/se3[dev]
-- lab/requirements/base.txt --
numpy<2
./x-1.0-py3-none-any.whl
-- lab/requirements/x-1.0-py3-none-any.whl --
-- lab/constraints.txt --
scipy==1.10
-- lab/libs/se3/setup.py --
`)
	env, findings, err := Parse(data, opts)
	if err != nil {
		t.Fatal(err)
	}
	hash := func(letter string) string { return " --hash=sha256:" + strings.Repeat(letter, 64) }
	want := `lab/requirements/train.txt:2:1 --index-url https://pypi.example.org/simple
lab/requirements/train.txt:2:1 --pre
lab/requirements/base.txt:1:1 numpy<2
lab/requirements/base.txt:2:1 requirements/x-1.0-py3-none-any.whl
lab/requirements/train.txt:6:1 einops==0.8.0` + hash("a") + hash("b") + `
lab/requirements/train.txt:9:1 torch==2.1.0+cu121
lab/requirements/train.txt:9:1 --find-links https://example.org/whl/torch.html
lab/requirements/train.txt:10:1 -e git+https://git.example.org/lab/clip.git@0123456#egg=clip
lab/requirements/train.txt:11:3 tqdm; python_version < "3.10"
lab/requirements/train.txt:12:1 -e libs/se3[dev]
lab/environment.yml:8:7 rich`
	if diff := cmp.Diff(want, places(env.Pip[0].Requirements)); diff != "" {
		t.Errorf("pip (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("lab/constraints.txt:1:1 scipy==1.10", places(env.Constraints)); diff != "" {
		t.Errorf("constraints (-want +got):\n%s", diff)
	}
	if got := env.Pip[0].Requirements[3].Path; got != "requirements/x-1.0-py3-none-any.whl" {
		t.Errorf("the wheel beside the file that names it is %q", got)
	}
	if got := env.Pip[0].Requirements[9].Path; got != "libs/se3" {
		t.Errorf("the folder is %q", got)
	}
	if len(env.Credentials) != 1 || env.Credentials[0].Pos.String() != "lab/requirements/train.txt:2:1" {
		t.Errorf("credentials %v", env.Credentials)
	}
	if text := fmt.Sprint(findings, string(env.Canonical())); strings.Contains(text, "s3cr3t") {
		t.Errorf("the password is in %s", text)
	}
	if !strings.Contains(fmt.Sprint(findings), "lab/requirements/train.txt:2:1: warning: the address https://pypi.example.org/simple has a credential") {
		t.Errorf("findings %v", findings)
	}
	// The same lines in one file are the same environment.
	moved := "name: lab\nchannels: [conda-forge]\ndependencies:\n- python=3.9\n- pip\n- pip: [-c constraints.txt, -r all.txt]\n"
	all := "--index-url https://pypi.example.org/simple\n--pre\nnumpy<2\nrequirements/x-1.0-py3-none-any.whl\neinops==0.8.0" + hash("a") + hash("b") +
		"\ntorch==2.1.0+cu121\n--find-links https://example.org/whl/torch.html\n-e git+https://git.example.org/lab/clip.git@0123456#egg=clip\n" +
		"tqdm;python_version<'3.10'\n-e libs/se3[dev]\nrich\n"
	inner := opts.ReadFile
	opts.ReadFile = func(name string) ([]byte, error) {
		if name == "lab/all.txt" {
			return []byte(strings.ReplaceAll(all, "'", `"`)), nil
		}
		return inner(name)
	}
	again, _, err := Parse([]byte(moved), opts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(env.Canonical()), string(again.Canonical())); diff != "" {
		t.Errorf("the same lines elsewhere:\n%s", diff)
	}

}

func TestIncludedFilesRefused(t *testing.T) {
	_, data, opts := tree(`-- environment.yml --
name: lab
channels: [conda-forge]
dependencies:
  - python=3.9
  - pip
  - pip:
    - -r a.txt
    - -r missing.txt
    - -r https://example.org/r.txt
    - -c held.txt
    - ./nowhere
    - -r binary.txt
-- a.txt --
numpy=1.26
-r sub/b.txt
requests [socks
--upgrade-all
tqdm --install-option=x
-- sub/b.txt --

  -r ../a.txt
python==3.9
scipy @ file:///croot/scipy_1665656455/work
-- held.txt --
./libs
rich[jupyter]<14
-- binary.txt --
`)
	inner := opts.ReadFile
	opts.ReadFile = func(name string) ([]byte, error) {
		if name == "binary.txt" {
			return []byte("a\x00b"), nil
		}
		return inner(name)
	}
	_, findings, err := Parse(data, opts)
	if len(findings) > 0 {
		t.Errorf("findings %v", findings)
	}
	want := `environment.yml:8:7: "-r missing.txt" names missing.txt, which does not exist; add it, or take the line out
environment.yml:9:7: "-r https://example.org/r.txt" is on a server, and may say something else tomorrow; keep a copy of it beside this file and name that
environment.yml:11:7: "./nowhere" names nowhere, which does not exist; add it, or take the line out
environment.yml:12:7: "-r binary.txt" names binary.txt, which is a binary file, not text
a.txt:1:1: "numpy=1.26" has one "=", which is conda's; pip's is "numpy==1.26"
a.txt:3:1: "requests [socks" has extras that are none: "[socks"; allowed are such as [socks] and [dev,test]
a.txt:4:1: "--upgrade-all" has the option --upgrade-all, which pip does not know
a.txt:5:1: "--install-option=x" has the option --install-option, which pip does not know
sub/b.txt:2:3: "-r ../a.txt" goes round in a circle (a.txt -> sub/b.txt -> a.txt); take one of the lines out
sub/b.txt:3:1: python is no pip package; write "- python=3.9" above, under dependencies
sub/b.txt:4:1: "scipy @ file:///croot/scipy_1665656455/work" is a folder of the machine that built the conda package, written by "pip freeze"; write "scipy", with the version that "pip list" shows
held.txt:1:1: "./libs" is a place and no version, which a file of constraints cannot say; name it with a requirement
held.txt:2:1: "rich[jupyter]<14" asks for extras, which a constraint cannot; take them out here`
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !errors.As(err, new(interface{ Unwrap() []error })) {
		t.Error("the errors are not joined")
	}
}

func TestHashes(t *testing.T) {
	_, data, opts := tree(`-- requirements.yml --
channels: [conda-forge]
dependencies:
  - python=3.9
  - pip
  - pip:
    - --require-hashes
    - tqdm==4.66.5 --hash=sha512:` + strings.Repeat("0", 128) + `
    - einops @ https://example.org/einops-1-py3-none-any.whl
    - rich==13.0 --hash=sha256:` + strings.Repeat("0", 64) + `
    - git+https://example.org/x.git@0123456#egg=x
    - git+https://example.org/y.git --hash=sha256:` + strings.Repeat("0", 64) + `
`)
	_, _, err := Parse(data, opts)
	want := []string{
		`requirements.yml:7:7: "tqdm==4.66.5 --hash=sha512:`, "has no hash of the kind sha256",
		`requirements.yml:8:7: "einops @ https://example.org/einops-1-py3-none-any.whl" has no hash, which --require-hashes (requirements.yml:6:7) asks for`,
		`requirements.yml:11:7:`, "has a hash, which a repository cannot have",
	}
	for _, text := range want {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v lacks %q", err, text)
		}
	}
	if err != nil && strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v", err)
	}
}

// A release with a file for each platform and Python has that many hashes.
func TestManyHashes(t *testing.T) {
	for _, name := range []string{"requirements.txt", "environment.yml"} {
		for count, want := range map[int]string{150: "", 1000: "bytes long; a requirement has at most 65536"} {
			line := "rpds-py==0.18.0"
			for i := range count {
				line += fmt.Sprintf(" --hash=sha256:%064x", i)
			}
			text := strings.ReplaceAll(line, " --", " \\\n    --") + "\n"
			if name == "environment.yml" {
				text = "channels: [conda-forge]\ndependencies:\n  - python=3.9\n  - pip\n  - pip:\n    - " + line + "\n"
				want = strings.ReplaceAll(want, "a requirement", "a pip requirement")
			}
			env, _, err := Parse([]byte(text), Options{File: name, FolderName: "lab"})
			switch {
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s, %d hashes: %v, want %q", name, count, err, want)
			case want == "" && (err != nil || len(env.Pip[0].Requirements[0].Hashes()) != count):
				t.Errorf("%s, %d hashes: %v", name, count, err)
			}
		}
	}
}
