package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"crun.dev/crun/internal/endpoint"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

// The tests in this file run against the engine that crun would take. Where
// none answers, or it lacks the base image that e2e/setup makes, they are
// skipped, which CRUN_E2E=1 makes a failure.
const baseImage = "crun-local/bookworm:base"

func realEngine(t *testing.T) (*Engine, engine.Image) {
	t.Helper()
	skip := func(format string, args ...any) {
		if os.Getenv("CRUN_E2E") == "1" {
			t.Fatalf("CRUN_E2E=1 forbids skipping: "+format, args...)
		}
		t.Skipf("SKIPPED, a real engine was not tried: "+format, args...)
	}
	ep, err := endpoint.Find(endpoint.Options{Getenv: os.Getenv})
	if err != nil {
		skip("%v", err)
	}
	e, err := Open(t.Context(), ep, Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	img, err := e.Image(t.Context(), baseImage)
	if err != nil {
		skip("%v", err)
	}
	return e, img
}

var runs int

// shellPlan is a plan that runs a shell line as uid 4242, and leaves nothing.
func shellPlan(t *testing.T, img engine.Image, line string) *plan.Plan {
	t.Helper()
	runs++
	p := &plan.Plan{
		ID: fmt.Sprintf("t%d-%d", os.Getpid(), runs), Name: "test", Image: plan.Image{Ref: baseImage, ID: img.ID}, Network: plan.NetworkNone,
		Log: plan.Log{MaxSize: 1 << 20, MaxFiles: 2},
		Account: plan.Account{User: "ann", UID: 4242, GID: 4243, Home: "/home/ann",
			Groups: []plan.Group{{Name: "lab", GID: 4243}, {Name: "gpu", GID: 4244}, {Name: "video", GID: 44}}},
	}
	p.Spec.Process = newProcess("/bin/sh", "-c", line)
	p.Spec.Process.User = specs.User{UID: 4242, GID: 4243, AdditionalGids: []uint32{4244}}
	p.Spec.Linux = &specs.Linux{Resources: &specs.LinuxResources{}}
	p.Spec.Annotations = map[string]string{plan.LabelPrefix + "run": p.ID}
	return p
}

// create makes the container of p and removes it behind the test.
func create(t *testing.T, e *Engine, p *plan.Plan, files ...engine.File) string {
	t.Helper()
	id, warnings, err := e.Create(t.Context(), p, nil, files)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Remove(context.Background(), id); err != nil {
			t.Error(err)
		}
		if _, err := e.State(context.Background(), id); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("after the removal: %v", err)
		}
	})
	for _, w := range warnings {
		t.Log("engine warns:", w)
	}
	return id
}

// outcome is what a container did.
type outcome struct {
	code           int
	stdout, stderr string
}

// execute attaches, waits and starts, in this order.
func execute(t *testing.T, e *Engine, id, stdin string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := e.Attach(ctx, id, engine.AttachOptions{Stdin: stdin != ""})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	exit, err := e.Wait(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(ctx, id); err != nil {
		t.Fatal(err)
	}
	if stdin != "" {
		if _, err := io.WriteString(stream, stdin); err != nil {
			t.Fatal(err)
		}
		if err := stream.CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	if err := stream.Demux(&stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	x := <-exit
	if x.Err != nil {
		t.Fatal(x.Err)
	}
	return outcome{x.Code, stdout.String(), stderr.String()}
}

func TestRealFacts(t *testing.T) {
	e, img := realEngine(t)
	f, err := e.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", f)
	if f.CPUs < 1 || f.Memory < 1<<28 || f.Version == "" || f.Arch != img.Architecture || f.CgroupVersion < 1 || f.Swap < -1 {
		t.Errorf("got %+v", f)
	}
}

func TestRealExitCodes(t *testing.T) {
	e, img := realEngine(t)
	for _, code := range []int{0, 3, 255} {
		id := create(t, e, shellPlan(t, img, fmt.Sprintf("echo out; echo err >&2; exit %d", code)))
		if got := execute(t, e, id, ""); got != (outcome{code, "out\n", "err\n"}) {
			t.Errorf("got %+v, want code %d", got, code)
		}
		state, err := e.State(t.Context(), id)
		if err != nil || state.Status != "exited" || state.ExitCode != code || state.Started.IsZero() || state.Finished.Before(state.Started) {
			t.Errorf("got %+v, %v", state, err)
		}
	}
}

func TestRealStdin(t *testing.T) {
	e, img := realEngine(t)
	p := shellPlan(t, img, "wc -c")
	p.Interactive = true
	if got := execute(t, e, create(t, e, p), strings.Repeat("x", 300_000)); got.stdout != "300000\n" {
		t.Errorf("got %+v", got)
	}
	// Without it stdin is empty, not a wait for ever.
	if got := execute(t, e, create(t, e, shellPlan(t, img, "wc -c")), ""); got.stdout != "0\n" {
		t.Errorf("got %+v", got)
	}
}

func TestRealTerminal(t *testing.T) {
	e, img := realEngine(t)
	p := shellPlan(t, img, "trap 'stty size; exit' WINCH; test -t 0 && echo ready >&2; while :; do sleep 0.1; done")
	p.Spec.Process.Terminal, p.Interactive = true, true
	id := create(t, e, p)
	if err := e.Resize(t.Context(), id, 80, 24); !errors.Is(err, engine.ErrNotRunning) {
		t.Errorf("a size before the start: %v", err)
	}
	stream, err := e.Attach(t.Context(), id, engine.AttachOptions{Stdin: true, TTY: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if err := e.Start(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(stream.Demux(w, io.Discard)) }()
	buf := make([]byte, 100)
	n, err := r.Read(buf)
	if err != nil || string(buf[:n]) != "ready\r\n" {
		t.Fatalf("got %q, %v", buf[:n], err)
	}
	if err := e.Resize(t.Context(), id, 123, 45); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "45 123\r\n" {
		t.Errorf("got %q, %v", rest, err)
	}
}

func TestRealSignalAndEvents(t *testing.T) {
	e, img := realEngine(t)
	id := create(t, e, shellPlan(t, img, "trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done"))
	if err := e.Signal(t.Context(), id, "SIGTERM"); !errors.Is(err, engine.ErrNotRunning) {
		t.Errorf("a signal before the start: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, err := e.Events(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	exit, err := e.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	// The shell has its trap once it has printed.
	stream, err := e.Logs(t.Context(), id, true)
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(stream.Demux(w, w)) }()
	if _, err := io.ReadFull(r, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if err := e.Signal(t.Context(), id, "SIGTERM"); err != nil {
		t.Fatal(err)
	}
	if x := <-exit; x.Code != 9 || x.Err != nil {
		t.Errorf("got %+v", x)
	}
	stream.Close()
	var actions []string
	for event := range events {
		actions = append(actions, event.Action)
		if time.Since(event.Time).Abs() > time.Minute {
			t.Errorf("time %v", event.Time)
		}
		if event.Action == "die" {
			if event.Attrs["exitCode"] != "9" {
				t.Errorf("attributes %v", event.Attrs)
			}
			cancel()
		}
	}
	for _, want := range []string{"start", "kill", "die"} {
		if !slices.Contains(actions, want) {
			t.Errorf("events %v lack %s", actions, want)
		}
	}
}

func TestRealWaitEnds(t *testing.T) {
	e, img := realEngine(t)
	id := create(t, e, shellPlan(t, img, "true"))
	ctx, cancel := context.WithCancel(t.Context())
	exit, err := e.Wait(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if x := <-exit; !errors.Is(x.Err, context.Canceled) {
		t.Errorf("got %+v", x)
	}
}
