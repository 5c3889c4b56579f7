package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

func TestDescribeEnd(t *testing.T) {
	limit := plan.Duration(time.Hour)
	p := &plan.Plan{Name: "train", TimeLimit: &limit}
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	code := func(n int) *int { return &n }
	for _, c := range []struct {
		state record.State
		want  string
		clean bool
	}{
		{record.State{Phase: record.Ended, ExitCode: code(0), MemoryPeak: 3 << 30, MemoryLimit: 4 << 30}, "run train ended after 12 s, memory peak 3 GiB of 4 GiB", true},
		{record.State{Phase: record.Ended, ExitCode: code(0)}, "run train ended after 12 s", true},
		{record.State{Phase: record.Ended, ExitCode: code(1)}, "run train ended with exit code 1 after 12 s; log: crun logs train", false},
		{record.State{Phase: record.Ended, ExitCode: code(137), Signal: "SIGKILL"}, "run train ended by SIGKILL after 12 s; log: crun logs train", false},
		{record.State{Phase: record.Ended, ExitCode: code(137), Signal: "SIGKILL", OOMKills: 1, MemoryPeak: 4 << 30, MemoryLimit: 4 << 30},
			"run train ended by SIGKILL after 12 s, killed: out of memory (limit 4 GiB, peak 4 GiB); more is --memory SIZE; log: crun logs train", false},
		{record.State{Phase: record.Ended, ExitCode: code(143), Signal: "SIGTERM", TimedOut: true}, "run train ended by SIGTERM after 12 s, at its time limit of 1h; log: crun logs train", false},
		{record.State{Phase: record.Lost, Message: "gone"}, "run train is lost: gone; log: crun logs train", false},
	} {
		c.state.Started, c.state.Finished = start, start.Add(12*time.Second)
		got, clean := describeEnd(p, &c.state)
		if got != c.want || clean != c.clean {
			t.Errorf("%+v:\n got %s, %v\nwant %s, %v", c.state, got, clean, c.want, c.clean)
		}
	}
	failed := record.State{Phase: record.Failed, Message: "no GPU"}
	if got, _ := describeEnd(p, &failed); got != "run train could not start: no GPU" {
		t.Error(got)
	}
}

func TestMemoryHint(t *testing.T) {
	start := time.Now()
	s := record.State{MemoryPeak: 300 << 20, MemoryLimit: 4 << 30, Started: start, Finished: start.Add(time.Hour)}
	if got := memoryHint(&s); got != " (--memory 768m would do)" {
		t.Errorf("%q", got)
	}
	short, full := s, s
	short.Finished = start.Add(time.Second)
	full.MemoryPeak = 1 << 30
	for _, s := range []record.State{short, full, {}} {
		if got := memoryHint(&s); got != "" {
			t.Errorf("%+v: %q", s, got)
		}
	}
}

func TestFormatTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0 s", 1234 * time.Millisecond: "1.2 s", 42 * time.Second: "42 s", 125 * time.Second: "2 min 5 s",
		90 * time.Minute: "1 h 30 min", 50 * time.Hour: "2 d 2 h",
	} {
		if got := formatTime(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}

func TestLineTail(t *testing.T) {
	frames := []record.Frame{{Data: []byte("one\ntwo\nth")}, {Stderr: true, Data: []byte("err\n")}, {Data: []byte("ree\nfour")}}
	for lines, want := range map[int]string{
		0: "", 1: "four", 2: "ree\nfour", 3: "therr\nree\nfour", 10: "one\ntwo\ntherr\nree\nfour",
	} {
		tail := &lineTail{lines: lines}
		for _, f := range frames {
			tail.add(f)
		}
		var got bytes.Buffer
		for _, f := range tail.frames {
			got.Write(f.Data)
		}
		if got.String() != want {
			t.Errorf("%d lines: %q, want %q", lines, got.String(), want)
		}
	}
}

func TestTimestamps(t *testing.T) {
	var out bytes.Buffer
	p := &logPrinter{out: &out, err: io.Discard, options: &logsOptions{timestamps: true}}
	at := time.Date(2026, 3, 1, 12, 0, 0, 5e6, time.UTC)
	for _, data := range []string{"a\nb", "c\n", "d\n"} {
		if err := p.print(record.Frame{Time: at, Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
	}
	stamp := "2026-03-01T12:00:00.005Z "
	if want := stamp + "a\n" + stamp + "bc\n" + stamp + "d\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestStrays(t *testing.T) {
	all := []engine.Container{
		{Run: "known", Labels: map[string]string{"dev.crun.uid": "1000"}},
		{Run: "stray", Labels: map[string]string{"dev.crun.uid": "1000"}},
		{Run: "others", Labels: map[string]string{"dev.crun.uid": "1001"}},
		{Run: "", Labels: map[string]string{"dev.crun.uid": "1000"}},
	}
	found := strays(all, map[string]bool{"known": true}, 1000)
	if len(found) != 1 || found[0].Run != "stray" {
		t.Errorf("%+v", found)
	}
}

func TestWarnOnce(t *testing.T) {
	app := runApp(t, nil)
	state := t.TempDir()
	app.Getenv = func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }
	var out bytes.Buffer
	app.Err = &out
	for range 3 {
		app.warnOnce("/a", "mind the gap")
	}
	app.warnOnce("/b", "mind the gap")
	if got := strings.Count(out.String(), "mind the gap"); got != 2 {
		t.Errorf("said %d times in two projects", got)
	}
	out.Reset()
	for _, text := range []string{"9 GiB free", "8 GiB free"} {
		app.warnOnceAs("/a", "disk", text)
	}
	if got := out.String(); !strings.Contains(got, "9 GiB") || strings.Contains(got, "8 GiB") {
		t.Errorf("said %q", got)
	}
}

func TestRunError(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{errors.New("x"), 125}, {context.Canceled, 130}, {&exitError{code: 3}, 3}, {withCode(127, errors.New("x")), 127},
	} {
		var coded *exitError
		if err := runError(c.err); !errors.As(err, &coded) || coded.code != c.want {
			t.Errorf("%v gives %v, want code %d", c.err, err, c.want)
		}
	}
	if err := runError(nil); err != nil {
		t.Error(err)
	}
}
