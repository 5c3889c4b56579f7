// Package endpoint decides which engine crun talks to, and connects to it.
// build/buildkit and run/engine/docker both start here, so that a build and a
// run of one command line always meet the same engine. It holds no Docker type.
package endpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Endpoint is an engine's address and how one came to it.
type Endpoint struct {
	// Host is the address in one of the forms unix:///path, tcp://host:port
	// and ssh://[user@]host[:port][/path]; nothing else.
	Host string
	// Source says why it is this one, as people read it: "--host",
	// "--context lab", "DOCKER_HOST", "DOCKER_CONTEXT lab",
	// "context lab of /home/ann/.docker/config.json" or "default".
	Source string
	// Context is the name of the Docker context, or "".
	Context string
	// TLS is nil where the connection is not encrypted by TLS.
	TLS *TLS
	// Remote says that the address is another machine's. A local address may
	// still lead to one (a forwarded socket): the engine's facts decide that.
	Remote bool
	// APIVersion is the API version that DOCKER_API_VERSION asks for, without
	// a "v", or "" to negotiate it.
	APIVersion string
}

// TLS names the files of a TLS connection.
type TLS struct {
	CA         string // the only authorities trusted; "" trusts the machine's
	Cert, Key  string // the client's own certificate, or both ""
	SkipVerify bool   // the server's certificate is not checked
}

// Options is what Find decides by.
type Options struct {
	Host    string // --host, or ""
	Context string // --context, or ""

	// Getenv reads an environment variable. Required.
	Getenv func(string) string
	// Files is the file system, rooted at /; nil means the machine's.
	Files fs.FS
	// MayConnect tells whether the caller may connect to a socket; nil asks
	// the kernel.
	MayConnect func(socket string) bool
}

// systemSocket is where an engine that serves the whole machine listens.
const systemSocket = "/var/run/docker.sock"

// Find decides which engine to talk to. The first of these that is set wins:
// --host or --context, DOCKER_HOST, DOCKER_CONTEXT, currentContext in
// config.json (under DOCKER_CONFIG, else ~/.docker), /var/run/docker.sock,
// $XDG_RUNTIME_DIR/docker.sock. Of the two sockets, one that the caller may
// not connect to gives way to one that he may. It connects to nothing.
func Find(o Options) (Endpoint, error) {
	if o.Files == nil {
		o.Files = os.DirFS("/")
	}
	if o.MayConnect == nil {
		o.MayConnect = func(socket string) bool { return unix.Access(socket, unix.W_OK) == nil }
	}
	ep, err := o.find()
	if err != nil {
		return Endpoint{}, err
	}
	ep.APIVersion = strings.TrimPrefix(o.Getenv("DOCKER_API_VERSION"), "v")
	return ep, nil
}

func (o *Options) find() (Endpoint, error) {
	store := contextStore{files: o.Files, dir: o.configDir()}
	host := o.Getenv("DOCKER_HOST")
	switch {
	case o.Host != "" && o.Context != "":
		return Endpoint{}, errors.New("--host and --context name two engines: give one of them")
	case o.Host != "":
		return o.fromHost(o.Host, "--host")
	case o.Context != "":
		return o.fromContext(store, o.Context, "--context "+o.Context)
	case host != "":
		return o.fromHost(host, "DOCKER_HOST")
	}
	if name := o.Getenv("DOCKER_CONTEXT"); name != "" {
		return o.fromContext(store, name, "DOCKER_CONTEXT "+name)
	}
	name, file, err := store.current()
	if err != nil {
		return Endpoint{}, err
	}
	if name != "" && name != defaultContext {
		return o.fromContext(store, name, "context "+name+" of "+file)
	}
	return o.local(), nil
}

// fromContext reads a context. The one called default is no file: it means
// DOCKER_HOST or the local socket.
func (o *Options) fromContext(store contextStore, name, source string) (Endpoint, error) {
	if name == defaultContext {
		if host := o.Getenv("DOCKER_HOST"); host != "" {
			return o.fromHost(host, "DOCKER_HOST")
		}
		return o.local(), nil
	}
	ctx, err := store.load(name)
	if err != nil {
		return Endpoint{}, fmt.Errorf("%w (from %s)", err, source)
	}
	ep, err := parse(ctx.host, source, ctx.tls != nil)
	if err != nil {
		return Endpoint{}, err
	}
	ep.Context = name
	if strings.HasPrefix(ep.Host, "tcp:") && ctx.tls != nil {
		ep.TLS = ctx.tls
	}
	return ep, nil
}

// fromHost reads an address, with TLS as the environment asks for it.
func (o *Options) fromHost(host, source string) (Endpoint, error) {
	verify := o.Getenv("DOCKER_TLS_VERIFY") != ""
	dir := o.Getenv("DOCKER_CERT_PATH")
	wanted := verify || dir != "" || o.Getenv("DOCKER_TLS") != ""
	ep, err := parse(host, source, wanted)
	if err != nil || !strings.HasPrefix(ep.Host, "tcp:") || (!wanted && ep.TLS == nil) {
		return ep, err
	}
	if dir == "" {
		dir = o.configDir()
	} else if !exists(o.Files, dir) {
		return Endpoint{}, fmt.Errorf("DOCKER_CERT_PATH is %q, and there is no such folder: it holds ca.pem, cert.pem and key.pem; correct or unset it", dir)
	}
	ep.TLS, err = tlsFiles(o.Files, dir)
	if err != nil {
		return Endpoint{}, err
	}
	// An address https:// is checked as every other one of the web is.
	ep.TLS.SkipVerify = wanted && !verify
	return ep, nil
}

