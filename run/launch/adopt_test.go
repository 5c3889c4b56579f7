package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/engine/enginetest"
	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/record"
)

// TestKilled ends the monitor's goroutine at each call of the engine, before
// and after it is carried out, as kill -9 ends its process, and lets another
// monitor adopt the run.
func TestKilled(t *testing.T) {
	for _, after := range []bool{false, true} {
		for stop := 1; ; stop++ {
			f := newFixture(t, hello)
			var mu sync.Mutex
			count, killed, at := 0, false, ""
			hook := func(name string) {
				mu.Lock()
				count++
				if count == stop {
					killed, at = true, name
				}
				dead := killed
				mu.Unlock()
				if dead {
					runtime.Goexit()
				}
			}
			if after {
				f.fake.After = hook
			} else {
				f.fake.Fault = func(name string) error { hook(name); return nil }
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				f.owner.Start(context.Background(), nil, nil)
			}()
			<-done
			mu.Lock()
			name, over := at, !killed
			mu.Unlock()
			if over {
				if stop < 5 {
					t.Fatalf("only %d calls were seen", stop)
				}
				break
			}
			f.fake.Fault, f.fake.After = nil, nil
			when := fmt.Sprintf("killed at call %d, %s (carried out: %v)", stop, name, after)
			if err := f.newOwner().Adopt(t.Context()); err != nil && !strings.Contains(err.Error(), "killed before the start") {
				t.Errorf("%s: adopting: %v", when, err)
			}
			s := f.clean(when)
			switch s.Phase {
			case record.Failed:
				if s.Message != "crun was killed before the start" {
					t.Errorf("%s: message %q", when, s.Message)
				}
			case record.Ended:
				if *s.ExitCode != 137 {
					t.Errorf("%s: exit code %d", when, *s.ExitCode)
				}
				if got := f.log(); strings.Count(got, "hello") != 1 || strings.Count(got, "oops") != 1 {
					t.Errorf("%s: log %q", when, got)
				}
			case record.Lost: // killed between the removal and its writing down
				if name != "remove" {
					t.Errorf("%s: lost", when)
				}
			}
		}
	}
}

