package monitor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/engine/enginetest"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// bench is a monitor in this process, and the foreground's ends of its pipes.
type bench struct {
	t        *testing.T
	store    *record.Store
	plan     *plan.Plan
	fake     *enginetest.Fake
	stdin    *io.PipeWriter
	messages *bufio.Reader
	done     chan error
}

var ids byte

func newBench(t *testing.T) *bench {
	t.Helper()
	store, err := record.OpenStore(filepath.Join(t.TempDir(), "runs"))
	if err != nil {
		t.Fatal(err)
	}
	ids++
	p, _, err := plan.Make(plan.Request{
		ID: plan.NewID(time.Now(), [3]byte{0, 0, ids}), Name: "train", Profile: "small",
		Host: plan.Host{CPUs: 8, Memory: 16 << 30}, Image: plan.ImageFacts{Image: plan.Image{Ref: "image", ID: "sha256:0"}},
		Command: []string{"true"}, Account: plan.Account{User: "ann", UID: 1000, GID: 1000},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, store: store, plan: p, fake: &enginetest.Fake{T: t}}
}

// serve starts a monitor in the reserved place.
func (b *bench) serve(adopt bool, lock *record.Lock) {
	in, stdin := io.Pipe()
	out, messages := io.Pipe()
	b.stdin, b.messages, b.done = stdin, bufio.NewReader(out), make(chan error, 1)
	server := &Server{
		Store: b.store, Stdin: in, Messages: messages, Lock: lock, Linger: time.Millisecond,
		Open:  func(context.Context, json.RawMessage) (engine.Engine, error) { return b.fake, nil },
		Files: func(*plan.Plan, string) ([]engine.File, error) { return nil, nil },
	}
	go func() {
		b.done <- server.Serve(context.Background(), b.plan.ID, adopt)
		messages.Close()
	}()
}

func (b *bench) reserve() {
	b.t.Helper()
	_, lock, err := b.store.Reserve(b.plan.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	b.serve(false, lock)
}

func (b *bench) commit() {
	b.t.Helper()
	if _, err := b.store.Commit(b.plan, record.NewState(time.Now(), nil)); err != nil {
		b.t.Fatal(err)
	}
	fmt.Fprintln(b.stdin, `{"secrets":{"A":"b"},"arch":"amd64"}`)
}

// expect reads the next message.
func (b *bench) expect(what string) Message {
	b.t.Helper()
	line, err := b.messages.ReadBytes('\n')
	var m Message
	if err == nil {
		err = json.Unmarshal(line, &m)
	}
	if err != nil || m.What != what {
		b.t.Fatalf("message %s, %v, want %s", line, err, what)
	}
	return m
}

// nothing holds the store and the engine to be empty.
func (b *bench) nothing() {
	b.t.Helper()
	entries, _ := filepath.Glob(filepath.Join(b.store.Dir(), "*"))
	for _, entry := range entries {
		if filepath.Base(entry) != ".lock" { // of the whole store
			b.t.Errorf("%s is left behind", entry)
		}
	}
	if left := b.fake.Containers(); len(left) > 0 {
		b.t.Errorf("containers %v are left behind", left)
	}
}

func TestServe(t *testing.T) {
	b := newBench(t)
	b.fake.Command = func(*enginetest.Process) int { return 3 }
	b.reserve()
	b.commit()
	if m := b.expect(Created); m.Container != b.fake.Containers()[0] {
		t.Errorf("message %+v", m)
	}
	fmt.Fprintln(b.stdin, goLine)
	b.stdin.Close() // the foreground may die now
	b.expect(Started)
	if m := b.expect(Ended); *m.State.ExitCode != 3 || !m.State.Removed {
		t.Errorf("message %+v", m)
	}
	if err := <-b.done; err != nil {
		t.Error(err)
	}
	r, err := b.store.Find("train")
	if err != nil {
		t.Fatal(err)
	}
	if state, _ := r.State(); !state.Complete {
		t.Errorf("state %+v", state)
	}
	if r.Owned() {
		t.Error("the lock outlives the monitor")
	}
}

// TestGivenUp closes the pipe at each point before the start.
func TestGivenUp(t *testing.T) {
	t.Run("before the record", func(t *testing.T) {
		b := newBench(t)
		b.reserve()
		b.stdin.Close()
		if err := <-b.done; err != nil {
			t.Error(err)
		}
		b.nothing()
	})
	t.Run("before the request", func(t *testing.T) {
		b := newBench(t)
		b.reserve()
		if _, err := b.store.Commit(b.plan, record.NewState(time.Now(), nil)); err != nil {
			t.Fatal(err)
		}
		b.stdin.Close()
		if err := <-b.done; err != nil {
			t.Error(err)
		}
		b.nothing()
	})
	for _, last := range []string{"", "g", "stop\n"} {
		t.Run("after "+fmt.Sprintf("%q", last), func(t *testing.T) {
			b := newBench(t)
			b.reserve()
			b.commit()
			b.expect(Created)
			io.WriteString(b.stdin, last)
			b.stdin.Close()
			b.expect(Abandoned)
			if err := <-b.done; err != nil {
				t.Error(err)
			}
			b.nothing()
		})
	}
}

func TestServeFails(t *testing.T) {
	b := newBench(t)
	b.fake.Fault = func(call string) error {
		if call == "start" {
			return fmt.Errorf("no such command: %w", engine.ErrNoCommand)
		}
		return nil
	}
	b.reserve()
	b.commit()
	b.expect(Created)
	fmt.Fprintln(b.stdin, goLine)
	if m := b.expect(Failed); m.Code != 127 || !strings.Contains(m.Error, "no such command") {
		t.Errorf("message %+v", m)
	}
	if err := <-b.done; !errors.Is(err, engine.ErrNoCommand) {
		t.Errorf("error %v", err)
	}
	if left := b.fake.Containers(); len(left) > 0 {
		t.Errorf("containers %v are left behind", left)
	}
}

func TestServeAdopts(t *testing.T) {
	b := newBench(t)
	r, lock, err := b.store.Create(b.plan, record.NewState(time.Now(), nil))
	if err != nil {
		t.Fatal(err)
	}
	b.serve(true, lock)
	if m := b.expect(Ended); m.State.Phase != record.Failed || m.State.Message != "crun was killed before the start" {
		t.Errorf("message %+v", m)
	}
	if err := <-b.done; err != nil {
		t.Error(err)
	}
	if state, _ := r.State(); !state.Complete {
		t.Errorf("state %+v", state)
	}
}

// stubborn ends by SIGKILL alone.
func stubborn(p *enginetest.Process) int {
	for range p.Signals {
	}
	return 0
}

// TestGraceOutlivesTheForeground: the second Ctrl-C asks for SIGKILL later, and
// the foreground dies before that.
func TestGraceOutlivesTheForeground(t *testing.T) {
	b := newBench(t)
	b.fake.Command = stubborn
	b.reserve()
	b.commit()
	b.expect(Created)
	fmt.Fprintln(b.stdin, goLine)
	b.expect(Started)
	fmt.Fprintf(b.stdin, "of a later crun\nkill %s\n", 30*time.Millisecond)
	b.stdin.Close()
	if m := b.expect(Ended); *m.State.ExitCode != 137 {
		t.Errorf("state %+v", m.State)
	}
	if err := <-b.done; err != nil {
		t.Error(err)
	}
}

// TestServeAdoptsTheEnd: a run that is over by the time that it is adopted is
// never told to go on, so that a list is right at its first look.
func TestServeAdoptsTheEnd(t *testing.T) {
	b := newBench(t)
	b.fake.Command = func(*enginetest.Process) int { return 7 }
	r, lock, err := b.store.Create(b.plan, record.NewState(time.Now(), nil))
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := b.fake.Create(t.Context(), b.plan, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := b.fake.Attach(t.Context(), id, engine.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	exit, err := b.fake.Wait(t.Context(), id)
	if err == nil {
		err = b.fake.Start(t.Context(), id)
	}
	if err != nil {
		t.Fatal(err)
	}
	<-exit
	state, err := r.State()
	if err != nil {
		t.Fatal(err)
	}
	state.Phase, state.Container, state.Started = record.Running, id, time.Now().UTC()
	if err := r.SetState(state); err != nil {
		t.Fatal(err)
	}
	b.serve(true, lock)
	if m := b.expect(Ended); m.State.Phase != record.Ended || *m.State.ExitCode != 7 {
		t.Errorf("message %+v", m)
	}
	if err := <-b.done; err != nil {
		t.Error(err)
	}
}
