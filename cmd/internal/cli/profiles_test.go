package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"crun.dev/crun/internal/golden"
)

var catalogueLine = regexp.MustCompile(`\(built in\) profiles\.yaml:\d+:\d+`)

// profilesDir makes a repository with the given files in it.
func profilesDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runProfiles runs a command line in dir, without the machine's own config.
func runProfiles(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	app := &App{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }, Dir: dir}
	root := newRootCmd(app)
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errs)
	if cmd, _, _ := root.Find([]string{"profiles"}); cmd == root {
		root.AddCommand(newProfilesCmd(app))
	}
	code = app.exitCode(root.ExecuteContext(context.Background()))
	return code, out.String(), errs.String()
}

const labProfiles = `version: 1
default: lab
profiles:
  lab:
    description: "our nodes: two GPUs each"
    extends: large
    gpus: [0, 1]
    memory: 24g
    time_limit: 1d12h
    memlock: unlimited
    env:
      HF_TOKEN:
      GREETING: "a: b"
  tiny:
    memory: 32m
`

func TestProfilesOutput(t *testing.T) {
	for _, test := range []struct {
		golden string
		files  map[string]string
		args   []string
		code   int
	}{
		{"list", map[string]string{"profiles.yaml": labProfiles}, []string{"profiles", "list"}, 0},
		{"list-json", map[string]string{"only.yaml": "version: 1\nprofiles: {one: {memory: 1/2}}"}, []string{"profiles", "list", "-o", "json", "--profiles", "only.yaml"}, 0},
		{"show", map[string]string{"profiles.yaml": labProfiles}, []string{"profiles", "show"}, 0},
		{"show-warning", map[string]string{"profiles.yaml": labProfiles}, []string{"profiles", "show", "tiny"}, 0},
		{"show-json", map[string]string{"profiles.yaml": labProfiles}, []string{"profiles", "show", "lab", "-o", "json"}, 0},
		{"show-unknown", nil, []string{"profiles", "show", "smal"}, 1},
		{"show-no-default", map[string]string{"only.yaml": "version: 1\nprofiles: {one: {memory: 1/2}}"}, []string{"--profiles", "only.yaml", "profiles", "show"}, 2},
		{"show-missing-file", nil, []string{"--profiles", "only.yaml", "profiles", "show"}, 1},
		{"validate-found", map[string]string{"profiles.yaml": labProfiles}, []string{"profiles", "validate"}, 0},
		{"validate-errors", map[string]string{
			"a.yaml": "version: 1\nprofiles: {a: {extends: small, memory: 100m}}",
			"b.yaml": "version: 1\nprofiles:\n  b:\n    memry: 4g\n    cpus: 3/2\n",
			"c.yaml": "version: 1\nprofiles: {c: {extends: gpu}}",
		}, []string{"profiles", "validate", "a.yaml", "b.yaml", "nope.yaml", "c.yaml"}, 1},
		{"foreign", map[string]string{"profiles.yaml": "jaffle: {target: dev}\n"}, []string{"profiles", "validate"}, 0},
		{"unknown-command", nil, []string{"profiles", "lst"}, 2},
		{"unknown-format", nil, []string{"profiles", "list", "-o", "xml"}, 2},
	} {
		t.Run(test.golden, func(t *testing.T) {
			code, stdout, stderr := runProfiles(t, profilesDir(t, test.files), test.args...)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			got := "$ crun " + strings.Join(test.args, " ") + "\n" + stdout
			if stderr != "" {
				got += "--- stderr\n" + stderr
			}
			// The lines of the catalogue move whenever it is edited.
			got = catalogueLine.ReplaceAllString(got, "(built in) profiles.yaml:L:C")
			golden.Check(t, filepath.Join("profiles", test.golden+".golden"), got)
		})
	}
}

// What show prints can be pasted into a file and means the same.
func TestProfilesShowCanBePasted(t *testing.T) {
	fields := func(dir string) map[string]any {
		code, stdout, stderr := runProfiles(t, dir, "profiles", "show", "lab", "-o", "json")
		var shown struct {
			Fields map[string]struct{ Value any }
		}
		if err := json.Unmarshal([]byte(stdout), &shown); err != nil || code != 0 {
			t.Fatalf("exit code %d, %v\n%s%s", code, err, stdout, stderr)
		}
		values := make(map[string]any)
		for name, f := range shown.Fields {
			values[name] = f.Value
		}
		return values
	}
	dir := profilesDir(t, map[string]string{"profiles.yaml": labProfiles})
	want := fields(dir)
	_, shown, _ := runProfiles(t, dir, "profiles", "show", "lab")
	pasted := "version: 1\nprofiles:\n  " + strings.ReplaceAll(shown, "\n", "\n  ")
	got := fields(profilesDir(t, map[string]string{"profiles.yaml": pasted}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the pasted profile differs (-want +got):\n%s\n%s", diff, pasted)
	}
}

func TestCompleteProfiles(t *testing.T) {
	app := &App{Getenv: func(string) string { return "" }, Dir: profilesDir(t, map[string]string{"profiles.yaml": labProfiles})}
	got, directive := app.completeProfiles(nil, nil, "l")
	want := []string{"lab\tour nodes: two GPUs each", "large\tone heavy training beside light ones"}
	if diff := cmp.Diff(want, got); diff != "" || directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("completions differ, directive %v (-want +got):\n%s", directive, diff)
	}
}

func TestProfilesCommandsHaveExamples(t *testing.T) {
	for _, cmd := range append(newProfilesCmd(&App{}).Commands(), newProfilesCmd(&App{})) {
		if !strings.Contains(cmd.Example, "crun profiles") {
			t.Errorf("%s has no example", cmd.Name())
		}
	}
}
