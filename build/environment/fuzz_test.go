package environment

import (
	"strings"
	"testing"
	"unicode/utf8"

	"crun.dev/crun/internal/yamlfile"
	"github.com/rogpeppe/go-internal/txtar"
	"gopkg.in/yaml.v3"
)

// FuzzParse: whatever the bytes, there is an environment or an error; and an
// environment written out again is the same one.
func FuzzParse(f *testing.F) {
	for _, path := range caseFiles {
		for _, c := range readCases(f, path) {
			f.Add(c.file)
		}
	}
	f.Add([]byte("channels:\n- https://0/t/00/t/0"))
	f.Add([]byte(explicitHead + "https://u:p@a.org/c/linux-64/python-3.9.18-0.conda#0123456789abcdef0123456789abcdef\n"))
	f.Add([]byte("dependencies:\n- c::https://a.org/t/00/c/noarch/x-1-0.tar.bz2\n- y[url=https://a.org/y-1-0.conda, md5=0123456789abcdef0123456789abcdef]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		env, findings, err := Parse(data, Options{FolderName: "folder"})
		if err != nil {
			if err.Error() == "" || len(findings) > 0 {
				t.Fatalf("%q, %v", err, findings)
			}
			return
		}
		if env == nil || env.ImageName() == "" || env.EnvDir() == "" {
			t.Fatalf("%+v", env)
		}
		for _, spec := range env.Conda {
			if strings.HasPrefix(spec.Text, "-") || strings.ContainsAny(spec.Text, " \n\r\t\"'`$\\;") && spec.URL == "" && spec.Channel == "" {
				t.Errorf("conda %q", spec.Text)
			}
		}
		first := string(env.Canonical())
		if env.Exact {
			if len(env.Pip) > 0 {
				return // conda-lock's comments
			}
			text := explicitHead
			for _, spec := range env.Conda {
				text += spec.Text + "\n"
			}
			again, _, err := Parse([]byte(text), Options{FolderName: env.Name})
			if err != nil || string(again.Canonical()) != first {
				t.Fatalf("first  %s\nsecond %s\n%v", first, again.Canonical(), err)
			}
			return
		}
		again, _, err := Parse(render(t, env), Options{FolderName: "other"})
		if err != nil {
			t.Fatalf("%s\n%v", render(t, env), err)
		}
		if second := string(again.Canonical()); first != second {
			t.Fatalf("first  %s\nsecond %s", first, second)
		}
	})
}

// FuzzLint: whatever the bytes, each finding is whole, and each fix can be made
// and leaves a file that can be read no worse.
func FuzzLint(f *testing.F) {
	for _, path := range caseFiles {
		for _, c := range readCases(f, path) {
			f.Add(c.file, uint8(0))
		}
	}
	f.Add([]byte("torch==2.4.0\nos\nopencv-python\nsklearn  # x\n-r more.txt\n"), uint8(1))
	f.Add([]byte("[project]\nname = \"x\"\nversion = \"1\"\nrequires-python = \">=3.9\"\ndependencies = [\"torch==2.1\", \"sklearn\"]\n"), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, kind uint8) {
		opts := Options{FolderName: "folder", File: []string{"environment.yml", "requirements.txt", "pyproject.toml"}[kind%3]}
		findings, err := Lint(data, opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range findings {
			if found.Code == "" || found.Severity == "" || found.Message == "" || strings.Contains(found.String(), "\n") {
				t.Errorf("%+v", found)
			}
			if _, ok := Explain(found.Code); !ok {
				t.Errorf("%s is not explained", found.Code)
			}
			if found.Fix == nil {
				continue
			}
			text, err := yamlfile.Apply(data, found.Fix.Edits)
			if err != nil {
				if !utf8.Valid(data) {
					continue // a comment in an older encoding
				}
				t.Fatalf("%s: %v", found, err)
			}
			after, err := Lint(text, opts)
			if err != nil || countErrors(after) > countErrors(findings) && found.Severity != SeverityError {
				t.Fatalf("%s: %v, %v, in\n%s", found, err, after, text)
			}
		}
	})
}

// FuzzFixAll: whatever the bytes, all safe fixes together leave nothing to fix,
// and bring no error.
func FuzzFixAll(f *testing.F) {
	for _, path := range caseFiles {
		for _, c := range readCases(f, path) {
			f.Add(c.file)
		}
	}
	fixes, err := txtar.ParseFile("testdata/fixes.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range fixes.Files {
		f.Add(file.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fixed, err := FixAll(data, Options{FolderName: "folder"})
		if err != nil {
			t.Fatal(err)
		}
		again, err := FixAll(fixed.Text, Options{FolderName: "folder"})
		if err != nil || len(again.Made) > 0 || string(again.Text) != string(fixed.Text) {
			t.Fatalf("%v, %v, of\n%s", err, again.Made, fixed.Text)
		}
	})
}

// FuzzPipLine: a line that is taken reads as itself again, and is one line.
func FuzzPipLine(f *testing.F) {
	for _, line := range []string{
		"NumPy == 1.24", "requests[socks]>=2.31 ; python_version < '3.10'", "x @ https://u:p@h.example.org/x.whl?token=1", "-e git+https://h/x.git#egg=x", "-r a.txt", "--extra-index-url https://h/simple",
		"./libs/x[dev]", "x==1 --hash=sha256:" + strings.Repeat("0", 64), "git@h:x/y.git", "numpy=1.2=py39_0", "-c https://h/c.txt", "x; (os_name == 'posix')",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		clean := func(address string) string { return hide(address, "") }
		line = strings.TrimSpace(line) // as callers do
		first, err := parsePip(line, clean)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		if strings.ContainsAny(first.Text, "\n\r\x00") || first.Text == "" {
			t.Fatalf("%q gives %q", line, first.Text)
		}
		if second, err := parsePip(first.Text, clean); err != nil || second.Text != first.Text || second.Kind != first.Kind || second.Name != first.Name {
			t.Fatalf("%q gives %+v, and that %+v, %v", line, first, second, err)
		}
	})
}

// render writes an environment as a file.
func render(t *testing.T, env *Environment) []byte {
	var dependencies []any
	for _, spec := range env.Conda {
		dependencies = append(dependencies, spec.Text)
	}
	for _, section := range env.Pip {
		var lines []string
		for _, r := range section.Requirements {
			lines = append(lines, r.Text)
		}
		dependencies = append(dependencies, map[string]any{"pip": lines})
	}
	variables := map[string]string{}
	for _, v := range env.Variables {
		variables[v.Name] = v.Value
	}
	data, err := yaml.Marshal(map[string]any{
		"name": env.Name, "channels": env.Channels, "dependencies": dependencies, "variables": variables,
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}
