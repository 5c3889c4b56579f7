package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lintApp is an app in a folder with the files, without an engine.
func lintApp(t *testing.T, files map[string]string) (*App, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, errs := &bytes.Buffer{}, &bytes.Buffer{}
	return &App{In: strings.NewReader(""), Out: out, Err: errs, Dir: dir, Getenv: func(string) string { return "" }}, out, errs
}

const (
	goodFile    = "name: a\nchannels: [conda-forge]\ndependencies: [python=3.11]\n"
	warnedFile  = "name: a\nchannels: [conda-forge]\ndependencies:\n  - python=3.11\n  - torch>=2\nprefix: /x\n"
	brokenFile  = "name: a\nchanels: [conda-forge]\ndependencies:\n  - python=3.9\n  - numpy=>1\n"
	refusedFile = "name: a\nchannels: [conda-forge]\ndependencies: [python=3.11, pip, pip: [--user]]\n"
)

func TestLint(t *testing.T) {
	files := map[string]string{"environment.yml": warnedFile, "good.yml": goodFile, "broken.yml": brokenFile, "refused.yml": refusedFile}
	for _, test := range []struct {
		args []string
		code int
		out  []string // its lines, each with this behind the folder
		err  string
	}{
		{nil, 0, []string{
			`environment.yml:5:5: warning: torch is PyPI's name; conda's is pytorch: write "- pytorch", or put torch under "- pip:" (pypi-name)`,
			"environment.yml:6:1: note: prefix is a folder of the machine that the file was exported on; it is not used and can go (prefix-ignored)",
		}, "environment.yml: 1 warning, 1 note; crun lint --explain CODE says more, --fix makes the changes that are safe\n"},
		{[]string{"--warnings-as-errors"}, 1, []string{"environment.yml:5:5: error: torch is", "environment.yml:6:1: note: "}, "1 error, 1 note"},
		{[]string{"good.yml"}, 0, nil, "good.yml: nothing to say\n"},
		{[]string{"good.yml", "-q"}, 0, nil, ""},
		{[]string{"broken.yml"}, 1, []string{
			`broken.yml:2:1: error: unknown key "chanels" (did you mean "channels"?) (bad-key)`,
			`broken.yml:5:5: error: "numpy=>1" has "=>"; the sign is ">=" (bad-package)`,
		}, "2 errors"},
		{[]string{"refused.yml"}, 1, []string{`refused.yml:3:40: error: "--user" would install outside the environment`}, "1 error"},
		{[]string{"good.yml", "broken.yml", "."}, 1, []string{"broken.yml:2:1", "broken.yml:5:5", "environment.yml:5:5", "environment.yml:6:1"}, "3 files: 2 errors, 1 warning, 1 note"},
		{[]string{"none.yml", "good.yml"}, 1, nil, "none.yml: there is no such file"},
		{[]string{"--platform", "win-64"}, 2, nil, `--platform is "win-64"; allowed are linux-64, linux-aarch64`},
		{[]string{"--python", "three"}, 2, nil, `--python is "three"`},
		{[]string{"--explain", "pypi-names"}, 2, nil, `there is no code "pypi-names" (did you mean "pypi-name"?)`},
		{[]string{"--explain", ""}, 2, nil, `there is no code ""; the codes are `},
		{[]string{"--explain", "pypi-name", "good.yml"}, 2, nil, `--explain takes one code and no file; leave "good.yml" out`},
	} {
		app, out, errs := lintApp(t, files)
		code := app.Run(context.Background(), append([]string{"lint"}, test.args...))
		if code != test.code || !strings.Contains(errs.String(), test.err) || test.err == "" && errs.Len() > 0 {
			t.Errorf("%q: ends with %d and says %q, want %d and %q", test.args, code, errs, test.code, test.err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if out.Len() == 0 {
			lines = nil
		}
		if len(lines) != len(test.out) {
			t.Errorf("%q prints\n%s", test.args, out)
			continue
		}
		for i, want := range test.out {
			if !strings.HasPrefix(strings.TrimPrefix(lines[i], app.Dir+"/"), want) {
				t.Errorf("%q, line %d is %q, want %q", test.args, i, lines[i], want)
			}
		}
	}
}

// TestLintIncluded: a mistake in a file that the environment file names is told
// with that file's name.
func TestLintIncluded(t *testing.T) {
	app, out, _ := lintApp(t, map[string]string{
		"environment.yml":  "channels: [conda-forge]\ndependencies: [python=3.11, pip, pip: [-r requirements.txt]]\n",
		"requirements.txt": "# ours\nnumpy=>1\n",
	})
	if code := app.Run(context.Background(), []string{"lint"}); code != 1 || !strings.Contains(out.String(), "requirements.txt:2:1: error: ") {
		t.Errorf("ends with %d and prints %q", code, out)
	}
}

func TestLintStdin(t *testing.T) {
	app, out, _ := lintApp(t, nil)
	app.In = strings.NewReader(brokenFile)
	if code := app.Run(context.Background(), []string{"lint", "-"}); code != 1 || !strings.HasPrefix(out.String(), "<stdin>:2:1: error: ") {
		t.Errorf("ends with %d and prints %q", code, out)
	}
}

// Ctrl-C ends what waits for somebody to type.
func TestInterruptedInput(t *testing.T) {
	for _, args := range [][]string{{"lint", "-"}, {"build", "-"}} {
		app, _, errs := lintApp(t, nil)
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		defer out.Close()
		app.In = in
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if code := app.Run(ctx, args); code != exitSIGINT || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("%q ends with %d: %s", args, code, errs)
		}
	}
}

func TestLintJSON(t *testing.T) {
	app, out, errs := lintApp(t, map[string]string{"environment.yml": warnedFile})
	if code := app.Run(context.Background(), []string{"lint", "-o", "json"}); code != 0 || errs.Len() > 0 {
		t.Fatalf("ends with %d: %s", code, errs)
	}
	var got lintReport
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Files) != 1 || got.Errors != 0 || got.Warnings != 1 || got.Notes != 1 || len(got.Findings) != 2 {
		t.Fatalf("%+v", got)
	}
	f := got.Findings[0]
	if f.Line != 5 || f.Column != 5 || f.Severity != "warning" || f.Code != "pypi-name" || f.Message == "" || f.Fix == nil {
		t.Fatalf("%+v", f)
	}
	if e := f.Fix.Edits[0]; e.Line != 5 || e.Column != 5 || e.EndColumn != 10 || e.Old != "torch" || e.New != "pytorch" || f.Fix.Safe {
		t.Errorf("%+v", f.Fix)
	}
}

