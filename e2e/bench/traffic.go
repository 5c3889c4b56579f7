package main

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
)

// traffic stands between builds and the channel and index that they fetch
// from, and counts the bytes that they are sent.
type traffic struct {
	server *http.Server
	host   string
	sent   atomic.Int64
}

// newTraffic serves channel under /channel/, the index of Python packages
// under /simple/ and the files that it names under /x/.
func newTraffic(channel string) (*traffic, error) {
	upstream, err := url.Parse(channel)
	if err != nil {
		return nil, err
	}
	upstream.Path = cmp.Or(upstream.Path, "/") // JoinPath makes a relative path of none
	pypi, err := url.Parse(strings.TrimRight(os.Getenv("CRUN_E2E_PYPI"), "/"))
	if err != nil || pypi.Host == "" {
		return nil, fmt.Errorf("CRUN_E2E_PYPI is %q; it names the index that pip uses", os.Getenv("CRUN_E2E_PYPI"))
	}
	// Builds reach this machine where they reach the channel.
	listener, err := net.Listen("tcp", net.JoinHostPort(upstream.Hostname(), "0"))
	if err != nil {
		return nil, fmt.Errorf("counting what builds fetch needs a channel on this machine (CRUN_CONFIG, which e2e/setup/all.sh makes): %w", err)
	}
	t := &traffic{host: listener.Addr().String()}
	mux := http.NewServeMux()
	mux.Handle("/channel/", t.proxy(func(r *http.Request) {
		r.URL = upstream.JoinPath(strings.TrimPrefix(r.URL.Path, "/channel"))
	}, false))
	mux.Handle("/simple/", t.proxy(func(r *http.Request) {
		r.URL = pypi.JoinPath(strings.TrimPrefix(r.URL.Path, "/simple"))
		r.Header.Set("Accept", "text/html")
	}, true))
	mux.Handle("/x/", t.proxy(func(r *http.Request) {
		scheme, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/x/"), "/")
		host, path, _ := strings.Cut(rest, "/")
		r.URL = &url.URL{Scheme: scheme, Host: host, Path: "/" + path, RawQuery: r.URL.RawQuery}
	}, false))
	t.server = &http.Server{Handler: mux}
	go func() { _ = t.server.Serve(listener) }()
	return t, nil
}

func (t *traffic) channel() string { return "http://" + t.host + "/channel" }
func (t *traffic) index() string   { return "http://" + t.host + "/simple" }
func (t *traffic) bytes() int64    { return t.sent.Load() }
func (t *traffic) close()          { _ = t.server.Close() }

var link = regexp.MustCompile(`(href=")(https?)://`)

// proxy sends requests on as direct says. With pages, the links of what comes
// back lead through here too.
func (t *traffic) proxy(direct func(*http.Request), pages bool) http.Handler {
	p := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			direct(r.Out)
			r.Out.Host = r.Out.URL.Host
		},
		ModifyResponse: func(r *http.Response) error {
			switch {
			case r.StatusCode != http.StatusOK:
			case pages:
				return rewrite(r)
			case r.Header.Get("Cache-Control") == "":
				// PyPI's server of files says so; pip keeps nothing that a
				// mirror without the header serves.
				r.Header.Set("Cache-Control", "max-age=365000000, immutable, public")
			}
			return nil
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.ServeHTTP(&counted{w, t}, r) })
}

func rewrite(r *http.Response) error {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = unpacked
		r.Header.Del("Content-Encoding")
	}
	data, err := io.ReadAll(body)
	_ = r.Body.Close()
	if err != nil {
		return err
	}
	text := link.ReplaceAllString(string(data), "${1}/x/$2/")
	r.Header.Set("Content-Length", strconv.Itoa(len(text)))
	r.ContentLength = int64(len(text))
	r.Body = io.NopCloser(strings.NewReader(text))
	return nil
}

// counted is an answer whose bytes are counted.
type counted struct {
	http.ResponseWriter
	traffic *traffic
}

func (c *counted) Write(data []byte) (int, error) {
	n, err := c.ResponseWriter.Write(data)
	c.traffic.sent.Add(int64(n))
	return n, err
}

func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }
