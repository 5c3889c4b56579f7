package environment

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"crun.dev/crun/internal/golden"
	"crun.dev/crun/internal/yamlfile"
)

// TestFixes makes each fix of the cases: the finding is then gone, no new error
// has come, and a safe one leaves what is installed as it was.
func TestFixes(t *testing.T) {
	fixed := map[string]int{}
	for _, path := range caseFiles {
		for _, c := range readCases(t, path) {
			before, err := Lint(c.file, Options{FolderName: "x"})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range before {
				if f.Fix == nil {
					continue
				}
				fixed[f.Code]++
				text, after := applyFix(t, c.file, f)
				if f.Severity != SeverityError && count(after, f.Code) >= count(before, f.Code) {
					t.Errorf("%s: %s stays after\n%s\n%v", c.name, f, text, after)
				}
				if errs := countErrors(after); errs > countErrors(before) {
					t.Errorf("%s: %s gives the errors %v in\n%s", c.name, f, after, text)
				}
			}
		}
	}
	for _, code := range []string{"prefix-ignored", "pip-undeclared", "python-added", "pypi-name", "other-platform", "cudatoolkit-ended"} {
		if fixed[code] == 0 {
			t.Errorf("no fix of %s was tried", code)
		}
	}
}

// applyFix makes a fix and gives the file and what is found in it then.
func applyFix(t *testing.T, file []byte, f Finding) ([]byte, []Finding) {
	t.Helper()
	text, err := yamlfile.Apply(file, f.Fix.Edits)
	if err != nil {
		t.Fatalf("%s: %v in\n%s", f, err, file)
	}
	after, err := Lint(text, Options{FolderName: "x"})
	if err != nil {
		t.Fatal(err)
	}
	return text, after
}

func count(findings []Finding, code string) int {
	n := 0
	for _, f := range findings {
		if f.Code == code {
			n++
		}
	}
	return n
}

func countErrors(findings []Finding) int {
	n := 0
	for _, f := range findings {
		if f.Severity == SeverityError {
			n++
		}
	}
	return n
}

// TestCodes: what the package finds is explained and listed, and nothing else.
func TestCodes(t *testing.T) {
	found := map[string]bool{}
	sources, _ := filepath.Glob("*.go")
	for _, source := range sources {
		if source == "codes_table.go" || strings.HasSuffix(source, "_test.go") {
			continue
		}
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\.find\("([^"]+)"|[cC]ode[A-Z][A-Za-z]+ += "([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
			found[m[1]+m[2]] = true
		}
	}
	list, err := os.ReadFile("../../docs/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	const table = "| code | weight | what |\n| --- | --- | --- |\n"
	page, _, _ := strings.Cut(string(list), table)
	page += table
	rank := map[Severity]int{SeverityError: 0, SeverityWarning: 1, SeverityNote: 2}
	for i, c := range Codes() {
		if !found[c.Name] {
			t.Errorf("%s is explained, but nothing gives it", c.Name)
		}
		delete(found, c.Name)
		if c.Summary == "" || c.Text == "" || c.Source == "" || strings.ContainsAny(c.Summary, "\n|") {
			t.Errorf("%s lacks something: %+v", c.Name, c)
		}
		page += fmt.Sprintf("| `%s` | %s | %s |\n", c.Name, c.Severity, c.Summary)
		if i > 0 {
			last := Codes()[i-1]
			if rank[last.Severity] > rank[c.Severity] {
				t.Errorf("%s stands behind %s", c.Name, last.Name)
			}
		}
	}
	for code := range found {
		t.Errorf("%s is not explained", code)
	}
	golden.Check(t, "../../../docs/lint.md", page)
}

// TestLibGLOfApt: a library that the image gets from apt is not missing.
func TestLibGLOfApt(t *testing.T) {
	text := []byte("channels: [conda-forge]\ndependencies:\n  - python=3.9\n  - pip\n  - pip: [opencv-python]\n")
	for apt, want := range map[string]string{"": "opencv-libgl", "ffmpeg": "opencv-libgl", "libgl1": "", "libgl1=1.6.0-1": ""} {
		findings, err := Lint(text, Options{Apt: []string{apt}})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range findings {
			got += f.Code
		}
		if got != want {
			t.Errorf("with %q from apt the findings are %q, want %q", apt, got, want)
		}
	}
}

// TestLintRequirements: what is said of a list of requirements speaks of lines,
// and mends lines.
func TestLintRequirements(t *testing.T) {
	opts := Options{File: "requirements.txt", Python: "3.11"}
	text := []byte("torch==2.4.0\nos\nopencv-python\nsklearn  # x\n")
	findings, err := Lint(text, opts)
	if err != nil {
		t.Fatal(err)
	}
	var edits []yamlfile.Edit
	for _, f := range findings {
		if strings.Contains(f.Message, `"- `) {
			t.Errorf("%s", f)
		}
		if f.Fix != nil {
			edits = append(edits, f.Fix.Edits...)
		}
	}
	got, err := yamlfile.Apply(text, edits)
	if want := "torch==2.4.0\nopencv-python-headless\nscikit-learn  # x\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	for line, want := range map[string]string{
		"\u201ctqdm\u201d":    "write \"tqdm\"",
		"pip install tqdm":    "is a command; write its packages alone, one a line",
		"torch==1.12.1+cu113": `add "--extra-index-url https://download.pytorch.org/whl/cu113" above it, or take "+cu113" out`,
		"torch==1.9.1+cu111":  `add "--find-links https://download.pytorch.org/whl/torch_stable.html" above it`,
		"tqdm>=1\uff0c<2":     "only looks like ,",
	} {
		findings, err := Lint([]byte(line+"\n"), Options{File: "requirements.txt", Python: "3.9"})
		if err != nil || len(findings) == 0 || !strings.Contains(findings[0].Message, want) {
			t.Errorf("%s: %v, %v", line, findings, err)
		}
	}
}

