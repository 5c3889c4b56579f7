package endpoint

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/docker/cli/cli/connhelper"
)

// dialTimeout bounds one connection over TCP, name resolution included.
const dialTimeout = 15 * time.Second

// DialContext connects to the engine. network and addr are ignored, so that
// it serves as a dialer of net/http and of the Docker client. TLS, where the
// endpoint has it, is the caller's to put on top. An error is an *Error, a
// sentence that names the remedy.
//
// Over ssh the connection is a process of its own ("ssh HOST docker system
// dial-stdio"), and most failures show at the first read: give those to
// Explain.
func (ep Endpoint) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := ep.dial(ctx)
	if err != nil {
		return nil, ep.Explain(err)
	}
	return conn, nil
}

func (ep Endpoint) dial(ctx context.Context) (net.Conn, error) {
	scheme, rest, _ := strings.Cut(ep.Host, "://")
	switch scheme {
	case "unix":
		return (&net.Dialer{}).DialContext(ctx, "unix", rest)
	case "tcp":
		return (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext(ctx, "tcp", rest)
	case "ssh":
		helper, err := connhelper.GetConnectionHelper(ep.Host)
		if err != nil {
			return nil, err
		}
		return helper.Dialer(ctx, "", "")
	}
	return nil, fmt.Errorf("the address %q is of no kind that crun knows", ep.Host)
}

// APIHost is the address to give to a Docker client as its host. It is Host,
// but for ssh, where HTTP needs a name that nobody resolves.
func (ep Endpoint) APIHost() string {
	if strings.HasPrefix(ep.Host, "ssh:") {
		return "http://docker.example.com"
	}
	return ep.Host
}

// HTTPClient makes a client whose connections go to the engine, whatever the
// host of a request. It follows no redirect: the engine's API has none, and
// one of a POST would be repeated as a GET. Proxies of the environment are
// not used: the streams of a run could not pass them.
//
// For a Docker client: WithHTTPClient(c), WithHost(ep.APIHost()),
// WithDialContext(ep.DialContext), in this order.
func (ep Endpoint) HTTPClient() (*http.Client, error) {
	config, err := ep.TLSConfig()
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:        ep.DialContext,
			TLSClientConfig:    config,
			DisableCompression: strings.HasPrefix(ep.Host, "unix:"),
			MaxIdleConns:       6,
			IdleConnTimeout:    30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// TLSConfig reads the endpoint's TLS files. It is nil where there is no TLS.
func (ep Endpoint) TLSConfig() (*tls.Config, error) {
	if ep.TLS == nil {
		return nil, nil
	}
	host, _, _ := net.SplitHostPort(strings.TrimPrefix(ep.Host, "tcp://"))
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         host,
		InsecureSkipVerify: ep.TLS.SkipVerify,
	}
	if ep.TLS.CA != "" {
		pem, err := os.ReadFile(ep.TLS.CA)
		if err != nil {
			return nil, fmt.Errorf("reading the authority of the engine at %s: %w", ep.Host, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM form: it must hold the authority of the engine at %s", ep.TLS.CA, ep.Host)
		}
	}
	if ep.TLS.Cert != "" {
		pair, err := tls.LoadX509KeyPair(ep.TLS.Cert, ep.TLS.Key)
		if err != nil {
			return nil, fmt.Errorf("reading %s and %s, your certificate for the engine at %s: %w", ep.TLS.Cert, ep.TLS.Key, ep.Host, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