func TestLintExplain(t *testing.T) {
	app, out, _ := lintApp(t, nil)
	if code := app.Run(context.Background(), []string{"lint", "--explain", "torch-python"}); code != 0 ||
		!strings.HasPrefix(out.String(), "torch-python (error): ") || !strings.Contains(out.String(), "2.8 for 3.9") || !strings.Contains(out.String(), "\nSource: ") {
		t.Errorf("ends with %d and prints %s", code, out)
	}
	app, out, _ = lintApp(t, nil)
	if code := app.Run(context.Background(), []string{"__complete", "lint", "--explain", "torch-"}); code != 0 || !strings.Contains(out.String(), "torch-python\t") || strings.Contains(out.String(), "pypi-name") {
		t.Errorf("completes with %d to %s", code, out)
	}
}

// The GPUs that an image is for come from --cuda, or from the repository's profiles.yaml.
func TestLintCUDA(t *testing.T) {
	const file = "name: a\nchannels: [conda-forge]\ndependencies:\n  - python=3.9\n  - pytorch=2.1=cpu*\n"
	app, out, errs := lintApp(t, map[string]string{"environment.yml": file})
	run := func(args ...string) (int, string) {
		out.Reset()
		errs.Reset()
		code := app.Run(context.Background(), append([]string{"lint"}, args...))
		return code, out.String() + errs.String()
	}
	const want = "environment.yml:5:5: error: pytorch=2.1=cpu* takes a torch for CPUs"
	if code, text := run(); code != 0 || strings.Contains(text, "for CPUs") {
		t.Errorf("without a target it ends with %d:\n%s", code, text)
	}
	if code, text := run("--cuda", "12.4"); code != 1 || !strings.Contains(text, want) {
		t.Errorf("with one it ends with %d:\n%s", code, text)
	}
	if code, text := run("--cuda", "cu124"); code != exitUsage || !strings.Contains(text, `allowed are one such as "12.4", none and auto`) {
		t.Errorf("with none that there is it ends with %d:\n%s", code, text)
	}
	if code, text := run("--cuda", "12.4", "--fix"); code != exitUsage || !strings.Contains(text, "leave --cuda out") {
		t.Errorf("with --fix it ends with %d:\n%s", code, text)
	}
	if err := os.WriteFile(filepath.Join(app.Dir, "profiles.yaml"), []byte("version: 1\nbuild: {cuda: \"12.4\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, text := run(); code != 1 || !strings.Contains(text, want) {
		t.Errorf("with build.cuda it ends with %d:\n%s", code, text)
	}
	if code, text := run("--cuda", "none"); code != 0 || strings.Contains(text, "for CPUs") {
		t.Errorf("with --cuda none over build.cuda it ends with %d:\n%s", code, text)
	}
}
