package e2e

import (
	"cmp"
	"net"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// newServer serves handler where the engine's builds reach it: on the loopback
// address, or on CRUN_E2E_ADDRESS where the engine has a network of its own.
func newServer(ts *testscript.TestScript, handler http.Handler) *httptest.Server {
	listener, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(os.Getenv("CRUN_E2E_ADDRESS"), "127.0.0.1"), "0"))
	ts.Check(err)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	server.Start()
	return server
}
