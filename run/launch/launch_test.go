package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/engine/enginetest"
	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

var (
	ids      byte
	testArgs = []string{"true"}
)

func testPlan(t *testing.T) *plan.Plan {
	t.Helper()
	ids++
	memory := int64(1 << 30)
	p, _, err := plan.Make(plan.Request{
		ID: plan.NewID(time.Now(), [3]byte{0, 0, ids}), Name: "train", Profile: "small",
		Limits:  plan.Limits{Memory: &plan.Amount{Value: memory}},
		Host:    plan.Host{CPUs: 8, Memory: 16 << 30, SwapLimit: true},
		Image:   plan.ImageFacts{Image: plan.Image{Ref: "image", ID: "sha256:0"}},
		Command: testArgs, Project: "/project", Dir: "/project",
		Account: plan.Account{User: "ann", UID: 1000, GID: 1000, Home: "/home/ann"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type fixture struct {
	t      *testing.T
	store  *record.Store
	record *record.Record
	lock   *record.Lock
	fake   *enginetest.Fake
	owner  *Owner
}

func newFixture(t *testing.T, command func(*enginetest.Process) int) *fixture {
	t.Helper()
	store, err := record.OpenStore(filepath.Join(t.TempDir(), "runs"))
	if err != nil {
		t.Fatal(err)
	}
	r, lock, err := store.Create(testPlan(t), record.NewState(time.Now(), nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Unlock() })
	f := &fixture{t: t, store: store, record: r, lock: lock, fake: &enginetest.Fake{T: t, Command: command}}
	f.owner = f.newOwner()
	return f
}

func (f *fixture) newOwner() *Owner {
	return &Owner{Engine: f.fake, Record: f.record, Log: record.DefaultLogLimits, Retry: time.Millisecond}
}

func (f *fixture) state() record.State {
	f.t.Helper()
	s, err := f.record.State()
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// log is the record's log, stderr in <>, gaps as [].
func (f *fixture) log() string {
	f.t.Helper()
	l := f.record.ReadLog()
	defer l.Close()
	var b strings.Builder
	for {
		frame, err := l.Next()
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			f.t.Fatal(err)
		}
		switch {
		case frame.Gap != nil:
			b.WriteString("[]")
		case frame.Stderr:
			fmt.Fprintf(&b, "<%s>", frame.Data)
		default:
			b.Write(frame.Data)
		}
	}
}

// clean holds a run that is over to the promise: no container, a whole record.
func (f *fixture) clean(when string) record.State {
	f.t.Helper()
	if left := f.fake.Containers(); len(left) > 0 {
		f.t.Errorf("%s: containers %v are left behind", when, left)
	}
	s := f.state()
	if !s.Phase.Over() || !s.Removed || !s.Complete || s.Finished.IsZero() {
		f.t.Errorf("%s: the record is not complete: %+v", when, s)
	}
	return s
}

func hello(p *enginetest.Process) int {
	fmt.Fprint(p.Stdout, "hello\n")
	fmt.Fprint(p.Stderr, "oops\n")
	peak, kills := int64(500<<20), int64(1)
	report, _ := json.Marshal(inside.Report{
		Version: 1, Reason: inside.ReasonSignaled, ExitCode: 137, Signal: "SIGKILL", Started: time.Now(), Ended: time.Now(),
		Counters: &inside.Counters{MemoryPeak: &peak, OOMKills: &kills},
	})
	p.WriteFile(inside.ReportPath, report)
	p.WriteFile(inside.LimitsPath, []byte(`{"version":1}`))
	return 137
}

func TestStart(t *testing.T) {
	f := newFixture(t, hello)
	var said []string
	f.owner.Created = func(container string, _ []string) {
		if f.fake.Containers()[0] != container {
			t.Errorf("Created was told of %s", container)
		}
		said = append(said, "created")
	}
	f.owner.Ready = func() error {
		said = append(said, "ready")
		return nil
	}
	f.owner.Started = func() { said = append(said, "started") }
	f.owner.Ended = func(s record.State) {
		said = append(said, "ended")
		if len(f.fake.Containers()) > 0 {
			t.Error("ended was told before the container was removed")
		}
	}
	if err := f.owner.Start(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	s := f.clean("after the end")
	if s.Phase != record.Ended || *s.ExitCode != 137 || s.Signal != "SIGKILL" || s.OOMKills != 1 || s.MemoryPeak != 500<<20 || s.MemoryLimit != 1<<30 {
		t.Errorf("state %+v", s)
	}
	if got := f.log(); got != "hello\n<oops\n>" {
		t.Errorf("log %q", got)
	}
	if want := []string{"created", "ready", "started", "ended"}; !slices.Equal(said, want) {
		t.Errorf("said %v, want %v", said, want)
	}
	for _, name := range []string{record.LimitsFile, record.ReportFile} {
		if data, err := f.record.Get(name); err != nil || data == nil {
			t.Errorf("%s: %v, %v", name, data, err)
		}
	}
	events, _ := f.record.Events()
	var whats []string
	for _, e := range events {
		whats = append(whats, e.By+" "+e.What)
	}
	for _, want := range []string{"monitor created", "monitor started", "monitor ended"} {
		if !slices.Contains(whats, want) {
			t.Errorf("events %v: no %q", whats, want)
		}
	}
}

// TestEveryFault lets each call of the engine fail once.
func TestEveryFault(t *testing.T) {
	refused := errors.New("refused")
	for _, call := range []string{"create", "attach", "wait", "events", "start", "state", "readfile", "remove"} {
		t.Run(call, func(t *testing.T) {
			f := newFixture(t, hello)
			failed := false
			var mu sync.Mutex
			f.fake.Fault = func(name string) error {
				mu.Lock()
				defer mu.Unlock()
				if name == call && !failed {
					failed = true
					return refused
				}
				return nil
			}
			err := f.owner.Start(t.Context(), nil, nil)
			s := f.state()
			switch call {
			case "create", "attach", "wait", "start":
				if !errors.Is(err, refused) {
					t.Errorf("error %v", err)
				}
				f.clean("after " + call + " failed")
				if s.Phase != record.Failed || s.Message != "refused" || *s.ExitCode != ExitFailed {
					t.Errorf("state %+v", s)
				}
			case "events", "state", "readfile":
				// The run is worth more than what these tell.
				if err != nil || s.Phase != record.Ended || *s.ExitCode != 137 {
					t.Errorf("%v, state %+v", err, s)
				}
				f.clean("after " + call + " failed")
			case "remove":
				if s.Removed || s.Complete || s.Phase != record.Ended {
					t.Errorf("state %+v", s)
				}
				// The next command sees to it.
				if err := f.newOwner().Adopt(t.Context()); err != nil {
					t.Fatal(err)
				}
				if s := f.clean("after adoption"); *s.ExitCode != 137 {
					t.Errorf("the exit code became %d", *s.ExitCode)
				}
			}
		})
	}
}

// TestStartAndRemoveFail is the worst of the failures at the start.
func TestStartAndRemoveFail(t *testing.T) {
	f := newFixture(t, nil)
	down := fmt.Errorf("down: %w", engine.ErrUnreachable)
	f.fake.Fault = func(name string) error {
		if name == "start" || name == "remove" {
			return down
		}
		return nil
	}
	if err := f.owner.Start(t.Context(), nil, nil); !errors.Is(err, engine.ErrUnreachable) {
		t.Errorf("error %v", err)
	}
	if s := f.state(); s.Phase != record.Failed || s.Removed || s.Complete {
		t.Errorf("state %+v: want failed, and the container still to be removed", s)
	}
	f.fake.Fault = nil
	if err := f.newOwner().Adopt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := f.clean("after adoption"); s.Phase != record.Failed {
		t.Errorf("phase %s", s.Phase)
	}
}

func TestAbandoned(t *testing.T) {
	f := newFixture(t, nil)
	f.owner.Ready = func() error { return io.EOF }
	if err := f.owner.Start(t.Context(), nil, nil); !errors.Is(err, ErrAbandoned) {
		t.Errorf("error %v, want ErrAbandoned", err)
	}
	if left := f.fake.Containers(); len(left) > 0 {
		t.Errorf("containers %v are left behind", left)
	}
	if calls := f.fake.Calls(); slices.Contains(calls, "start") {
		t.Errorf("calls %v", calls)
	}
}

func TestStop(t *testing.T) {
	for _, heeds := range []bool{true, false} {
		f := newFixture(t, func(p *enginetest.Process) int {
			for signal := range p.Signals {
				if heeds {
					fmt.Fprint(p.Stdout, signal)
					return 143
				}
			}
			return 0
		})
		running := make(chan struct{})
		f.owner.Started = func() { close(running) }
		go f.owner.Start(context.Background(), nil, nil)
		<-running
		if err := Stop(t.Context(), f.fake, f.record, "crun stop", 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		s := f.clean("after stop")
		if want := map[bool]int{true: 143, false: 137}[heeds]; *s.ExitCode != want {
			t.Errorf("exit code %d, want %d", *s.ExitCode, want)
		}
		events, _ := f.record.Events()
		if !slices.ContainsFunc(events, func(e record.Event) bool {
			return e.By == "crun stop" && e.What == "signal" && e.Attrs["signal"] == "SIGTERM"
		}) {
			t.Errorf("events %v: who stopped it is not told", events)
		}
	}
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{errors.New("x"), 125},
		{fmt.Errorf("x: %w", engine.ErrNotExec), 126},
		{fmt.Errorf("x: %w", engine.ErrNoCommand), 127},
	} {
		if got := ExitCode(c.err); got != c.want {
			t.Errorf("ExitCode(%v) is %d, want %d", c.err, got, c.want)
		}
	}
}

// TestSignalBeforeInitListens ends init by a signal that it could not hear yet,
// which Go's runtime turns into exit code 2.
func TestSignalBeforeInitListens(t *testing.T) {
	for _, sent := range []string{"SIGINT", "SIGTERM", ""} {
		var f *fixture
		f = newFixture(t, func(p *enginetest.Process) int {
			p.WriteFile(inside.LimitsPath, []byte("{}")) // its other threads go on
			if sent != "" {
				f.record.AddEvent(record.Event{By: "crun run", What: "signal", Attrs: map[string]string{"signal": sent}})
			}
			return 2
		})
		if err := f.owner.Start(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"SIGINT": 130, "SIGTERM": 143, "": 2}[sent]
		if s := f.clean("after the end"); *s.ExitCode != want || s.Signal != sent {
			t.Errorf("after %q: exit code %d and signal %q, want %d", sent, *s.ExitCode, s.Signal, want)
		}
	}
}
