package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
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
			if code != 0 || stdout != "" || !strings.Contains(stderr, "written to environment.yml\ncrun: the conda environment train is active; crun init --from-conda train ") {
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
