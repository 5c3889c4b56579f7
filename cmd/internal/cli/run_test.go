package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"crun.dev/crun/run/plan"
)

// runApp is an App of its own folder and environment.
func runApp(t *testing.T, env map[string]string) *App {
	t.Helper()
	dir := t.TempDir()
	return &App{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Getenv: func(name string) string { return env[name] }, Dir: dir}
}

// parseFlags runs a command line as far as its options.
func parseFlags(cmd *cobra.Command, args []string) error {
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return cmd.Execute()
}

func TestRunFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		want runOptions
		err  string
	}{
		{args: "train.py", want: runOptions{command: []string{"train.py"}}},
		{args: "train.py --epochs 3 -d", want: runOptions{command: []string{"train.py", "--epochs", "3", "-d"}}},
		{args: "-d --name night train.py", want: runOptions{command: []string{"train.py"}, detach: true, name: "night"}},
		{args: "-- train.py", want: runOptions{command: []string{"train.py"}}},
		{args: "-e A=1 -e B -p 6006 -p 80:8080 sh", want: runOptions{command: []string{"sh"}, env: []string{"A=1", "B"}, publish: []string{"6006", "80:8080"}}},
		{args: "--grace 1m --image x -T -i sh", want: runOptions{command: []string{"sh"}, grace: time.Minute, image: "x", noTTY: true, interactive: true}},
		{args: "--dry-run -o json sh", want: runOptions{command: []string{"sh"}, dryRun: true, output: "json"}},
		{args: "--skip-check disk,runs --skip-check all sh", want: runOptions{command: []string{"sh"}, skipChecks: []string{"disk", "runs", "all"}}},
		{args: "--skip-check dsik sh", err: `--skip-check is "dsik"; there are disk, memory, runs, shm, gpus, and all`},
		{args: "--skip-check disk,,runs sh", err: `--skip-check is ""`},
		{args: "--oci-bundle /b sh", want: runOptions{command: []string{"sh"}, bundle: "/b"}},
		{args: "--oci-bundle /b -d sh", err: "leave out -d and --dry-run"},
		{args: "--oci-bundle /b --dry-run sh", err: "leave out -d and --dry-run"},
		{args: "", err: "needs a script or a command"},
		{args: "-d -t sh", err: "-d closes stdin"},
		{args: "-d -i sh", err: "-d closes stdin"},
		{args: "-t -T sh", err: "contradict"},
		{args: "--image x -f y sh", err: "--image and -f"},
		{args: "--grace -1s sh", err: "cannot be negative"},
		{args: "-o json sh", err: "-o goes with --dry-run"},
		{args: "--dry-run -o yaml sh", err: "the one format is json"},
		{args: "--nope sh", err: "unknown flag"},
	} {
		var got *runOptions
		cmd := newRunCmd(runApp(t, nil), func(_ context.Context, o *runOptions) error { got = o; return nil })
		err := parseFlags(cmd, strings.Fields(c.args))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v, want one with %q", c.args, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		if diff := cmp.Diff(&c.want, got, cmp.AllowUnexported(runOptions{}, projectLists{}, limitFlag{}, projectLists{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.args, diff)
		}
	}
}

// TestLimitFlags holds every flag for a limit to the field of its name.
func TestLimitFlags(t *testing.T) {
	for _, l := range limitFlags {
		var got *runOptions
		cmd := newRunCmd(runApp(t, nil), func(_ context.Context, o *runOptions) error { got = o; return nil })
		if err := parseFlags(cmd, []string{"--" + l.flag, "VALUE", "sh"}); err != nil {
			t.Errorf("--%s: %v", l.flag, err)
			continue
		}
		if len(got.limits) != 1 || got.limits[0].field != strings.ReplaceAll(l.flag, "-", "_") || got.limits[0].value != "VALUE" {
			t.Errorf("--%s: %+v", l.flag, got.limits)
		}
		// The profile knows the field, and refuses the value by its own rules.
		j := &job{options: got}
		_, err := runApp(t, nil).runProfile(j)
		if err == nil || !strings.Contains(err.Error(), "flag --"+l.flag+": "+strings.ReplaceAll(l.flag, "-", "_")) {
			t.Errorf("--%s VALUE: %v", l.flag, err)
		}
	}
}

