package docker

import (
	"crypto/tls"
	"encoding/pem"
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

	"crun.dev/crun/internal/endpoint"
	"crun.dev/crun/run/engine"
)

// TestMain lets the test binary stand in for ssh: crun starts "ssh HOST docker
// system dial-stdio", which is a pipe to the engine's socket there.
func TestMain(m *testing.M) {
	if socket := os.Getenv("CRUN_TEST_SSH_SOCKET"); socket != "" {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(255)
		}
		pipe(conn, stdio{})
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type stdio struct{}

func (stdio) Read(b []byte) (int, error)  { return os.Stdin.Read(b) }
func (stdio) Write(b []byte) (int, error) { return os.Stdout.Write(b) }
func (stdio) CloseWrite() error           { return os.Stdout.Close() }

// pipe copies both ways and hands on the end of either.
func pipe(a, b io.ReadWriter) {
	var wg sync.WaitGroup
	half := func(to, from io.ReadWriter) {
		_, _ = io.Copy(to, from)
		if c, ok := to.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite()
		}
	}
	wg.Go(func() { half(a, b) })
	half(b, a)
	wg.Wait()
}

// forward makes the engine's socket a listener's.
func forward(t *testing.T, l net.Listener, socket string) string {
	t.Helper()
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer from.Close()
				to, err := net.Dial("unix", socket)
				if err != nil {
					return
				}
				defer to.Close()
				pipe(from.(io.ReadWriter), to)
			}()
		}
	}()
	return l.Addr().String()
}

// TestRealTransports runs a container through each kind of connection; stdin
// and its end are what breaks first.
func TestRealTransports(t *testing.T) {
	direct, img := realEngine(t)
	socket, ok := strings.CutPrefix(direct.ep.Host, "unix://")
	if !ok {
		t.Skipf("SKIPPED, the engine at %s has no socket here to put transports in front of", direct.ep)
	}
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nCRUN_TEST_SSH_SOCKET=%s exec %s\n", socket, os.Args[0])
	if err := os.WriteFile(filepath.Join(bin, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	// Somebody else's proxy must not get to see the engine.
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")

	// For its certificate alone.
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(srv.Close)
	ca := filepath.Join(bin, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	encrypted := tls.NewListener(listen(), &tls.Config{Certificates: srv.TLS.Certificates})

	for name, ep := range map[string]endpoint.Endpoint{
		"tcp": {Host: "tcp://" + forward(t, listen(), socket)},
		"tls": {Host: "tcp://" + forward(t, encrypted, socket), TLS: &endpoint.TLS{CA: ca}},
		"ssh": {Host: "ssh://ann@lab1", Remote: true},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Open(t.Context(), ep, Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { e.Close() })
			f, err := e.Facts(t.Context())
			if err != nil || f.Remote != ep.Remote {
				t.Fatalf("%+v, %v", f, err)
			}
			p := shellPlan(t, img, "wc -c; cat /x")
			p.Interactive = true
			id := create(t, e, p, engine.File{Path: "/x", Mode: 0o644, Data: []byte("file\n")})
			if got := execute(t, e, id, strings.Repeat("x", 100_000)); got != (outcome{0, "100000\nfile\n", ""}) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
