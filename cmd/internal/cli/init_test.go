package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crun.dev/crun/build/environment"
)

// runIn runs a command line in dir with these variables alone.
func runIn(t *testing.T, dir string, vars map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	app := &App{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(key string) string { return vars[key] }, Dir: dir}
	code = app.Run(context.Background(), args)
	return code, out.String(), errs.String()
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInitFromConda(t *testing.T) {
	home := t.TempDir()
	project := filepath.Join(home, "project")
	const at = "miniconda3/envs/train/conda-meta/"
	writeFiles(t, home, map[string]string{
		at + "python-3.9.18-0.json":     `{"name": "python", "version": "3.9.18", "build": "0", "channel": "https://conda.anaconda.org/conda-forge/linux-64", "depends": ["openssl >=3"]}`,
		at + "openssl-3.1.0-0.json":     `{"name": "openssl", "version": "3.1.0", "build": "0", "channel": "https://conda.anaconda.org/conda-forge/linux-64"}`,
		at + "pytorch-2.1.0-0.json":     `{"name": "pytorch", "version": "2.1.0", "build": "0", "channel": "https://conda.anaconda.org/conda-forge/linux-64"}`,
		at + "history":                  "# update specs: ['python=3.9', 'pytorch']\n",
		"project/old/env.yaml":          "name: x\n",
		"project/requirements.txt":      "tqdm\n",
		"project/taken/environment.yml": "name: mine\n",
	})
	vars := map[string]string{"HOME": home}
	const file = `name: train
channels:
  - conda-forge
dependencies:
  - python=3.9.18
  - pytorch=2.1.0
`
	said := "crun: " + home + "/miniconda3/envs/train: 3 packages -> 2 requests"
	for _, test := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"init", "--from-conda", "train", "--dry-run"}, 0, file, said + "; nothing is written\n"},
		{[]string{"init", "--from-conda", "train", "-q"}, 0, "", ""},
		{[]string{"init", "--from-conda", "train"}, 1, "", "crun: environment.yml is there already and stays as it is; name another file with -f, or write over it with --force\n"},
		{[]string{"init", "--from-conda", "train", "-f", "gpu.yml"}, 0, "", said + "; written to gpu.yml\n"},
		{[]string{"init", "--from-conda", "train", "-f", "old"}, 1, "", "crun: old/env.yaml is there already and stays as it is; name another file with -f, or write over it with --force\n"},
		{[]string{"init", "--from-conda", "train", "-f", "taken", "--force"}, 0, "", said + "; written to taken/environment.yml\n"},
		{[]string{"init", "--from-conda", "train", "-f", "none/"}, 1, "", "crun: none/: there is no such folder\n"},
		{[]string{"init", "--from-conda", "tarin"}, 1, "", `crun: environment.yml is there already`},
		{[]string{"init", "--from-conda", "tarin", "-f", "x.yml"}, 1, "", `crun: no conda environment is called "tarin" (did you mean "train"?); there are train (` + home + "/miniconda3/envs/train)\n"},
		{[]string{"init", "--from-conda", ""}, 2, "", "crun: --from-conda is empty; name an environment or its folder\nSee 'crun init --help'.\n"},
	} {
		code, stdout, stderr := runIn(t, project, vars, test.args...)
		if code != test.code || stdout != test.stdout || !strings.HasPrefix(stderr, test.stderr) {
			t.Errorf("%s: %d, %q, %q\nwant %d, %q, %q", test.args, code, stdout, stderr, test.code, test.stdout, test.stderr)
		}
	}
	for _, name := range []string{"environment.yml", "gpu.yml", "taken/environment.yml"} {
		if data, err := os.ReadFile(filepath.Join(project, name)); err != nil || string(data) != file {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

// The start is a file without a finding.
func TestInitStart(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"alone": nil, "with requirements": {"requirements.txt": "tqdm\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "My Project")
			writeFiles(t, dir, map[string]string{"README": ""})
			writeFiles(t, dir, files)
			code, stdout, stderr := runIn(t, dir, map[string]string{"CONDA_DEFAULT_ENV": "train"}, "init")
			if code != 0 || stdout != "" || !strings.Contains(stderr, "written to environment.yml\n") || !strings.Contains(stderr, "\ncrun: the conda environment train is active; crun init --from-conda train ") {
				t.Errorf("%d, %q, %q", code, stdout, stderr)
			}
			data, err := os.ReadFile(filepath.Join(dir, "environment.yml"))
			if err != nil {
				t.Fatal(err)
			}
			env, findings, err := environment.Parse(data, environment.Options{})
			if err != nil || len(findings) > 0 || env.Name != "My-Project" {
				t.Errorf("%v %v %v\n%s", env.Name, findings, err, data)
			}
			if got := strings.Contains(string(data), "-r requirements.txt"); got != (files != nil) {
				t.Errorf("%s", data)
			}
		})
	}
}

