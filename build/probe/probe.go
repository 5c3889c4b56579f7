// Package probe tries addresses and says in a person's words why one does not
// answer. It is not pure: trying is all that it does.
package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Kind is what is wrong, for the remedy.
type Kind string

// The kinds of failures.
const (
	None        Kind = ""            // it answers
	Unreachable Kind = "unreachable" // no name, no connection, no answer
	Certificate Kind = "certificate" // of an authority that is not known
	Login       Kind = "login"       // a password or token is missing or wrong
	ProxyLogin  Kind = "proxy-login" // the proxy's
	Missing     Kind = "missing"     // the server does not have it
	Broken      Kind = "broken"      // the server fails, or is none
)

// Outcome is what came of one try.
type Outcome struct {
	Kind Kind
	// Reason says in a few words what happened, without addresses.
	Reason string
	Took   time.Duration
}

// OK tells whether the source answers.
func (o Outcome) OK() bool { return o.Kind == None }

// Client tries addresses from this machine.
type Client struct {
	http *http.Client
}

// New makes a client that goes through the proxies and trusts the bundle of
// certificates in PEM besides the system's. limit is for one address.
func New(httpProxy, httpsProxy, noProxy string, bundle []byte, limit time.Duration) *Client {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(bundle)
	proxy := (&httpproxy.Config{HTTPProxy: httpProxy, HTTPSProxy: httpsProxy, NoProxy: noProxy}).ProxyFunc()
	return &Client{http: &http.Client{
		Timeout: limit,
		Transport: &http.Transport{
			Proxy:             func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
			TLSClientConfig:   &tls.Config{RootCAs: pool},
			DisableKeepAlives: true,
		},
	}}
}

// Try asks for the addresses in turn until one is there, and gives the outcome
// of the last one otherwise. Nothing but the head of an answer is read. Users
// and passwords in an address are sent.
func (c *Client) Try(ctx context.Context, addresses ...string) Outcome {
	start := time.Now()
	var outcome Outcome
	for _, address := range addresses {
		if outcome = c.try(ctx, address); outcome.Kind != Missing {
			break
		}
	}
	outcome.Took = time.Since(start)
	return outcome
}

func (c *Client) try(ctx context.Context, address string) Outcome {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Outcome{Kind: Broken, Reason: "it is no address"}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return explain(err)
	}
	_ = response.Body.Close()
	return status(response.StatusCode)
}

// status is what an answer's code means.
func status(code int) Outcome {
	reason := fmt.Sprintf("%d %s", code, http.StatusText(code))
	switch {
	case code == http.StatusProxyAuthRequired:
		return Outcome{Kind: ProxyLogin, Reason: reason}
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return Outcome{Kind: Login, Reason: reason}
	case code >= 500:
		return Outcome{Kind: Broken, Reason: reason}
	case code >= 400:
		return Outcome{Kind: Missing, Reason: reason}
	}
	return Outcome{Reason: reason}
}

// explain says why there was no answer. An error's own text has the address,
// with a password in it.
func explain(err error) Outcome {
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var timeout net.Error
	through := ""
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "proxyconnect" {
		through = " (of the proxy)"
	}
	switch {
	case errors.As(err, &dns):
		return Outcome{Kind: Unreachable, Reason: "no such host (DNS)" + through}
	case errors.Is(err, syscall.ECONNREFUSED):
		return Outcome{Kind: Unreachable, Reason: "connection refused" + through}
	case errors.As(err, &unknown), errors.As(err, &invalid):
		return Outcome{Kind: Certificate, Reason: "its certificate is of an authority that this machine does not know"}
	case errors.As(err, &host):
		return Outcome{Kind: Certificate, Reason: "its certificate is for another host"}
	case strings.Contains(err.Error(), http.StatusText(http.StatusProxyAuthRequired)):
		return Outcome{Kind: ProxyLogin, Reason: "407 " + http.StatusText(http.StatusProxyAuthRequired)}
	case errors.As(err, &timeout) && timeout.Timeout():
		return Outcome{Kind: Unreachable, Reason: "no answer in time" + through}
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return Outcome{Kind: Unreachable, Reason: "no way to the host" + through}
	case errors.Is(err, syscall.ECONNRESET), strings.HasSuffix(err.Error(), "EOF"):
		return Outcome{Kind: Unreachable, Reason: "the connection was cut" + through}
	}
	return Outcome{Kind: Broken, Reason: "it does not speak as a web server does" + through}
}

// Text makes an outcome of what apt or an engine says of one.
func Text(text string) Outcome {
	lower := strings.ToLower(text)
	for _, known := range []struct {
		kind Kind
		want string
		say  string
	}{
		{ProxyLogin, "407 ", "407 " + http.StatusText(http.StatusProxyAuthRequired)},
		{ProxyLogin, "proxy authentication required", "407 " + http.StatusText(http.StatusProxyAuthRequired)},
		{Login, "401 ", "401 " + http.StatusText(http.StatusUnauthorized)},
		{Login, "unauthorized", "401 " + http.StatusText(http.StatusUnauthorized)},
		{Login, "denied:", "access denied"},
		{Login, "403 ", "403 " + http.StatusText(http.StatusForbidden)},
		{Missing, "404 ", "404 " + http.StatusText(http.StatusNotFound)},
		{Missing, "manifest unknown", "there is no such image"},
		{Broken, "500 ", "500 " + http.StatusText(http.StatusInternalServerError)},
		{Broken, "502 ", "502 " + http.StatusText(http.StatusBadGateway)},
		{Broken, "503 ", "503 " + http.StatusText(http.StatusServiceUnavailable)},
		{Unreachable, "could not resolve", "no such host (DNS)"},
		{Unreachable, "temporary failure resolving", "no such host (DNS)"},
		{Unreachable, "no such host", "no such host (DNS)"},
		{Unreachable, "server misbehaving", "no such host (DNS)"},
		{Unreachable, "connection refused", "connection refused"},
		{Unreachable, "unreachable", "no way to the host"},
		{Unreachable, "timed out", "no answer in time"},
		{Unreachable, "timeout", "no answer in time"},
		{Unreachable, "deadline exceeded", "no answer in time"},
		{Certificate, "unknown authority", "its certificate is of an authority that the engine does not know"},
		{Certificate, "not trusted", "its certificate is of an authority that a build does not know"},
		{Certificate, "certificate", "its certificate is not accepted"},
		{Unreachable, "connection reset", "the connection was cut"},
		{Unreachable, "eof", "the connection was cut"},
	} {
		if strings.Contains(lower, known.want) {
			return Outcome{Kind: known.kind, Reason: known.say}
		}
	}
	return Outcome{Kind: Broken, Reason: "it gives no answer that can be read"}
}
