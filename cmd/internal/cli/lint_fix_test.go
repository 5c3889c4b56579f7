package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const exportedFile = `name: a
channels:
  - conda-forge
dependencies:
  - labtools=1.0=h1_0 # ours
  - openssl=3.1.4=h1_0
  - python=3.9.16=h1_0
  - readline=8.2=h1_0
  - tk=8.6.12=h1_0
  - vc=14.2=h1_0
  - xz=5.2.6=h1_0
  - zlib=1.2.13=h1_0
prefix: /x
`

const shortFile = `name: a
channels:
  - conda-forge
dependencies:
  - labtools=1.0 # ours
  - python=3.9.16
`

func TestLintFix(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "environment.yml")
	writeFiles(t, dir, map[string]string{"environment.yml": exportedFile})
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	// fix runs crun lint --fix in dir, and gives what it says with the folder
	// left out.
	fix := func(args ...string) (code int, stdout, stderr string) {
		code, stdout, stderr = runIn(t, dir, nil, append([]string{"lint", "--fix"}, args...)...)
		return code, strings.ReplaceAll(stdout, dir+"/", ""), strings.ReplaceAll(stderr, dir+"/", "")
	}

	code, stdout, stderr := fix("--dry-run")
	if code != 0 || !strings.HasPrefix(stdout, "diff environment.yml environment.yml\n--- environment.yml\n+++ environment.yml\n@@") ||
		!strings.Contains(stdout, "\n-  - openssl=3.1.4=h1_0\n") || !strings.HasPrefix(stderr, "crun: environment.yml: 8 packages -> 2 requests; nothing is written\n") {
		t.Errorf("%d\n%s%s", code, stdout, stderr)
	}
	if read("environment.yml") != exportedFile {
		t.Error("--dry-run writes")
	}

	code, stdout, stderr = fix()
	const want = `crun: environment.yml: 8 packages -> 2 requests; as it was: environment.yml.orig
crun: took out 5 packages that others bring, and the builds of the rest
crun: took out 1 package for another system
crun: took out prefix
crun: kept, because crun does not know whether others bring them: labtools
crun: environment.yml: nothing to say
`
	if code != 0 || stdout != "" || stderr != want {
		t.Errorf("%d\n%s%s", code, stdout, stderr)
	}
	if read("environment.yml") != shortFile || read("environment.yml.orig") != exportedFile {
		t.Errorf("%s\n%s", read("environment.yml"), read("environment.yml.orig"))
	}
	for _, name := range []string{"environment.yml", "environment.yml.orig"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o640 {
			t.Error(name, info.Mode(), err)
		}
	}

	if code, stdout, stderr = fix(); code != 0 || stdout != "" || stderr != "crun: environment.yml: nothing to fix\ncrun: environment.yml: nothing to say\n" {
		t.Errorf("a second time: %d\n%s%s", code, stdout, stderr)
	}

	// What the person wrote first stays; the same content is not kept twice.
	writeFiles(t, dir, map[string]string{"environment.yml": shortFile + "prefix: /y\n"})
	if code, _, stderr = fix(); code != 0 || !strings.Contains(stderr, "2 packages -> 2 requests; as it was: environment.yml.orig.2\n") {
		t.Errorf("%d\n%s", code, stderr)
	}
	writeFiles(t, dir, map[string]string{"environment.yml": exportedFile})
	if code, _, stderr = fix("-q"); code != 0 || stderr != "" || read("environment.yml") != shortFile {
		t.Errorf("%d\n%s", code, stderr)
	}
	if read("environment.yml.orig") != exportedFile || !strings.HasSuffix(read("environment.yml.orig.2"), "/y\n") {
		t.Error("an original was overwritten")
	}
	if left, _ := os.ReadDir(dir); len(left) != 3 {
		t.Error(left)
	}
}

func TestLintFixRefusals(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"environment.yml": exportedFile, "broken.yml": brokenFile, "d/x": ""})
	if err := os.Chmod(filepath.Join(dir, "environment.yml"), 0o444); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		code int
		err  string
	}{
		{[]string{"--fix"}, 1, "environment.yml is write-protected; nothing is changed"},
		{[]string{"--fix", "broken.yml"}, 1, "broken.yml: nothing to fix"},
		{[]string{"--fix", "-"}, 2, "--fix changes files, and - is standard input; name the file"},
		{[]string{"--dry-run"}, 2, "--dry-run shows what --fix would change; give both"},
		{[]string{"--fix", "none.yml"}, 1, "none.yml: there is no such file"},
		{[]string{"--fix", "d"}, 1, "crun init writes a first environment.yml, or name another file: FILE\n"},
	} {
		code, _, stderr := runIn(t, dir, nil, append([]string{"lint"}, test.args...)...)
		if code != test.code || !strings.Contains(stderr, test.err) {
			t.Errorf("%q: %d, %s; want %d, %s", test.args, code, stderr, test.code, test.err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "environment.yml")); err != nil || string(data) != exportedFile {
		t.Error("a write-protected file is changed")
	}
}

func TestLintFixJSON(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"environment.yml": exportedFile})
	code, stdout, _ := runIn(t, dir, nil, "lint", "--fix", "--dry-run", "-o", "json")
	var report lintReport
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 0 || len(report.Findings) != 0 || len(report.Fixed) != 3 || report.Fixed[0].Code != "full-export" {
		t.Errorf("%d %v\n%s", code, err, stdout)
	}
}