func TestOtherFlags(t *testing.T) {
	app := runApp(t, nil)
	for _, c := range []struct {
		args string
		want any
		err  string
	}{
		{args: "ps", want: psOptions{}},
		{args: "ps -a -o json", want: psOptions{all: true, output: "json"}},
		{args: "ps x", err: "takes no argument"},
		{args: "logs x", want: logsOptions{run: "x", tail: -1}},
		{args: "logs -f -n 3 --timestamps x", want: logsOptions{run: "x", tail: 3, follow: true, timestamps: true}},
		{args: "logs --tail -1 x", err: "allowed are"},
		{args: "logs", err: "needs the name of a run"},
		{args: "logs a b", err: "takes one run"},
		{args: "stop a b", want: stopOptions{runs: []string{"a", "b"}, grace: -1}},
		{args: "stop --grace 0s a", want: stopOptions{runs: []string{"a"}}},
		{args: "stop --grace -2s a", err: "cannot be negative"},
		{args: "rm --force a", want: rmOptions{runs: []string{"a"}, force: true}},
		{args: "rm", err: "needs the name of a run"},
		{args: "inspect a -o json", want: inspectOptions{run: "a", output: "json"}},
		{args: "inspect a b", err: "takes one run"},
	} {
		var got any
		words := strings.Fields(c.args)
		cmd := map[string]*cobra.Command{
			"ps":      newPsCmd(app, func(o *psOptions) error { got = *o; return nil }),
			"logs":    newLogsCmd(app, func(o *logsOptions) error { got = *o; return nil }),
			"stop":    newStopCmd(app, func(o *stopOptions) error { got = *o; return nil }),
			"rm":      newRmCmd(app, func(o *rmOptions) error { got = *o; return nil }),
			"inspect": newInspectCmd(app, func(o *inspectOptions) error { got = *o; return nil }),
		}[words[0]]
		err := parseFlags(cmd, words[1:])
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v, want one with %q", c.args, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		all := cmp.AllowUnexported(psOptions{}, logsOptions{}, stopOptions{}, rmOptions{}, inspectOptions{}, runFilter{}, filterTerm{})
		if diff := cmp.Diff(c.want, got, all); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.args, diff)
		}
	}
}

func TestNoteNearer(t *testing.T) {
	app := runApp(t, nil)
	top := app.Dir
	for name, text := range map[string]string{
		"environment.yml": "dependencies: [numpy, {pip: [-r named/requirements.txt]}]\n", "named/requirements.txt": "tqdm\n",
		"exp/requirements.txt": "tqdm\n", "exp/scripts/train.py": "", "named/train.py": "", "tools/pyproject.toml": "[tool.black]\n", "tools/train.py": "", "train.py": "",
	} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		dir     string
		options runOptions
		want    string
	}{
		{"exp/scripts", runOptions{command: []string{"train.py"}}, "crun: the run is in the environment of ../../environment.yml, not in that of ../requirements.txt, which lies nearer to it: take that one with -f ../requirements.txt, or with --project .. also as the project\n"},
		{".", runOptions{command: []string{"exp/scripts/train.py"}}, "crun: the run is in the environment of environment.yml, not in that of exp/requirements.txt, which lies nearer to it: take that one with -f exp/requirements.txt, or with --project exp also as the project\n"},
		{"exp", runOptions{command: []string{"scripts/train.py"}, file: "requirements.txt"}, ""},
		{"exp", runOptions{command: []string{"scripts/train.py"}, image: "x"}, ""},
		{"exp", runOptions{command: []string{"scripts/train.py"}, project: "."}, ""},
		{".", runOptions{command: []string{"named/train.py"}}, ""},
		{".", runOptions{command: []string{"tools/train.py"}}, ""},
		{".", runOptions{command: []string{"train.py"}}, ""},
	} {
		var said strings.Builder
		app.Dir, app.Err = filepath.Join(top, c.dir), &said
		if _, err := app.findProject(&c.options); err != nil {
			t.Errorf("%s: %v", c.dir, err)
		}
		if said.String() != c.want {
			t.Errorf("%s, %v: said %q, want %q", c.dir, c.options.command, said.String(), c.want)
		}
	}
}

