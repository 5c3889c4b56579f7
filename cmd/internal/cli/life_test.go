package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// lifeApp is an App with a store of its own and an engine that is not there.
func lifeApp(t *testing.T) (*App, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	state := t.TempDir()
	var out, errs bytes.Buffer
	app := &App{Out: &out, Err: &errs, Dir: "/home/ann/spirals"}
	app.Getenv = func(name string) string {
		return map[string]string{"XDG_STATE_HOME": state, "HOME": state, "XDG_CONFIG_HOME": state, "DOCKER_HOST": "unix://" + filepath.Join(state, "no-engine.sock")}[name]
	}
	return app, &out, &errs
}

// addRun makes the record of a run that has ended.
func addRun(t *testing.T, app *App, n int, change func(*plan.Plan, *record.State)) *record.Record {
	t.Helper()
	store, err := app.openStore()
	if err != nil {
		t.Fatal(err)
	}
	started := time.Date(2026, 3, 1, 12, n, 0, 0, time.Local)
	p := &plan.Plan{Version: plan.Version, ID: plan.NewID(started, [3]byte{0, 0, byte(n)}), Name: fmt.Sprintf("train-%d", n), Profile: "small", Project: "/home/ann/spirals"}
	code := 0
	end := record.NewState(started, nil)
	end.Phase, end.Started, end.Finished, end.ExitCode, end.Complete, end.Removed = record.Ended, started, started.Add(time.Minute), &code, true, true
	if change != nil {
		change(p, &end)
	}
	r, lock, err := store.Create(p, record.NewState(started, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	end.Run = record.Summarize(p)
	if err := r.SetState(end); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPs(t *testing.T) {
	app, out, errs := lifeApp(t)
	addRun(t, app, 1, nil)
	failed := addRun(t, app, 2, func(p *plan.Plan, s *record.State) {
		*s.ExitCode = 3
		p.Name, p.Profile, p.Project = "night", "large", "/home/ann/other project"
	})
	// A list reads no plan.
	if err := os.Remove(filepath.Join(failed.Dir(), "plan.json")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string // NAME STATE of each line, or a message
		code int
	}{
		{[]string{"ps"}, "", 0},
		{[]string{"ps", "-a"}, "train-1 done;night exit 3", 0},
		{[]string{"ps", "-a", "--filter", "state=failed"}, "night exit 3", 0},
		{[]string{"ps", "-a", "--filter", "state=exit 3", "--profile", "large"}, "night exit 3", 0},
		{[]string{"ps", "-a", "--name", "train-*"}, "train-1 done", 0},
		{[]string{"ps", "-a", "--project", "."}, "train-1 done", 0},
		{[]string{"ps", "-a", "--project", "../other project"}, "night exit 3", 0},
		{[]string{"ps", "-a", "--filter", "colour=red"}, `--filter is "colour=red"; allowed are`, 2},
		{[]string{"ps", "-a", "--filter", "name"}, `--filter is "name"`, 2},
		{[]string{"ps", "--watch", "-o", "json"}, "--watch is for people", 2},
		{[]string{"ps", "-o", "yaml"}, `-o is "yaml"; allowed are wide, json and a template`, 2},
		{[]string{"ps", "-o", "{{.Nme}}"}, "-o is no template", 2},
		{[]string{"ps", "--every", "1ms", "--watch"}, "--every is 1ms", 2},
		{[]string{"ps", "--user", "all"}, "listing other people's runs: ", 1},
	} {
		out.Reset()
		errs.Reset()
		args := c.args
		if c.code == 0 {
			args = append(args, "-o", "{{.Name}} {{.State}}")
		}
		if code := app.Run(t.Context(), args); code != c.code {
			t.Errorf("%q: exit code %d, want %d: %s", c.args, code, c.code, errs)
		}
		if got := strings.ReplaceAll(strings.TrimSpace(out.String()), "\n", ";"); c.code == 0 && got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
		if c.code != 0 && !strings.Contains(errs.String(), c.want) {
			t.Errorf("%q: %q, want %q", c.args, errs, c.want)
		}
	}
	out.Reset()
	app.Run(t.Context(), []string{"ps", "-a"})
	if got := out.String(); !strings.Contains(got, "STARTED") || !strings.Contains(got, "2026-03-01 12:02") {
		t.Errorf("no date in\n%s", got)
	}
}

func TestMemoryCell(t *testing.T) {
	for _, c := range []struct {
		row  runRow
		want string
	}{
		{runRow{Phase: record.Running, Memory: 1 << 30, MemoryLimit: 4 << 30}, "1 GiB / 4 GiB"},
		{runRow{Phase: record.Running, MemoryLimit: 4 << 30}, "- / 4 GiB"},
		{runRow{Phase: record.Ended, MemoryPeak: 2 << 30, Memory: 1, MemoryLimit: 4 << 30}, "2 GiB / 4 GiB"},
		{runRow{Phase: record.Ended, MemoryPeak: 2 << 30}, "2 GiB"},
		{runRow{Phase: record.Failed}, "-"},
	} {
		if got := memoryCell(&c.row); got != c.want {
			t.Errorf("%+v: %q, want %q", c.row, got, c.want)
		}
	}
}

func TestParseMoment(t *testing.T) {
	now := time.Date(2026, 3, 5, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"":                     {},
		"10m":                  now.Add(-10 * time.Minute),
		"3d":                   now.AddDate(0, 0, -3),
		"2026-03-01":           time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local),
		"2026-03-01 15:04":     time.Date(2026, 3, 1, 15, 4, 0, 0, time.Local),
		"2026-03-01T15:04:05Z": time.Date(2026, 3, 1, 15, 4, 5, 0, time.UTC),
	} {
		if got, err := parseMoment(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"yesterday", "-5m", "5", "2026-13-01", "-1d"} {
		if got, err := parseMoment(text, now); err == nil {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}

func TestLogsWants(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		o    logsOptions
		want string // of frames one minute apart: out, err, out, gap
	}{
		{logsOptions{}, "yyyy"},
		{logsOptions{stdout: true}, "ynyy"},
		{logsOptions{stderr: true}, "nyny"},
		{logsOptions{since: at.Add(time.Minute)}, "nyyy"},
		{logsOptions{until: at.Add(time.Minute)}, "yynn"},
	} {
		got := ""
		for i, frame := range []record.Frame{{}, {Stderr: true}, {}, {Gap: &record.Gap{}}} {
			frame.Time = at.Add(time.Duration(i) * time.Minute)
			if c.o.wants(frame) {
				got += "y"
			} else {
				got += "n"
			}
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.o, got, c.want)
		}
	}
}

func TestSignalName(t *testing.T) {
	for text, want := range map[string]string{"USR1": "SIGUSR1", "sigterm": "SIGTERM", "9": "SIGKILL", "SIGKILL": "SIGKILL", "TSTP": "SIGTSTP"} {
		if got, err := signalName(text); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "99", "FOO", "STOP", "-9"} {
		if got, err := signalName(text); err == nil {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}

// TestWrongLifeFlags refuses before any engine is asked.
func TestWrongLifeFlags(t *testing.T) {
	app, _, errs := lifeApp(t)
	for _, c := range []struct{ line, want string }{
		{"attach", "needs the name of a run"},
		{"attach --detach-keys ctrl-ö x", "detach keys are"},
		{"exec x", "needs the name of a run and a command"},
		{"exec -t -T x ls", "contradict each other"},
		{"exec -w tmp x ls", "--workdir"},
		{"exec -e =1 x ls", "-e is"},
		{"shell", "needs the name of a run"},
		{"shell x y", "takes one run"},
		{"wait", "needs the name of a run"},
		{"wait --timeout -1s x", "cannot be negative"},
		{"kill -s FOO x", "allowed are the names"},
		{"restart", "needs the name of a run"},
		{"logs --since tomorrow x", "--since is"},
		{"logs --since 1m --until 2m x", "is before"},
		{"run --detach-keys a,,b train.py", "detach keys are"},
	} {
		errs.Reset()
		if code := app.Run(t.Context(), strings.Fields(c.line)); code != exitUsage || !strings.Contains(errs.String(), c.want) {
			t.Errorf("crun %s: exit code %d, %q, want 2 and %q", c.line, code, errs, c.want)
		}
	}
	for _, line := range []string{"attach nobody", "exec nobody ls", "shell nobody", "restart nobody"} {
		errs.Reset()
		if code := app.Run(t.Context(), strings.Fields(line)); code != exitEngine || !strings.Contains(errs.String(), "no such run") {
			t.Errorf("crun %s: exit code %d, %q", line, code, errs)
		}
	}
}

// TestSecretsAgain names what a new run would lack.
func TestSecretsAgain(t *testing.T) {
	app, _, _ := lifeApp(t)
	app.Getenv = func(name string) string { return map[string]string{"TOKEN": "t"}[name] }
	if got, err := app.secretsAgain(&plan.Plan{SecretEnv: []string{"TOKEN"}}); err != nil || got["TOKEN"] != "t" {
		t.Errorf("%v, %v", got, err)
	}
	passed := &plan.Plan{SecretEnv: []string{"TOKEN", "WANDB_MODE"}, Origin: map[string]string{"env.WANDB_MODE": plan.PassedOrigin}}
	if got, err := app.secretsAgain(passed); err != nil || len(got) != 1 || len(passed.SecretEnv) != 1 {
		t.Errorf("what crun passed on and is no longer set: %v, %v, %v", got, passed.SecretEnv, err)
	}
	if _, err := app.secretsAgain(&plan.Plan{Name: "train", SecretEnv: []string{"TOKEN", "KEY"}}); err == nil || !strings.Contains(err.Error(), "had KEY from") {
		t.Errorf("%v", err)
	}
}