// TestLateContainer kills the monitor while the engine makes the container, and
// lets that appear after the adoption has begun. The id may be known by then:
// an engine answers that there is no such container until it is made.
func TestLateContainer(t *testing.T) {
	for _, known := range []string{"", "an-id-that-is-not-there-yet"} {
		f := newFixture(t, nil)
		state, err := f.record.State()
		if err != nil {
			t.Fatal(err)
		}
		state.Container = known
		if err := f.record.SetState(state); err != nil {
			t.Fatal(err)
		}
		owner := f.newOwner()
		owner.Linger = time.Minute
		told := make(chan record.State, 2)
		owner.Ended = func(s record.State) {
			told <- s
			p, _ := f.record.Plan()
			go f.fake.Create(context.Background(), p, nil, nil)
		}
		if err := owner.Adopt(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := <-told; s.Phase != record.Failed || len(told) > 0 {
			t.Errorf("told %+v, and %d more", s, len(told))
		}
		f.clean("after adoption")
		if calls := f.fake.Calls(); !slices.Contains(calls, "remove") {
			t.Errorf("calls %v", calls)
		}
	}
}

// TestEngineLost lets the engine go away in the middle of a run.
func TestEngineLost(t *testing.T) {
	started, again := make(chan struct{}), make(chan struct{})
	f := newFixture(t, func(p *enginetest.Process) int {
		fmt.Fprint(p.Stdout, "before ")
		close(started)
		<-again
		fmt.Fprint(p.Stdout, "after")
		return 4
	})
	done := make(chan error)
	go func() { done <- f.owner.Start(context.Background(), nil, nil) }()
	<-started
	for !strings.Contains(f.log(), "before") {
		time.Sleep(time.Millisecond)
	}
	var mu sync.Mutex
	tries := 0
	f.fake.Fault = func(name string) error {
		mu.Lock()
		defer mu.Unlock()
		if name == "state" && tries < 3 {
			tries++
			return engine.ErrUnreachable
		}
		return nil
	}
	f.fake.Break(engine.ErrUnreachable)
	time.Sleep(20 * time.Millisecond)
	close(again)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if s := f.clean("after the end"); *s.ExitCode != 4 {
		t.Errorf("exit code %d", *s.ExitCode)
	}
	if got := f.log(); got != "before after" {
		t.Errorf("log %q", got)
	}
}

// TestVanished adopts a run whose container was removed behind everybody's back.
func TestVanished(t *testing.T) {
	for _, reported := range []bool{false, true} {
		f := newFixture(t, nil)
		s := f.state()
		s.Phase, s.Container, s.Started = record.Running, "gone", time.Now()
		if err := f.record.SetState(s); err != nil {
			t.Fatal(err)
		}
		if reported { // init's word is in the folder that the container shared
			os.Mkdir(ShareDir(f.record.Dir()), 0o700)
			report := `{"version":1,"reason":"exited","exit_code":7,"ended":"2026-03-01T12:00:00Z"}`
			os.WriteFile(filepath.Join(ShareDir(f.record.Dir()), "report.json"), []byte(report), 0o600)
		}
		if err := f.owner.Adopt(t.Context()); err != nil {
			t.Fatal(err)
		}
		s = f.clean("after adoption")
		switch {
		case reported && (s.Phase != record.Ended || *s.ExitCode != 7):
			t.Errorf("with a report: %+v", s)
		case !reported && (s.Phase != record.Lost || s.ExitCode != nil || s.Message == ""):
			t.Errorf("without a report: %+v", s)
		}
	}
}

// TestShare gives the container its files by a folder of the record.
func TestShare(t *testing.T) {
	f := newFixture(t, func(p *enginetest.Process) int {
		if want := inside.Command(testArgs); !slices.Equal(p.Plan.Spec.Process.Args, want) {
			t.Errorf("command %v, want %v", p.Plan.Spec.Process.Args, want)
		}
		i := slices.IndexFunc(p.Plan.Spec.Mounts, func(m specs.Mount) bool { return m.Destination == inside.Dir })
		if i < 0 {
			t.Error("nothing is mounted")
			return 1
		}
		dir := p.Plan.Spec.Mounts[i].Source
		if data, err := os.ReadFile(filepath.Join(dir, "init")); err != nil || string(data) != "program" {
			t.Errorf("init: %q, %v", data, err)
		}
		// The file is other runs' too, and must not be written to from inside.
		if !slices.ContainsFunc(p.Plan.Spec.Mounts, func(m specs.Mount) bool {
			return m.Destination == inside.InitPath && m.Source == filepath.Join(dir, "init") && slices.Contains(m.Options, "ro")
		}) {
			t.Errorf("init is not mounted read-only: %v", p.Plan.Spec.Mounts)
		}
		os.WriteFile(filepath.Join(dir, "report.json"), []byte(`{"version":1,"reason":"signaled","exit_code":143,"signal":"SIGTERM"}`), 0o600)
		// What is no plain file is not read, and holds nobody up.
		syscall.Mkfifo(filepath.Join(dir, "limits.json"), 0o600)
		return 143
	})
	f.owner.Share = true
	files := []engine.File{{Path: inside.InitPath, Mode: 0o755, Name: "init-test", Load: func() ([]byte, error) { return []byte("program"), nil }}}
	if err := f.owner.Start(t.Context(), nil, files); err != nil {
		t.Fatal(err)
	}
	if s := f.clean("after the end"); s.Signal != "SIGTERM" {
		t.Errorf("state %+v", s)
	}
	if p, _ := f.record.Plan(); !slices.Equal(p.Spec.Process.Args, testArgs) {
		t.Errorf("the record's plan has %v", p.Spec.Process.Args)
	}
	if data, _ := f.record.Get(record.LimitsFile); data != nil {
		t.Errorf("a pipe was read as %q", data)
	}
	if _, err := os.Stat(ShareDir(f.record.Dir())); err == nil {
		t.Error("the folder is still there")
	}
}

// TestFollower compares the engine's copy with what the record has.
func TestFollower(t *testing.T) {
	for _, c := range []struct{ have, copy, want string }{
		{"", "abc", "abc"},
		{"abc", "abc", "abc"},
		{"abc", "abcdef", "abcdef"},
		{"abc", "cdef", "abc[]cdef"}, // the engine dropped the beginning
		{"abc", "abXdef", "abc[]Xdef"},
		{"abc", "", "abc"},
	} {
		for size := 1; size <= 6; size++ {
			f := newFixture(t, nil)
			w, err := f.record.OpenLog(record.DefaultLogLimits)
			if err != nil {
				t.Fatal(err)
			}
			for i := range len(c.have) {
				io.WriteString(w.Stdout(), c.have[i:i+1])
				io.WriteString(w.Stderr(), "e")
			}
			follow := &follower{to: w.Stdout(), log: w, have: f.record.ReadLog(), until: w.Total()}
			for rest := c.copy; rest != ""; {
				n := min(size, len(rest))
				if m, err := io.WriteString(follow, rest[:n]); m != n || err != nil {
					t.Fatalf("wrote %d, %v", m, err)
				}
				rest = rest[n:]
			}
			w.Close()
			if got := strings.ReplaceAll(f.log(), "<e>", ""); got != c.want {
				t.Errorf("have %q, copy %q in pieces of %d: %q, want %q", c.have, c.copy, size, got, c.want)
			}
		}
	}
}
