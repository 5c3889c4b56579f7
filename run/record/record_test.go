package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/run/plan"
)

func testStore(t *testing.T) *Store {
	t.Helper()
	store, err := OpenStore(filepath.Join(t.TempDir(), "runs"))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

var ids byte

func newID(now time.Time) string {
	ids++
	return plan.NewID(now, [3]byte{0, 0, ids})
}

func testPlan(name string) *plan.Plan {
	return &plan.Plan{Version: plan.Version, ID: newID(time.Now()), Name: name, Profile: "small"}
}

func testRecord(t *testing.T) (*Record, *Lock) {
	t.Helper()
	r, lock, err := testStore(t).Create(testPlan("train"), NewState(time.Now(), nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Unlock() })
	return r, lock
}

func TestRoundTrip(t *testing.T) {
	store := testStore(t)
	p := testPlan("train")
	want := NewState(time.Now(), json.RawMessage(`{"host":"unix:///x"}`))
	r, lock, err := store.Create(p, want)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Owned() {
		t.Error("a record that was just made is not locked")
	}
	code := 137
	want.Phase, want.ExitCode, want.Signal, want.OOMKills = Ended, &code, "SIGKILL", 2
	want.Finished = want.Created.Add(time.Minute)
	if err := r.SetState(want); err != nil {
		t.Fatal(err)
	}
	found, err := store.Find("train")
	if err != nil {
		t.Fatal(err)
	}
	got, err := found.State()
	if err != nil {
		t.Fatal(err)
	}
	var compact json.RawMessage = []byte(strings.Join(strings.Fields(string(got.Engine)), ""))
	got.Engine = compact
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	gotPlan, err := found.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, gotPlan); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	for path, mode := range map[string]os.FileMode{store.Dir(): 0o700, r.Dir(): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want mode %v", path, info.Mode(), err, mode)
		}
	}
	lock.Unlock()
	if r.Owned() {
		t.Error("the lock outlives its holder")
	}
	lock, err = r.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Remove(r, lock); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Find("train"); !errors.Is(err, ErrGone) {
		t.Errorf("after removal: %v, want ErrGone", err)
	}
	if _, err := r.TryLock(); !errors.Is(err, ErrGone) {
		t.Errorf("locking a removed record: %v, want ErrGone", err)
	}
}

func TestNames(t *testing.T) {
	store := testStore(t)
	first, lock, err := store.Create(testPlan("train"), NewState(time.Now(), nil))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if _, _, err := store.Create(testPlan("train"), NewState(time.Now(), nil)); err == nil || !strings.Contains(err.Error(), "--name") {
		t.Errorf("a name in use: %v, want a refusal that names --name", err)
	}
	state, _ := first.State()
	state.Phase = Ended
	first.SetState(state)
	p := testPlan("train")
	p.ID = "zz" // not an id
	if _, _, err := store.Create(p, NewState(time.Now(), nil)); err == nil {
		t.Error("an id that is none is taken")
	}
	later := testPlan("train")
	later.ID = newID(time.Now().Add(time.Hour))
	second, lock2, err := store.Create(later, NewState(time.Now(), nil))
	if err != nil {
		t.Fatalf("a name that is free again: %v", err)
	}
	defer lock2.Unlock()
	if got, err := store.Find("train"); err != nil || got.ID != second.ID {
		t.Errorf("Find gives %v, %v, want the newest, %s", got, err, second.ID)
	}
	if got, err := store.Find(first.ID); err != nil || got.ID != first.ID {
		t.Errorf("Find(id) gives %v, %v", got, err)
	}
	if _, err := store.Find(first.ID[:1]); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("Find(shared prefix): %v, want ErrAmbiguous", err)
	}
}

