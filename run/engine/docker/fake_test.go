package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/container"

	"crun.dev/crun/internal/endpoint"
)

// fakeDaemon answers an engine's API over a unix socket. A path that no
// handler has fails the test; the API version of a request must be the one
// that was negotiated.
type fakeDaemon struct {
	t   *testing.T
	api string // version that the daemon tells
	mux *http.ServeMux

	pinged func() // nil: nobody counts

	mu    sync.Mutex
	calls []string // "POST /containers/create", in order, pings left out
}

// listenUnix listens on a new socket. A path of t.TempDir may be longer than a
// socket's name can be.
func listenUnix(t *testing.T) (l net.Listener, socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "crun")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	if l, err = net.Listen("unix", socket); err != nil {
		t.Fatal(err)
	}
	return l, socket
}

func newFakeDaemon(t *testing.T, api string) (*fakeDaemon, *Engine) {
	t.Helper()
	l, socket := listenUnix(t)
	d := &fakeDaemon{t: t, api: api, mux: http.NewServeMux()}
	srv := httptest.NewUnstartedServer(d)
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	t.Cleanup(srv.Close)
	e, err := Open(t.Context(), endpoint.Endpoint{Host: "unix://" + socket, Source: "DOCKER_HOST"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return d, e
}

func (d *fakeDaemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/_ping" {
		if d.pinged != nil {
			d.pinged()
		}
		w.Header().Set("Api-Version", d.api)
		w.Header().Set("Ostype", "linux")
		return
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/v"+d.api)
	if podman, own := strings.CutPrefix(r.URL.Path, "/v4.0.0/libpod"); own {
		path, ok = "/libpod"+podman, true
	}
	if !ok {
		d.t.Errorf("%s %s: not in the version that was negotiated, %s", r.Method, r.URL.Path, d.api)
	}
	d.mu.Lock()
	d.calls = append(d.calls, r.Method+" "+path)
	d.mu.Unlock()
	r.URL.Path = path
	h, pattern := d.mux.Handler(r)
	if pattern == "" {
		d.t.Errorf("unexpected call: %s %s", r.Method, path)
	}
	h.ServeHTTP(w, r)
}

func (d *fakeDaemon) handle(pattern string, h http.HandlerFunc) { d.mux.HandleFunc(pattern, h) }

func (d *fakeDaemon) called(call string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		if c == call {
			return true
		}
	}
	return false
}

// reply answers with JSON, an error as engines give it where the code is one.
func reply(code int, body any) http.HandlerFunc {
	if text, ok := body.(string); ok {
		body = map[string]string{"message": text}
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if body != nil {
			_ = json.NewEncoder(w).Encode(body)
		}
	}
}

// fakeAPI is a Docker client of which a test gives the methods it needs; any
// other call panics.
type fakeAPI struct {
	api
	copyFrom func(path string) (io.ReadCloser, container.PathStat, error)
	copies   int
}

func (f *fakeAPI) CopyFromContainer(_ context.Context, _, path string) (io.ReadCloser, container.PathStat, error) {
	f.copies++
	return f.copyFrom(path)
}

// tarOf is an archive of one file, as CopyFromContainer gives it.
func tarOf(name, data string) (io.ReadCloser, container.PathStat, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}); err != nil {
		return nil, container.PathStat{}, err
	}
	fmt.Fprint(w, data)
	w.Close()
	return io.NopCloser(&buf), container.PathStat{Name: name, Size: int64(len(data)), Mode: 0o644}, nil
}
