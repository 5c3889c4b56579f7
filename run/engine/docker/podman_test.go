package docker

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"crun.dev/crun/run/engine"
)

// Podman attaches nobody to a container that is not set up.
func TestPodmanIsSetUpBeforeItIsAttachedTo(t *testing.T) {
	for name, tc := range map[string]struct {
		setUp http.HandlerFunc
		want  string
	}{
		"set up":  {reply(http.StatusNoContent, nil), ""},
		"already": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, ""},
		"refused": {reply(500, "runc: no memory"), "setting up container one: runc: no memory"},
		"odd":     {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", 404) }, "setting up container one: 404 Not Found"},
	} {
		d, e := newFakeDaemon(t, "1.41")
		ready := false
		d.handle("GET /containers/one/json", reply(200, map[string]any{}))
		d.handle("POST /libpod/containers/one/init", func(w http.ResponseWriter, r *http.Request) {
			ready = true
			tc.setUp(w, r)
		})
		d.handle("POST /containers/one/attach", func(w http.ResponseWriter, r *http.Request) {
			if !ready {
				reply(409, "can only attach to created or running containers: container state improper")(w, r)
				return
			}
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			conn.Write([]byte("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"))
			conn.Close()
		})
		stream, err := e.Attach(t.Context(), "one", engine.AttachOptions{})
		if err == nil {
			stream.Close()
		}
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: the error is %v", name, err)
		}
		if !slices.Contains(d.calls, "POST /libpod/containers/one/init") {
			t.Errorf("%s: %q", name, d.calls)
		}
	}
}

// Podman calls itself rootless in a place of its own, and names the limits of
// its kernel, which it may not set then.
func TestRootlessPodman(t *testing.T) {
	for _, rootless := range []bool{true, false} {
		d, e := newFakeDaemon(t, "1.41")
		d.handle("GET /info", reply(200, map[string]any{"Rootless": rootless, "CgroupVersion": "1", "MemoryLimit": true, "CpuCfsPeriod": true, "CpuCfsQuota": true, "CPUSet": true, "PidsLimit": true}))
		d.handle("GET /version", reply(200, map[string]any{"Components": []any{map[string]any{"Name": "Podman Engine", "Version": "4.3.1"}}}))
		f, err := e.Facts(t.Context())
		if err != nil || f.Name != "Podman" || f.Rootless != rootless || (len(f.CannotLimit) == 4) != rootless {
			t.Errorf("%+v, %v", f, err)
		}
	}
}
