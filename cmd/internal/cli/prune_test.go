package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDayFlag(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": pruneAge, "0s": 0, "36h": 36 * time.Hour, "0d": 0} {
		var d dayFlag
		if err := d.Set(text); err != nil || time.Duration(d) != want {
			t.Errorf("%q is %v, %v", text, time.Duration(d), err)
		}
	}
	for _, text := range []string{"", "d", "-1d", "1.5d", "30", "30 d", "1d2h", "-5s", "99999999d", "0x1d"} {
		var d dayFlag
		if err := d.Set(text); err == nil {
			t.Errorf("%q is taken for %v", text, time.Duration(d))
		}
	}
	if d := dayFlag(pruneAge); d.String() != "30d" {
		t.Errorf("30 days are written %s", d.String())
	}
}

// cron is a crontab that tests can look at.
func cron(text *string) timer {
	return timer{run: func(_ context.Context, stdin, program string, args ...string) (string, error) {
		if program == "crontab" && args[0] == "-l" {
			if *text == "" {
				return "", errors.New("crontab -l: exit status 1: no crontab for lab")
			}
			return *text, nil
		}
		*text = stdin
		return "", nil
	}}
}

func TestTimerOfCron(t *testing.T) {
	for _, before := range []string{"", "0 1 * * * backup 100\\%\n", "0 1 * * * backup"} {
		text := before
		var out bytes.Buffer
		app := &App{Out: &out, Err: &out, In: strings.NewReader("")}
		words := []string{"/opt/the crun/crun", "prune", "--yes"}
		o := pruneOptions{yes: true}
		for range 2 { // a second time changes nothing
			if err := app.putTimer(t.Context(), cron(&text), o, []string{"CRUN_CONFIG=/etc/50%.yaml"}, words); err != nil {
				t.Fatal(err)
			}
		}
		want := before
		if want != "" && !strings.HasSuffix(want, "\n") {
			want += "\n"
		}
		line := `17 4 * * 0 CRUN_CONFIG='/etc/50\%.yaml' '/opt/the crun/crun' prune --yes # crun-prune` + "\n"
		if diff := cmp.Diff(want+line, text); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(out.String(), line) {
			t.Errorf("it is not shown first: %s", out.String())
		}
		if err := app.dropTimer(t.Context(), cron(&text), o); err != nil || text != want {
			t.Errorf("without it the crontab is %q, %v; want %q", text, err, want)
		}
	}
	// Where nobody can be asked nothing happens.
	text := ""
	app := &App{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, In: strings.NewReader("y\n")}
	if err := app.putTimer(t.Context(), cron(&text), pruneOptions{}, nil, []string{"crun"}); err == nil || text != "" {
		t.Errorf("the crontab is %q, %v", text, err)
	}
}

func TestTimerOfSystemd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "user")
	var calls []string
	tm := timer{units: dir, user: true, run: func(_ context.Context, _, program string, args ...string) (string, error) {
		calls = append(calls, program+" "+strings.Join(args, " "))
		return "", nil
	}}
	app := &App{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, In: strings.NewReader("")}
	if err := app.putTimer(t.Context(), tm, pruneOptions{yes: true}, []string{"A=50% $x \"y\""}, []string{"/opt/$a/crun", "prune"}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "crun-prune.service"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`Environment="A=50%% $x \"y\""` + "\n", `ExecStart="/opt/$$a/crun" "prune"` + "\n"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the service lacks %q:\n%s", want, data)
		}
	}
	if err := app.dropTimer(t.Context(), tm, pruneOptions{}); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	want := []string{"systemctl --user daemon-reload", "systemctl --user enable --now crun-prune.timer",
		"systemctl --user disable --now crun-prune.timer", "systemctl --user daemon-reload"}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
}