// What is there stays, and what is missing is written beside it.
func TestInitProject(t *testing.T) {
	vars := map[string]string{}
	for _, test := range []struct {
		name           string
		there          []string // files with "mine\n" in them
		args           []string
		code           int
		written        []string
		stderr, stdout string
	}{
		{name: "all", written: []string{"environment.yml", "profiles.yaml", "crun.mk"}, stderr: "write this line into the Makefile: include crun.mk"},
		{name: "beside an environment", there: []string{"environment.yaml"}, written: []string{"profiles.yaml", "crun.mk"}, stderr: "environment.yaml stays as it is"},
		{name: "one is missing", there: []string{"environment.yml", "profiles.yaml"}, written: []string{"crun.mk"}, stderr: "profiles.yaml stays as it is"},
		{name: "none is missing", there: []string{"environment.yml", "profiles.yaml", "crun.mk"}, code: 1, stderr: "environment.yml is there already and stays as it is"},
		{name: "force", there: []string{"environment.yml", "profiles.yaml", "crun.mk"}, args: []string{"--force"}, written: []string{"environment.yml", "profiles.yaml", "crun.mk"}},
		{name: "force of one", there: []string{"environment.yml", "profiles.yaml"}, args: []string{"--force", "-f", "environment.yml"}, written: []string{"environment.yml", "crun.mk"}},
		{name: "a second environment", args: []string{"-f", "gpu.yml"}, written: []string{"gpu.yml"}},
		{name: "dry run", there: []string{"crun.mk"}, args: []string{"--dry-run"}, stdout: "\n# profiles.yaml:\n\n# Limits for the runs", stderr: "nothing is written"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range test.there {
				writeFiles(t, dir, map[string]string{name: "mine\n"})
			}
			code, stdout, stderr := runIn(t, dir, vars, append([]string{"init"}, test.args...)...)
			if code != test.code || !strings.Contains(stderr, test.stderr) || !strings.Contains(stdout, test.stdout) {
				t.Errorf("%d, %q, %q", code, stdout, stderr)
			}
			for _, name := range []string{"environment.yml", "environment.yaml", "profiles.yaml", "crun.mk", "gpu.yml"} {
				data, err := os.ReadFile(filepath.Join(dir, name))
				written := err == nil && string(data) != "mine\n"
				if written != slices.Contains(test.written, name) {
					t.Errorf("%s: written %v", name, written)
				}
				if slices.Contains(test.there, name) && err != nil {
					t.Errorf("%s is gone", name)
				}
			}
		})
	}
}

// The limits are valid, and those that runs take.
func TestInitProfiles(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{".git/HEAD": ""})
	runIn(t, dir, nil, "init")
	code, stdout, stderr := runIn(t, dir, nil, "profiles", "validate", "profiles.yaml")
	if code != 0 {
		t.Errorf("%d, %q, %q", code, stdout, stderr)
	}
	code, stdout, stderr = runIn(t, dir, nil, "profiles", "show", "train")
	if code != 0 || !strings.Contains(stdout, "1/4") {
		t.Errorf("%d, %q, %q", code, stdout, stderr)
	}
}

// The targets call crun with each word whole, whatever it holds.
func TestInitMake(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Fatal("make is needed, as for everything here")
	}
	dir := filepath.Join(t.TempDir(), "my repo; it's")
	said := filepath.Join(dir, "said")
	writeFiles(t, dir, map[string]string{
		"a bin/crun": "#!/bin/sh\nfor word in \"$@\"; do printf '[%s]' \"$word\"; done >> ./said; echo >> ./said\n",
		"Makefile":   "CRUN = ./a bin/crun\nSCRIPT = src/my $$HOME 'train'.py\ninclude crun.mk\nmine:\n\t@echo mine\n",
		"prefixed":   "CRUN = ./a bin/crun\nCRUN_PREFIX = crun-\ninclude crun.mk\ntrain:\n\t@echo mine\n",
	})
	if err := os.Chmod(filepath.Join(dir, "a bin/crun"), 0o755); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runIn(t, dir, nil, "init"); code != 0 {
		t.Fatal(stderr)
	}
	for _, test := range []struct {
		args   []string
		said   string
		output string
	}{
		{[]string{"image"}, "[build]\n", ""},
		{[]string{"train"}, "[run][--][src/my $HOME 'train'.py]\n", ""},
		{[]string{"train", "ARGS=--epochs 3 'a b'", "PROFILE=it's", "CRUN_FLAGS=--gpus 1"}, "[run][--profile][it's][--gpus][1][--][src/my $HOME 'train'.py][--epochs][3][a b]\n", ""},
		{[]string{"shell"}, "[run][--][bash]\n", ""},
		{[]string{"why"}, "[why]\n", ""},
		{[]string{"why", "RUN=old 1"}, "[why][--][old 1]\n", ""},
		{[]string{"clean"}, "[prune]\n", ""},
		{nil, "", "mine\n"}, // the Makefile's own first target is the default
		{[]string{"-f", "prefixed"}, "", "mine\n"},
		{[]string{"-f", "prefixed", "crun-train"}, "[run][--][train.py]\n", ""},
		{[]string{"-f", "crun.mk", "train", "CRUN=./a bin/crun"}, "[run][--][train.py]\n", ""},
	} {
		os.Remove(said)
		cmd := exec.Command("make", append([]string{"-s", "--no-print-directory"}, test.args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		got, _ := os.ReadFile(said)
		if err != nil || string(got) != test.said || test.output != "" && string(out) != test.output || strings.Contains(string(out), "warning") {
			t.Errorf("make %q: %v\n%s\nsaid %q, want %q", test.args, err, out, got, test.said)
		}
	}
}
