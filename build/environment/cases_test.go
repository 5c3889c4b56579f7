package environment

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"crun.dev/crun/internal/yamlfile"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// testCase is NAME.yml of testdata with NAME.want, a line a fact; a fact that
// is not there is not compared, but for lint and error.
type testCase struct {
	name string
	file []byte
	want map[string]string
}

var caseFiles = []string{"testdata/cases.txtar", "testdata/slips.txtar", "testdata/odd.txtar", "testdata/facts.txtar"}

func readCases(t testing.TB, path string) []testCase {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wants := map[string]map[string]string{}
	var cases []testCase
	for _, f := range txtar.Parse(data).Files {
		word, _, _ := strings.Cut(f.Name, " ")
		if name, ok := strings.CutSuffix(word, ".want"); ok {
			wants[name] = map[string]string{}
			for line := range strings.Lines(string(f.Data)) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				if old := wants[name][key]; old != "" {
					value = old + "\n" + value
				}
				wants[name][key] = value
			}
			continue
		}
		content := f.Data
		switch {
		case strings.HasPrefix(word, "crlf"):
			content = []byte(strings.TrimSuffix(strings.ReplaceAll(string(content), "\n", "\r\n"), "\r\n"))
		case strings.HasPrefix(word, "bom"):
			content = append([]byte("\xef\xbb\xbf"), content...)
		}
		cases = append(cases, testCase{name: strings.TrimSuffix(word, ".yml"), file: content})
	}
	for i := range cases {
		if cases[i].want = wants[cases[i].name]; cases[i].want == nil {
			t.Fatalf("%s has no .want", cases[i].name)
		}
	}
	return cases
}

func TestCases(t *testing.T) {
	for _, path := range caseFiles {
		for _, c := range readCases(t, path) {
			t.Run(c.name, func(t *testing.T) {
				env, findings, err := Parse(c.file, Options{FolderName: "my folder"})
				got := facts(env, findings, err)
				for key, want := range c.want {
					switch {
					case key == "note", key == "pip" && strings.HasPrefix(want, "(all eleven"):
					case key == "name" && strings.HasPrefix(want, "("):
						if got["name"] != "my-folder" {
							t.Errorf("name is %q", got["name"])
						}
					case key == "lint":
						if diff := cmp.Diff(words(want), words(got["lint"])); diff != "" {
							t.Errorf("lint (-want +got):\n%s%v", diff, findings)
						}
					default:
						if diff := cmp.Diff(want, got[key]); diff != "" {
							t.Errorf("%s (-want +got):\n%s", key, diff)
						}
					}
				}
				for _, key := range []string{"lint", "error"} {
					if _, ok := c.want[key]; !ok && got[key] != "" {
						t.Errorf("%s: %s", key, got[key])
					}
				}
			})
		}
	}
}

func words(text string) []string {
	return slices.Compact(slices.Sorted(slices.Values(strings.Fields(text))))
}

// facts writes a result as the .want files do.
func facts(env *Environment, findings []Finding, err error) map[string]string {
	got := map[string]string{}
	var codes, messages []string
	for _, f := range findings {
		codes = append(codes, f.Code)
	}
	got["lint"] = strings.Join(codes, " ")
	for _, err := range flatten(err) {
		var e *yamlfile.Error
		if !errors.As(err, &e) {
			messages = append(messages, "not a yamlfile.Error: "+err.Error())
			continue
		}
		place := ""
		if e.Line > 0 {
			place = fmt.Sprintf("%d:%d ", e.Line, e.Column)
		}
		messages = append(messages, place+e.Message)
	}
	got["error"] = strings.Join(messages, "\n")
	if env == nil {
		return got
	}
	got["name"] = env.Name
	got["channels"] = strings.Join(env.Channels, " ")
	var conda, pip, variables, unsupported []string
	for _, spec := range env.Conda {
		conda = append(conda, spec.String())
	}
	got["conda"] = strings.Join(conda, " | ")
	for _, section := range env.Pip {
		var lines []string
		for _, r := range section.Requirements {
			lines = append(lines, r.Text)
		}
		pip = append(pip, strings.Join(lines, " | "))
	}
	got["pip"] = strings.Join(pip, ", then ")
	for _, v := range env.Variables {
		variables = append(variables, v.Name+"="+v.Value)
	}
	got["var"] = strings.Join(variables, " ")
	for _, err := range env.Unsupported() {
		var e *yamlfile.Error
		errors.As(err, &e)
		unsupported = append(unsupported, fmt.Sprintf("%d:%d %s", e.Line, e.Column, e.Message))
	}
	got["unsupported"] = strings.Join(unsupported, "\n")
	return got
}
