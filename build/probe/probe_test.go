package probe

import (
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Servers that fail in each way, and what a person is told.
func TestTry(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/there", func(w http.ResponseWriter, r *http.Request) {})
	mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ada" || password != "p@ss" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	server := httptest.NewServer(mux)
	defer server.Close()
	secure := httptest.NewTLSServer(mux)
	defer secure.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	defer proxy.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := "http://" + closed.Addr().String() + "/"
	closed.Close()

	direct := New("", "", "", nil, time.Second)
	trusting := New("", "", "", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), time.Second)
	through := New(proxy.URL, proxy.URL, "", nil, time.Second)
	deadProxy := New(refused, refused, "", nil, time.Second)
	for _, test := range []struct {
		name      string
		client    *Client
		addresses []string
		kind      Kind
		reason    string
	}{
		{"there", direct, []string{server.URL + "/there"}, None, "200 OK"},
		{"at the second place", direct, []string{server.URL + "/not", server.URL + "/there"}, None, "200 OK"},
		{"nowhere", direct, []string{server.URL + "/not", server.URL + "/neither"}, Missing, "404 Not Found"},
		{"no login", direct, []string{server.URL + "/login"}, Login, "401 Unauthorized"},
		{"a login", direct, []string{strings.Replace(server.URL, "http://", "http://ada:p%40ss@", 1) + "/login"}, None, "200 OK"},
		{"broken", direct, []string{server.URL + "/broken", server.URL + "/there"}, Broken, "502 Bad Gateway"},
		{"cut", direct, []string{server.URL + "/cut"}, Unreachable, "the connection was cut"},
		{"slow", direct, []string{server.URL + "/slow"}, Unreachable, "no answer in time"},
		{"refused", direct, []string{refused}, Unreachable, "connection refused"},
		{"no name", direct, []string{"http://hunter2:x@nowhere.invalid/"}, Unreachable, "no such host (DNS)"},
		{"an unknown authority", direct, []string{secure.URL + "/there"}, Certificate, "its certificate is of an authority that this machine does not know"},
		{"a named authority", trusting, []string{secure.URL + "/there"}, None, "200 OK"},
		{"no web server", direct, []string{strings.Replace(secure.URL, "https", "http", 1) + "/there"}, Missing, "400 Bad Request"},
		{"a proxy's login", through, []string{"http://elsewhere.invalid/"}, ProxyLogin, "407 Proxy Authentication Required"},
		{"a proxy's login, in TLS", through, []string{"https://elsewhere.invalid/"}, ProxyLogin, "407 Proxy Authentication Required"},
		{"a dead proxy", deadProxy, []string{"https://elsewhere.invalid/"}, Unreachable, "connection refused (of the proxy)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.client.Try(t.Context(), test.addresses...)
			if got.Kind != test.kind || got.Reason != test.reason {
				t.Errorf("%+v, want %s: %s", got, test.kind, test.reason)
			}
		})
	}
}

// As apt and engines say it.
func TestText(t *testing.T) {
	for text, want := range map[string]Kind{
		"  Could not resolve 'deb.example.org'":                                                                               Unreachable,
		"  Temporary failure resolving 'deb.example.org'":                                                                     Unreachable,
		"  Could not connect to 127.0.0.1:1 (127.0.0.1). - connect (111: Connection refused)":                                 Unreachable,
		"  403  Forbidden [IP: 10.0.0.1 80]":                                                                                  Login,
		"  404  Not Found [IP: 10.0.0.1 80]":                                                                                  Missing,
		"  Certificate verification failed: The certificate is NOT trusted.":                                                  Certificate,
		"Error response from daemon: Get https://r/v2/: x509: certificate signed by unknown authority":                        Certificate,
		"Error response from daemon: Get https://r/v2/: dial tcp: lookup r on 10.0.0.1:53: no such host":                      Unreachable,
		"Error response from daemon: errors: denied: requested access to the resource is denied unauthorized: authentication": Login,
		"Error response from daemon: manifest unknown: manifest unknown":                                                      Missing,
		"context deadline exceeded":                                                                                           Unreachable,
	} {
		if got := Text(text); got.Kind != want {
			t.Errorf("%q gives %+v, want %s", text, got, want)
		}
	}
}
