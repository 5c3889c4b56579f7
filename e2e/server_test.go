package e2e

import (
	"cmp"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// newServer serves handler where the engine's builds reach it: on the loopback
// address, or on CRUN_E2E_ADDRESS where the engine has a network of its own.
func newServer(ts *testscript.TestScript, handler http.Handler) *httptest.Server {
	server := listening(ts, handler)
	server.Start()
	return server
}

// newTLSServer is newServer with a certificate that nobody knows.
func newTLSServer(ts *testscript.TestScript, handler http.Handler) *httptest.Server {
	server := listening(ts, handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // who does not trust it hangs up
	server.StartTLS()
	return server
}

func listening(ts *testscript.TestScript, handler http.Handler) *httptest.Server {
	listener, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(os.Getenv("CRUN_E2E_ADDRESS"), "127.0.0.1"), "0"))
	ts.Check(err)
	return &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
}
