package monitor

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/record"
)

// following is a Foreground of a run that is going on, with a monitor whose
// messages the test writes.
func following(t *testing.T) (f *Foreground, lock *record.Lock, messages chan Message, signals chan os.Signal) {
	t.Helper()
	b := newBench(t)
	b.fake.Command = stubborn
	r, lock, err := b.store.Create(b.plan, record.NewState(time.Now(), nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Unlock() })
	id, _, err := b.fake.Create(t.Context(), b.plan, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := launch.Attach(t.Context(), launch.SessionOptions{Engine: b.fake, Container: id, Stdout: io.Discard, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	if err := session.Begin(); err != nil {
		t.Fatal(err)
	}
	stdin, toStdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); toStdin.Close() })
	messages, signals = make(chan Message, 1), make(chan os.Signal, 1)
	f = &Foreground{
		Record: r, Session: session, Client: &Client{stdin: toStdin, messages: messages}, Signals: signals, Grace: time.Hour,
		Send: func(signal string) error { return b.fake.Signal(context.Background(), id, signal) },
		Warn: func(err error) { t.Errorf("warning: %v", err) },
	}
	if _, err := b.fake.Wait(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := b.fake.Start(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.fake.Vanish(id) })
	return f, lock, messages, signals
}

// A monitor that cannot do its work tells why; nobody takes its place.
func TestFollowAFailedMonitor(t *testing.T) {
	f, lock, messages, _ := following(t)
	messages <- Message{What: Failed, Error: "the engine is gone"}
	lock.Unlock()
	if _, err := f.Follow(t.Context()); err == nil || !strings.Contains(err.Error(), "the engine is gone") {
		t.Errorf("error %v", err)
	}
}

// Where another command was faster to replace a monitor, the record tells the
// end, and signals are heard as before.
func TestFollowTheRecord(t *testing.T) {
	f, _, messages, signals := following(t)
	close(messages)
	time.AfterFunc(3*lookEvery, func() { signals <- syscall.SIGINT })
	time.AfterFunc(4*lookEvery, func() { signals <- syscall.SIGINT })
	time.AfterFunc(5*lookEvery, func() { signals <- syscall.SIGINT }) // the third is SIGKILL
	time.AfterFunc(7*lookEvery, func() {
		state, err := f.Record.State()
		if err != nil {
			t.Error(err)
		}
		code := 137
		state.Phase, state.ExitCode, state.Removed, state.Complete = record.Ended, &code, true, true
		if err := f.Record.SetState(state); err != nil {
			t.Error(err)
		}
	})
	state, err := f.Follow(t.Context())
	if err != nil || state.ExitCode == nil || *state.ExitCode != 137 {
		t.Errorf("state %+v, error %v", state, err)
	}
	if f.killAt.IsZero() || f.kill == nil {
		t.Error("the grace time is kept by nobody")
	}
}

// Whoever hangs up leaves a run that has no monitor too.
func TestFollowHangUp(t *testing.T) {
	f, _, messages, signals := following(t)
	close(messages)
	signals <- syscall.SIGHUP
	if _, err := f.Follow(t.Context()); err != ErrDetached {
		t.Errorf("error %v", err)
	}
}