// TestFixKeepsOptions: a fix does not take away what stands behind a package.
func TestFixKeepsOptions(t *testing.T) {
	for file, text := range map[string]string{
		"requirements.txt": "os --extra-index-url https://example.org/x\ntqdm\n",
		"environment.yml":  "dependencies:\n  - python=3.9\n  - pip\n  - pip:\n    - os -f https://example.org/x\n    - tqdm\n",
	} {
		findings, err := Lint([]byte(text), Options{File: file})
		if err != nil || count(findings, "in-python") != 1 {
			t.Errorf("%s: %v, %v", file, findings, err)
		}
		for _, f := range findings {
			if f.Code == "in-python" && f.Fix != nil {
				t.Errorf("%s: %+v", f, f.Fix)
			}
		}
	}
}

// TestLocalVersionOfProject: a [project] cannot name an index.
func TestLocalVersionOfProject(t *testing.T) {
	findings, err := Lint([]byte("[project]\nrequires-python = '>=3.9'\ndependencies = ['numpy<2', 'torch==2.0.1+cu118', 'dgl==2.4.0+cu121']\n"), Options{File: "pyproject.toml"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		if f.Code == "local-version" {
			got = append(got, f.Message)
		}
	}
	want := []string{
		`torch==2.0.1+cu118 is a build that PyPI does not have, and [project] cannot name an index; write "--extra-index-url https://download.pytorch.org/whl/cu118" and "-e ." into a requirements.txt and build that, or take "+cu118" out`,
		`dgl==2.4.0+cu121 is a build that PyPI does not have, and [project] cannot name an index; write "--extra-index-url ADDRESS" and "-e ." into a requirements.txt and build that, or take "+cu121" out`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestFixHasNoSecret: a line with a secret is not shown as text to replace.
func TestFixHasNoSecret(t *testing.T) {
	const text = "channels: [conda-forge]\ndependencies:\n  - python=3.9\n  - pip:\n    - pywin32 @ https://u:hunter2@h.example.org/x.whl\n    - x\nprefix: https://u:hunter2@h/x\n"
	findings, err := Lint([]byte(text), Options{})
	if err != nil || len(findings) == 0 {
		t.Fatal(findings, err)
	}
	for _, f := range findings {
		if f.Fix != nil && strings.Contains(fmt.Sprint(*f.Fix), "hunter2") {
			t.Errorf("%s: %+v", f, *f.Fix)
		}
	}
}
