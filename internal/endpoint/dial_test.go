package endpoint

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func get(t *testing.T, ep Endpoint, url string) (string, error) {
	t.Helper()
	c, err := ep.HTTPClient()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", ep.Explain(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), nil
}

func TestHTTPClient(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })

	t.Run("unix", func(t *testing.T) {
		// A path of t.TempDir may be longer than a socket's name.
		dir, err := os.MkdirTemp("", "ep")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		socket := filepath.Join(dir, "s")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewUnstartedServer(handler)
		srv.Listener = l
		srv.Start()
		t.Cleanup(srv.Close)
		if got, err := get(t, Endpoint{Host: "unix://" + socket}, "http://any/"); err != nil || got != "hello" {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("tls", func(t *testing.T) {
		srv := httptest.NewTLSServer(handler)
		t.Cleanup(srv.Close)
		ca := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		host := "tcp://" + srv.Listener.Addr().String()
		for _, tc := range []struct {
			name string
			tls  *TLS
			url  string
			want string
		}{
			{"trusted", &TLS{CA: ca}, "https://any/", ""},
			{"not verified", &TLS{SkipVerify: true}, "https://any/", ""},
			{"not trusted", &TLS{}, "https://any/", "shows a certificate that is not trusted"},
		} {
			got, err := get(t, Endpoint{Host: host, TLS: tc.tls}, tc.url)
			if tc.want == "" && (err != nil || got != "hello") {
				t.Errorf("%s: got %q, %v", tc.name, got, err)
			}
			if tc.want != "" && (!errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s: got %v", tc.name, err)
			}
		}
	})
	t.Run("TLS to a server without", func(t *testing.T) {
		srv := httptest.NewServer(handler)
		t.Cleanup(srv.Close)
		_, err := get(t, Endpoint{Host: "tcp://" + srv.Listener.Addr().String(), TLS: &TLS{SkipVerify: true}}, "https://any/")
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "does not speak TLS") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("files that cannot be read", func(t *testing.T) {
		junk := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, tls := range []*TLS{{CA: junk}, {CA: junk + "x"}, {Cert: junk, Key: junk}} {
			if _, err := (Endpoint{Host: "tcp://a:1", TLS: tls}).HTTPClient(); err == nil || !strings.Contains(err.Error(), "a:1") {
				t.Errorf("%+v: got %v", tls, err)
			}
		}
	})
}

func TestDialErrors(t *testing.T) {
	dir := t.TempDir()
	stale := filepath.Join(os.TempDir(), fmt.Sprintf("crun-stale-%d.sock", os.Getpid()))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	t.Cleanup(func() { os.Remove(stale) })
	plain := filepath.Join(dir, "f")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		ep   Endpoint
		want string
	}{
		{Endpoint{Host: "unix:///nonexistent/docker.sock", Source: "DOCKER_HOST"},
			"the engine at unix:///nonexistent/docker.sock (from DOCKER_HOST) does not run: start it, or unset DOCKER_HOST"},
		{Endpoint{Host: "unix://" + stale, Source: "--host"}, "does not run: start it"},
		{Endpoint{Host: "unix://" + plain, Source: "--host"}, "does not run"},
		{Endpoint{Host: "tcp://127.0.0.1:1", Source: "context lab of /x/config.json"}, `does not run: start it, or choose another with "docker context use"`},
		{Endpoint{Host: "tcp://nosuch.invalid:1", Source: "--host"}, "nosuch.invalid does not resolve"},
	} {
		_, err := tc.ep.DialContext(t.Context(), "", "")
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: got %v, want %q", tc.ep, err, tc.want)
		}
	}
}

func TestExplain(t *testing.T) {
	system := Endpoint{Host: "unix:///var/run/docker.sock", Source: "default"}
	rootless := Endpoint{Host: "unix:///run/user/1000/docker.sock", Source: "default"}
	ssh := Endpoint{Host: "ssh://ann@lab1", Source: "DOCKER_HOST", Remote: true}
	tcp := Endpoint{Host: "tcp://gpu1:2376", Source: "--host", Remote: true, TLS: &TLS{CA: "/c/ca.pem"}}
	sshText := "command [ssh -o ConnectTimeout=30 -l ann -T -- lab1 docker system dial-stdio] has exited with exit status 255, make sure the URL is valid, and Docker 18.09 or later is installed on the remote host: stderr="
	for _, tc := range []struct {
		ep   Endpoint
		err  error
		want string
	}{
		{system, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ENOENT)}, `"sudo systemctl start docker"`},
		{rootless, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, `"systemctl --user start docker"`},
		{tcp, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, "no way to that host"},
		{tcp, &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, "has closed the connection"},
		{tcp, fmt.Errorf("Get: %w", io.EOF), "has closed the connection"},
		{tcp, fmt.Errorf("Get: %w", &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}), "does not answer"},
		{tcp, x509Error(), "put its authority into /c/ca.pem"},
		{tcp, errors.New(`error during connect: Get "https://gpu1:2376/v1.51/info": remote error: tls: bad certificate`),
			"refuses your certificate (tls: bad certificate): put cert.pem and key.pem that it accepts into /c"},
		{tcp, errors.New(`Get "http://gpu1:2376/_ping": net/http: HTTP/1.x transport connection broken: malformed HTTP response "\x15\x03\x01\x00\x02\x02\x16".`), "speaks TLS: set DOCKER_TLS_VERIFY=1"},
		{tcp, errors.New("Error response from daemon: Client sent an HTTP request to an HTTPS server."), "speaks TLS"},
		{ssh, errors.New(sshText + "ssh: Could not resolve hostname lab1: Name or service not known\r\n"),
			`cannot be reached over ssh: ssh: Could not resolve hostname lab1: Name or service not known; make "ssh ann@lab1 docker version" work first`},
		{ssh, errors.New(sshText + "bash: line 1: docker: command not found"), "that machine has no docker command"},
		{ssh, errors.New(sshText), "ssh gave no reason"},
		{Endpoint{Host: "ssh://ann@lab1:2222", Remote: true}, errors.New(sshText), `make "ssh -p 2222 ann@lab1 docker version" work first`},
		{ssh, &os.PathError{Op: "exec", Path: "ssh", Err: os.ErrNotExist}, "install it (openssh-client)"},
	} {
		err := tc.ep.Explain(tc.err)
		if !errors.Is(err, ErrUnreachable) || !errors.Is(err, tc.err) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v:\n got %v\nwant %q", tc.err, err, tc.want)
		}
		if again := tc.ep.Explain(fmt.Errorf("x: %w", err)); again != err {
			t.Errorf("explained twice: %v", again)
		}
	}
	for _, err := range []error{nil, context.Canceled, context.DeadlineExceeded, errors.New("no such image")} {
		if got := system.Explain(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}

func x509Error() error {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	_, err := http.Get(srv.URL)
	if !errors.As(err, new(x509.UnknownAuthorityError)) {
		panic(err)
	}
	return err
}

// TestPermission asks the kernel, so it needs somebody else than root: the
// message itself is what counts.
func TestPermission(t *testing.T) {
	socket := filepath.Join(os.TempDir(), fmt.Sprintf("crun-perm-%d.sock", os.Getpid()))
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	ep := Endpoint{Host: "unix://" + socket, Source: "default"}
	denied := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)}

	if err := os.Chmod(socket, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ep.Explain(denied).Error(); !strings.Contains(got, "ask whoever runs it for access; a rootless engine") {
		t.Errorf("private socket: %s", got)
	}
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root can give a socket to a group")
	}
	if err := os.Chmod(socket, 0o660); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(socket, 0, 54321); err != nil {
		t.Fatal(err)
	}
	got := ep.Explain(denied).Error()
	for _, want := range []string{"may not use the engine at unix://" + socket, "not in the group 54321", "sudo usermod -aG 54321", "root on this machine"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %q", got, want)
		}
	}
}