func TestFindProject(t *testing.T) {
	app := runApp(t, nil)
	top := app.Dir
	for _, dir := range []string{"repo/.git", "repo/sub/deep", "repo/env/scripts", "plain/sub", "home"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"repo/env/environment.yml", "repo/env/scripts/a.py", "repo/sub/deep/b.py", "plain/sub/c.py", "home/d.py"} {
		if err := os.WriteFile(filepath.Join(top, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	app.Getenv = func(name string) string {
		if name == "HOME" {
			return filepath.Join(top, "home")
		}
		return ""
	}
	for _, c := range []struct{ dir, command, project, want, err string }{
		{dir: "repo/env/scripts", command: "a.py", want: "repo/env"},
		{dir: "repo", command: "env/scripts/a.py", want: "repo/env"}, // above the script
		{dir: "plain", command: filepath.Join(top, "repo/env/scripts/a.py"), want: "repo/env"},
		{dir: "repo/sub/deep", command: "b.py", want: "repo"},
		{dir: "repo/env/scripts", command: "python", want: "repo/env"},
		{dir: "plain", command: "sub/c.py", want: "plain"},
		{dir: "plain/sub", command: "c.py", want: "plain/sub"},
		{dir: "repo", command: filepath.Join(top, "plain/sub/c.py"), want: "plain/sub"},
		{dir: "home", command: "d.py", err: "all of it"},
		{dir: "home", command: "d.py", project: ".", want: "home"},
		{dir: "home", command: "python", project: "none", want: ""},
		{dir: "repo", command: "env/scripts/a.py", project: "sub", err: "is not in the project"},
		{dir: "repo", command: "python", project: "sub", want: "repo/sub"},
		{dir: "repo", command: "python", project: "nowhere", err: "no such file"},
		{dir: "repo", command: "python", project: "env/environment.yml", err: "is not a folder"},
	} {
		app.Dir = filepath.Join(top, c.dir)
		got, err := app.findProject(&runOptions{command: []string{c.command}, project: c.project})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: error %v", c, err)
			}
			continue
		}
		want := c.want
		if want != "" {
			want = filepath.Join(top, want)
		}
		if err != nil || got != want {
			t.Errorf("%+v: got %s, %v, want %s", c, got, err, want)
		}
	}
}

func TestCheckCommand(t *testing.T) {
	app := runApp(t, nil)
	os.Mkdir(filepath.Join(app.Dir, "dir.py"), 0o755)
	os.WriteFile(filepath.Join(app.Dir, "train.py"), nil, 0o644)
	for command, want := range map[string]string{
		"train.py":  "",
		"python":    "",
		"/bin/true": "", // the image's
		"trian.py":  "script trian.py does not exist",
		"./run.sh":  "script ./run.sh does not exist",
		"dir.py":    "is a folder",
	} {
		err := app.checkCommand(&runOptions{command: []string{command}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", command, err, want)
		}
	}
}

func TestParsePort(t *testing.T) {
	for text, want := range map[string]plan.Port{
		"6006":                {HostIP: "127.0.0.1", Host: 6006, Container: 6006, Protocol: "tcp"},
		"80:8080":             {HostIP: "127.0.0.1", Host: 80, Container: 8080, Protocol: "tcp"},
		"0:8080/udp":          {HostIP: "127.0.0.1", Host: 0, Container: 8080, Protocol: "udp"},
		"0.0.0.0:80:8080/tcp": {HostIP: "0.0.0.0", Host: 80, Container: 8080, Protocol: "tcp"},
		"[::1]:80:8080":       {HostIP: "::1", Host: 80, Container: 8080, Protocol: "tcp"},
	} {
		got, err := parsePort(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "0", "65536", "80:", "80:x", "-1", "80/icmp", "host:80:80", "1.2.3:80:80", "80:80:80:80"} {
		if got, err := parsePort(text); err == nil {
			t.Errorf("%q gives %+v", text, got)
		}
	}
}

func TestRunEnv(t *testing.T) {
	app := runApp(t, map[string]string{"TOKEN": "secret", "KEY": "also"})
	os.WriteFile(filepath.Join(app.Dir, "env"), []byte("\ufeff# comment\n\nA=1\nB=x=y z\nTOKEN\n"), 0o644)
	os.WriteFile(filepath.Join(app.Dir, "bad"), []byte("A=1\n1X=2\n"), 0o644)
	os.WriteFile(filepath.Join(app.Dir, "gone"), []byte("A=1\nGONE\n"), 0o644)
	os.WriteFile(filepath.Join(app.Dir, "shell"), []byte("export A=secret\n"), 0o644)
	os.WriteFile(filepath.Join(app.Dir, "long"), []byte("A="+strings.Repeat("secret", 30_000)+"\n"), 0o644)
	if err := syscall.Mkfifo(filepath.Join(app.Dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(app.Dir, "torn"), []byte("+secret/\n"), 0o644)
	profile, err := app.runProfile(&job{options: &runOptions{profile: "small"}})
	if err != nil {
		t.Fatal(err)
	}
	vars, err := app.runEnv(&runOptions{env: []string{"A=2", "KEY", "E="}, envFiles: []string{"env"}}, profile)
	if err != nil {
		t.Fatal(err)
	}
	wantEnv := []plan.EnvVar{
		{Name: "A", Value: "2"}, {Name: "B", FromHost: true}, {Name: "TOKEN", FromHost: true}, {Name: "KEY", FromHost: true}, {Name: "E"},
	}
	if diff := cmp.Diff(wantEnv, vars.env); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"B": "x=y z", "TOKEN": "secret", "KEY": "also"}, vars.secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		o    runOptions
		want string
	}{
		{runOptions{env: []string{"GONE"}}, "GONE is not set here"},
		{runOptions{env: []string{"=x"}}, "name of the variable is empty"},
		{runOptions{env: []string{"a-b=1"}}, "no name of a variable"},
		{runOptions{env: []string{"1A=secret"}}, `-e: "1A" is no name`},
		{runOptions{env: []string{"sk-secret"}}, "-e: a text without = is no name"},
		{runOptions{envFiles: []string{"bad"}}, `bad:2: "1X"`},
		{runOptions{envFiles: []string{"torn"}}, "torn:1: a text without = is no name"},
		{runOptions{envFiles: []string{"gone"}}, "gone:2: GONE is not set here"},
		{runOptions{envFiles: []string{"shell"}}, "shell:1: leave the word export out"},
		{runOptions{envFiles: []string{"long"}}, "variable A: 180003 bytes are more than the 128 KiB"},
		{runOptions{envFiles: []string{"pipe"}}, "--env-file pipe: is no file"},
		{runOptions{envFiles: []string{"nowhere"}}, "--env-file nowhere: no such file"},
	} {
		if _, err := app.runEnv(&c.o, profile); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: the error shows a value: %v", c.o, err)
		}
	}
}

func TestDefaultName(t *testing.T) {
	for command, want := range map[string]string{
		"train.py": "train-wxyz", "src/My_Model.v2.py": "my-model-v2-wxyz", "/usr/bin/python3": "python3-wxyz",
		"实验.py": "run-wxyz", "--x": "x-wxyz", strings.Repeat("a", 80): strings.Repeat("a", 40) + "-wxyz",
	} {
		got := defaultName(command, "01234567wxyz")
		if got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
		if err := plan.ValidName(got); err != nil {
			t.Error(err)
		}
	}
}
