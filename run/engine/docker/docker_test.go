package docker

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crun.dev/crun/internal/endpoint"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

func TestNegotiation(t *testing.T) {
	for _, api := range []string{"1.41", "1.47", "1.51"} {
		d, e := newFakeDaemon(t, api)
		d.handle("GET /images/{ref}/json", reply(200, map[string]any{"Id": "sha256:1"}))
		if img, err := e.Image(t.Context(), "x"); err != nil || img.ID != "sha256:1" {
			t.Errorf("API %s: got %v, %v", api, img, err)
		}
	}
	_, old := newFakeDaemon(t, "1.39")
	_, err := old.Image(t.Context(), "x")
	if err == nil || !strings.Contains(err.Error(), "is too old: its API is 1.39, and crun needs 1.41, which Docker 20.10 has; update it") {
		t.Errorf("old engine: %v", err)
	}
	_, e := newFakeDaemon(t, "1.41")
	ep := e.ep
	ep.APIVersion = "1.30"
	asked, err := Open(t.Context(), ep, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := asked.Image(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "DOCKER_API_VERSION is 1.30, and crun needs 1.41 or later: unset it") {
		t.Errorf("DOCKER_API_VERSION: %v", err)
	}
}

// TestNegotiateOnce is what makes the second call one round trip.
func TestNegotiateOnce(t *testing.T) {
	d, e := newFakeDaemon(t, "1.41")
	d.handle("GET /containers/json", reply(200, []any{}))
	for range 3 {
		if _, err := e.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.calls) != 3 {
		t.Errorf("calls: %v", d.calls)
	}
}

// TestUnreachable: every method must tell an engine that is not there.
func TestUnreachable(t *testing.T) {
	e, err := Open(t.Context(), endpoint.Endpoint{Host: "unix:///nonexistent/docker.sock", Source: "DOCKER_HOST"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	first := func(_ any, err error) error { return err }
	p := minimalPlan()
	_, _, createErr := e.Create(ctx, p, nil, nil)
	for name, err := range map[string]error{
		"Facts": first(e.Facts(ctx)), "Image": first(e.Image(ctx, "x")),
		"Create": createErr, "ReadFile": first(e.ReadFile(ctx, "x", "/x")), "Attach": first(e.Attach(ctx, "x", engine.AttachOptions{})),
		"Wait": first(e.Wait(ctx, "x")), "Start": e.Start(ctx, "x"), "Signal": e.Signal(ctx, "x", "SIGTERM"), "Resize": e.Resize(ctx, "x", 1, 1),
		"State": first(e.State(ctx, "x")), "Logs": first(e.Logs(ctx, "x", false)), "Remove": e.Remove(ctx, "x"), "List": first(e.List(ctx)),
		"Events": first(e.Events(ctx, "x")),
	} {
		const want = "the engine at unix:///nonexistent/docker.sock (from DOCKER_HOST) does not run: start it, or unset DOCKER_HOST to use this machine's"
		if !errors.Is(err, engine.ErrUnreachable) || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoAnswer(t *testing.T) {
	dir, err := os.MkdirTemp("", "crun")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket) // and nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	e, err := Open(t.Context(), endpoint.Endpoint{Host: "unix://" + socket}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := e.List(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestConnectionLost: an engine that goes away in the middle of a call is
// unreachable, not a mystery.
func TestConnectionLost(t *testing.T) {
	d, e := newFakeDaemon(t, "1.41")
	d.handle("GET /containers/json", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	})
	if _, err := e.List(t.Context()); !errors.Is(err, engine.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

// TestCreateFails: whatever fails behind the creation, and whoever hangs up
// meanwhile, the container goes.
// TestAttachEnds: an engine that hangs must not hold up who gives up.
func TestAttachEnds(t *testing.T) {
	d, e := newFakeDaemon(t, "1.41")
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	d.handle("GET /containers/{id}/json", reply(200, map[string]any{"Id": "abc", "Config": map[string]any{}}))
	d.handle("POST /containers/{id}/attach", func(http.ResponseWriter, *http.Request) { <-release })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := e.Attach(ctx, "abc", engine.AttachOptions{})
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("Attach goes on after its context has ended")
	}
}

func TestCreateFails(t *testing.T) {
	const created, removed = "POST /containers/create", "DELETE /containers/abc"
	file := []engine.File{{Path: "/.crun/init", Mode: 0o755, Data: []byte("x")}}

	t.Run("copy", func(t *testing.T) {
		d, e := newFakeDaemon(t, "1.41")
		d.handle(created, reply(201, map[string]any{"Id": "abc"}))
		d.handle("PUT /containers/abc/archive", reply(500, "write /x: no space left on device"))
		d.handle(removed, reply(204, nil))
		_, _, err := e.Create(t.Context(), minimalPlan(), nil, file)
		if err == nil || !strings.Contains(err.Error(), "is full") || !d.called(removed) {
			t.Errorf("got %v after %v", err, d.calls)
		}
		if _, ok := e.made.Load("abc"); ok {
			t.Error("the plan of a removed container is kept")
		}
	})
	t.Run("hung up", func(t *testing.T) {
		d, e := newFakeDaemon(t, "1.41")
		ctx, cancel := context.WithCancel(t.Context())
		d.handle(created, func(w http.ResponseWriter, r *http.Request) {
			cancel()
			time.Sleep(50 * time.Millisecond)
			reply(201, map[string]any{"Id": "abc"})(w, r)
		})
		d.handle(removed, reply(204, nil))
		if _, _, err := e.Create(ctx, minimalPlan(), nil, file); !errors.Is(err, context.Canceled) || !d.called(removed) {
			t.Errorf("got %v after %v", err, d.calls)
		}
	})
	t.Run("and the removal too", func(t *testing.T) {
		d, e := newFakeDaemon(t, "1.41")
		d.handle(created, reply(201, map[string]any{"Id": "abc"}))
		d.handle("PUT /containers/abc/archive", reply(500, "broken"))
		d.handle(removed, reply(500, "broken too"))
		_, _, err := e.Create(t.Context(), minimalPlan(), nil, file)
		if err == nil || !strings.Contains(err.Error(), `do it with "docker rm -f abc"`) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("image", func(t *testing.T) {
		d, e := newFakeDaemon(t, "1.41")
		d.handle(created, reply(404, "No such image: lab/torch:1"))
		_, _, err := e.Create(t.Context(), minimalPlan(), nil, file)
		if !errors.Is(err, engine.ErrNotFound) || len(d.calls) != 1 {
			t.Errorf("got %v after %v", err, d.calls)
		}
	})
}

func TestCreateGives(t *testing.T) {
	d, e := newFakeDaemon(t, "1.41")
	name := ""
	d.handle("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
		name = r.URL.Query().Get("name")
		reply(201, map[string]any{"Id": "abc", "Warnings": []string{"w"}})(w, r)
	})
	id, warnings, err := e.Create(t.Context(), minimalPlan(), nil, nil)
	if err != nil || id != "abc" || len(warnings) != 1 || name != "crun-0123456789ab" {
		t.Errorf("got %q, %v, %v, name %q", id, warnings, err, name)
	}
}

func TestRemove(t *testing.T) {
	d, e := newFakeDaemon(t, "1.41")
	d.handle("DELETE /containers/gone", reply(404, "No such container: gone"))
	d.handle("DELETE /containers/going", reply(409, "removal of container going is already in progress"))
	d.handle("POST /containers/going/wait", reply(200, map[string]any{"StatusCode": 0}))
	for _, id := range []string{"gone", "going"} {
		if err := e.Remove(t.Context(), id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if !d.called("POST /containers/going/wait") {
		t.Error("the other removal was not waited for")
	}
}

func TestWaitFails(t *testing.T) {
	d, e := newFakeDaemon(t, "1.41")
	d.handle("POST /containers/gone/wait", reply(404, "No such container: gone"))
	if _, err := e.Wait(t.Context(), "gone"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	d.handle("POST /containers/bad/wait", reply(200, map[string]any{"StatusCode": 0, "Error": map[string]string{"Message": "went wrong"}}))
	exit, err := e.Wait(t.Context(), "bad")
	if err != nil {
		t.Fatal(err)
	}
	if x := <-exit; x.Err == nil || !strings.Contains(x.Err.Error(), "went wrong") {
		t.Errorf("got %v", x)
	}
}

func TestEventsFails(t *testing.T) {
	d, e := newFakeDaemon(t, "1.41")
	d.handle("GET /events", reply(500, "no events"))
	events, err := e.Events(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if event, ok := <-events; ok {
		t.Errorf("got %+v", event)
	}
}

func minimalPlan() *plan.Plan {
	p := &plan.Plan{ID: "0123456789ab", Name: "calm-otter", Image: plan.Image{Ref: "lab/torch:1", ID: "sha256:1"}, Network: plan.NetworkDefault}
	p.Spec.Process = newProcess("true")
	return p
}