// local is the engine of this machine. Where there is none, it is the socket
// where one would be: whoever connects learns that it does not run.
func (o *Options) local() Endpoint {
	sockets := []string{systemSocket}
	if dir := o.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		sockets = append(sockets, path.Join(dir, "docker.sock"))
	}
	chosen := ""
	for _, socket := range sockets {
		if !exists(o.Files, socket) {
			continue
		}
		if o.MayConnect(socket) {
			chosen = socket
			break
		}
		if chosen == "" {
			chosen = socket
		}
	}
	if chosen == "" {
		chosen = systemSocket
	}
	return Endpoint{Host: "unix://" + chosen, Source: "default"}
}

// configDir is the Docker client's folder, absolute, or "" where none can be
// told.
func (o *Options) configDir() string {
	if dir := o.Getenv("DOCKER_CONFIG"); dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			return abs
		}
		return dir
	}
	if home := o.Getenv("HOME"); filepath.IsAbs(home) {
		return path.Join(home, ".docker")
	}
	return ""
}

// parse brings an address into one of the forms that Host may have.
func parse(host, source string, tls bool) (Endpoint, error) {
	host = strings.TrimSpace(host)
	bad := func(why string) (Endpoint, error) {
		return Endpoint{}, fmt.Errorf("the engine's address %q (from %s) %s: allowed are unix:///path/to/docker.sock, tcp://host:port and ssh://user@host", redact(host), source, why)
	}
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		if strings.HasPrefix(host, "/") {
			return bad("has no unix:// before its path")
		}
		scheme, rest = "tcp", host
	}
	ep := Endpoint{Source: source}
	switch scheme {
	case "unix":
		if rest == "" {
			rest = systemSocket
		}
		if !strings.HasPrefix(rest, "/") {
			return bad("has no absolute path")
		}
		// The kernel's sockaddr_un holds 107 bytes and a NUL.
		if len(rest) > 107 {
			return bad(fmt.Sprintf("has a path of %d bytes, more than the 107 of a socket's name", len(rest)))
		}
		ep.Host = "unix://" + rest
	case "ssh":
		u, err := url.Parse(host)
		switch {
		case err != nil || u.Hostname() == "":
			return bad("names no host")
		case strings.HasPrefix(u.Hostname(), "-"):
			return bad("has a host that ssh would read as an option")
		}
		if _, set := u.User.Password(); set {
			// Not repeated: it holds the password.
			return Endpoint{}, fmt.Errorf("the engine's address (from %s) holds a password, which ssh does not take from there: use a key or an agent", source)
		}
		ep.Host, ep.Remote = host, true
	case "tcp", "http", "https":
		if scheme == "https" {
			tls = true
			ep.TLS = &TLS{}
		}
		address, err := tcpAddress(rest, tls)
		if err != nil {
			return bad(err.Error())
		}
		ep.Host = "tcp://" + address
		name, _, _ := net.SplitHostPort(address)
		ip, err := netip.ParseAddr(name)
		ep.Remote = name != "localhost" && (err != nil || !ip.IsLoopback())
	case "npipe":
		return bad("is a Windows pipe, and crun runs on Linux")
	default:
		return bad(fmt.Sprintf("begins with %q", scheme+"://"))
	}
	return ep, nil
}

// redact gives an address without what stands before its host and may be
// secret. The user of ssh is none, without a password.
func redact(host string) string {
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "", host
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 || strings.HasPrefix(host, "/") || scheme == "unix" || scheme == "ssh" && !strings.Contains(rest[:at], ":") {
		return host
	}
	return strings.TrimSuffix(host, rest) + "***" + rest[at:]
}

// tcpAddress gives rest as host:port, with localhost and the engine's two
// well-known ports where they are left out.
func tcpAddress(rest string, tls bool) (string, error) {
	u, err := url.Parse("tcp://" + rest)
	if err != nil {
		return "", errors.New("cannot be read")
	}
	if strings.Trim(u.Path, "/") != "" {
		return "", fmt.Errorf("has a path %q", u.Path)
	}
	host, port := u.Hostname(), u.Port()
	if host == "" {
		host = "localhost"
	}
	if port == "" {
		port = "2375"
		if tls {
			port = "2376"
		}
	}
	return net.JoinHostPort(host, port), nil
}

// exists tells whether an absolute path is there.
func exists(files fs.FS, name string) bool {
	_, err := fs.Stat(files, rooted(name))
	// What may not be looked at is there: connecting to it tells the rest.
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// rooted is an absolute path as a file system rooted at / names it.
func rooted(name string) string {
	if name = strings.TrimPrefix(path.Clean(name), "/"); name == "" {
		return "."
	}
	return name
}