// TestNameRace lets commands ask for one name at once.
func TestNameRace(t *testing.T) {
	store := testStore(t)
	var won atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		p := testPlan("train")
		all.Go(func() {
			if _, _, err := store.Create(p, NewState(time.Now(), nil)); err == nil {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d runs got the name", won.Load())
	}
	if records, _ := store.List(); len(records) != 1 {
		t.Errorf("%d records", len(records))
	}
}

func TestEventsTorn(t *testing.T) {
	r, _ := testRecord(t)
	r.AddEvent(Event{By: "monitor", What: "created"})
	path := filepath.Join(r.Dir(), "events.jsonl")
	file, _ := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	file.WriteString(`{"by":"monitor","what":"sta`) // torn by a crash
	file.Close()
	events, err := r.Events()
	if err != nil || len(events) != 1 {
		t.Errorf("%d events, %v, want the one whole", len(events), err)
	}
	r.AddEvent(Event{By: "monitor", What: "ended"})
	events, err = r.Events()
	if err != nil || len(events) != 2 || events[1].What != "ended" {
		t.Errorf("%v, %v, want the whole ones on both sides of the torn", events, err)
	}
}

func TestStateOfOtherVersions(t *testing.T) {
	for name, text := range map[string]string{
		"later": `{"version": 99, "phase": "running"}`,
		"torn":  `{"version": 1, "pha`,
		"empty": ``,
		"other": `[]`,
		"no":    `{}`,
	} {
		if _, err := parseState([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	old := `{"version": 1, "phase": "ended", "exit_code": 3, "a_later_field": true}`
	if s, err := parseState([]byte(old)); err != nil || *s.ExitCode != 3 {
		t.Errorf("version 1: %v, %v", s, err)
	}
}

// TestCrash stops the writing of a record at each of its steps, as a crash
// does, and looks at what the next command finds.
func TestCrash(t *testing.T) {
	crash := errors.New("crash")
	for stop := 0; ; stop++ {
		store := testStore(t)
		step, crashed := 0, ""
		store.files.fault = func(name string) error {
			if crashed == "" && step == stop {
				crashed = name
			}
			step++
			if crashed != "" {
				return crash
			}
			return nil
		}
		r, lock, err := store.Create(testPlan("train"), NewState(time.Now(), nil))
		created := err == nil
		if created {
			code := 0
			state, _ := r.State()
			state.Phase = Running
			if err = r.SetState(state); err == nil {
				state.Phase, state.ExitCode = Ended, &code
				err = r.SetState(state)
			}
			if w, werr := r.OpenLog(DefaultLogLimits); err == nil && werr == nil {
				fmt.Fprint(w.Stdout(), "hello\n")
				w.Close()
				err = errors.Join(w.Err(), r.CompressLog())
			}
		}
		store.files.fault = nil
		if lock != nil {
			lock.Unlock()
		}
		if crashed == "" {
			if err != nil {
				t.Fatalf("without a crash: %v", err)
			}
			if stop < 10 {
				t.Fatalf("only %d steps were seen", stop)
			}
			return
		}
		if !errors.Is(err, crash) {
			t.Errorf("crash at %q: %v, want it told", crashed, err)
		}
		all, err := store.List()
		if err != nil || len(all) != map[bool]int{true: 1}[created] {
			t.Errorf("crash at %q: %d records, %v", crashed, len(all), err)
		}
		for _, r := range all {
			if _, err := r.State(); err != nil {
				t.Errorf("crash at %q: %v", crashed, err)
			}
			if _, err := r.Plan(); err != nil {
				t.Errorf("crash at %q: %v", crashed, err)
			}
			if err := r.CompressLog(); err != nil {
				t.Errorf("crash at %q: %v", crashed, err)
			}
		}
	}
}

func TestClean(t *testing.T) {
	store := testStore(t)
	half := filepath.Join(store.Dir(), ".new-"+newID(time.Now()))
	os.Mkdir(half, 0o700)
	store.Clean(time.Now())
	if !exists(half) {
		t.Error("a record being made is removed")
	}
	store.Clean(time.Now().Add(2 * time.Minute))
	if exists(half) {
		t.Error("a record that a crash left half made stays")
	}
}

func TestDefaultDir(t *testing.T) {
	env := map[string]string{"HOME": "/home/ann"}
	getenv := func(name string) string { return env[name] }
	if got, err := DefaultDir(getenv); err != nil || got != "/home/ann/.local/state/crun/runs" {
		t.Errorf("%s, %v", got, err)
	}
	env["XDG_STATE_HOME"] = "relative"
	if got, err := DefaultDir(getenv); err != nil || got != "/home/ann/.local/state/crun/runs" {
		t.Errorf("a relative XDG_STATE_HOME: %s, %v", got, err)
	}
	env["XDG_STATE_HOME"] = "/state"
	if got, err := DefaultDir(getenv); err != nil || got != "/state/crun/runs" {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := DefaultDir(func(string) string { return "" }); err == nil {
		t.Error("no HOME: no error")
	}
}

// TestListReadsLittle: what a list of a thousand runs costs is one file each.
func TestListReadsLittle(t *testing.T) {
	store := testStore(t)
	const runs = 50
	for i := range runs {
		r, lock, err := store.Create(testPlan(fmt.Sprintf("train-%d", i)), NewState(time.Now(), nil))
		if err != nil {
			t.Fatal(err)
		}
		state, err := r.State()
		if err != nil {
			t.Fatal(err)
		}
		state.Phase, state.Complete = Ended, true
		if err := r.SetState(state); err != nil {
			t.Fatal(err)
		}
		lock.Unlock()
	}
	fresh, err := OpenStore(store.Dir())
	if err != nil {
		t.Fatal(err)
	}
	all, err := fresh.List()
	if err != nil || len(all) != runs {
		t.Fatalf("%d runs, %v", len(all), err)
	}
	for i, r := range all {
		if _, err := r.State(); err != nil { // as the sweep does
			t.Fatal(err)
		}
		state, known := r.Known()
		if !known {
			t.Fatal("a complete run is not known")
		}
		if s, err := r.Summary(&state); err != nil || s.Name != fmt.Sprintf("train-%d", i) {
			t.Fatalf("summary %+v, %v", s, err)
		}
	}
	if _, err := fresh.Find("train-7"); err != nil {
		t.Fatal(err)
	}
	if got := fresh.files.reads.Load(); got != runs {
		t.Errorf("listing %d runs and finding one read %d files", runs, got)
	}
}
