// Package config reads the facts of the machine: mirrors, proxies,
// certificates and folders. They come from /etc/crun/config.yaml and the
// user's config.yaml alone, so that no repository carries them.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"crun.dev/crun/internal/yamlfile"
)

// FileName is what the file is called in both places.
const FileName = "config.yaml"

// SystemDir is the administrator's folder.
const SystemDir = "/etc/crun"

// Config is what the files say, the user's before the administrator's for each
// key, with the defaults of the host. Empty means not set. URLs may hold
// credentials: print them through [Redact].
type Config struct {
	// Base is the image that builds start from without --base.
	Base string
	// ToolboxBase is the image of the build's toolbox stage.
	ToolboxBase string
	Mirrors     Mirrors
	Proxy       Proxy
	// CA is the absolute path of a bundle of certificates in PEM.
	CA string
	// Scratch is the absolute path of the folder in which runs get a tmpdir of
	// the kind disk. Not set means /var/tmp, the folder for large temporary
	// files (FHS 5.15), which is on a disk where /tmp may be memory.
	Scratch string
	// Data are the machine's folders of data, which every run sees at their own
	// paths: those of both files, where the user's decides how a path of both is
	// mounted.
	Data []Data
	// Pass are the variables of the caller that every run gets, as secrets:
	// names, or beginnings of them with a * behind. Not set (nil) is crun's own
	// list, and an empty list none.
	Pass []string
	// NoCaches says that runs do not get the caller's caches of models and data.
	NoCaches bool
	// Patience is how long a server may send nothing before a build gives it up,
	// in seconds, 1 to 3600; 0 means not set.
	Patience int
	// Engine is the address of the engine: unix://, tcp:// or ssh://.
	Engine string
	// CacheDomain names those who share the download caches of builds with the
	// caller; "" is all users of the engine. "user" in the file is the caller
	// alone, and uid-UID here.
	CacheDomain string

	// Checks are the lines of what is looked at before a run starts.
	Checks Checks

	// Notify is who is told of the end of the user's runs.
	Notify Notify

	// Origin has where each value comes from, by its key in the file:
	// "proxy.http", "mirrors.conda.conda-forge"; an environment variable for a
	// default of the host.
	Origin map[string]string
}

// Data is a folder of the machine that every run sees.
type Data struct {
	Path     string // absolute and clean
	ReadOnly bool
}

// Mirrors are the servers to ask in place of the public ones.
type Mirrors struct {
	// Conda has the URL of a channel by its name.
	Conda map[string]string
	Pip   Pip
	// Apt has the URL of an archive by its name: debian, debian-security,
	// ubuntu.
	Apt map[string]string
	// URLs has what to put in the place of the beginning of an address.
	URLs map[string]string
	// Registry has what to ask, HOST[:PORT][/PATH], instead of a registry of
	// images, a repository's folder below one, or docker-hub, which is the one
	// that names without a host mean.
	Registry map[string]string
}

// Pip is where Python packages come from: IndexURL serves PyPI, ExtraIndexURLs
// are asked besides.
type Pip struct {
	IndexURL       string
	ExtraIndexURLs []string
}

// Proxy is how to get out. No lists hosts that are reached without it,
// separated by commas.
type Proxy struct {
	HTTP, HTTPS, No string
}

// Checks say when something is said before a run starts. Zero means not set.
type Checks struct {
	Free      int64 // bytes that each place should have free
	Used      int   // percent, 1 to 100, that / and the image store may be full
	Available int64 // bytes of memory that should be available
	GPUFree   int64 // bytes of a GPU's memory that should be free
	// Refuse are the names of checks that refuse a run rather than warn, Skip
	// those that are left out.
	Refuse, Skip []string
}

// Notify is who is told of the end of a run. Nobody is where neither Command
// nor Webhook is set.
type Notify struct {
	// Command gets JSON on its stdin.
	Command []string
	// Webhook is a URL, and a secret; Body is a template of what it gets, ""
	// for the JSON.
	Webhook, Body string
	// On is always or failure; "" means always.
	On string
}

// host is what Load finds on the machine; tests make their own.
type host struct {
	systemDir string
	bundles   []string
	scratch   string
}

// Load reads the machine's config. env reads an environment variable:
// CRUN_CONFIG names one file to read alone, XDG_CONFIG_HOME and HOME the
// user's folder, the usual proxy variables and SSL_CERT_FILE are defaults. No
// file at all is no error; the error otherwise joins every mistake of both
// files, with its place and without credentials.
func Load(env func(string) string) (*Config, error) {
	return load(env, host{systemDir: SystemDir, bundles: systemBundles, scratch: "/var/tmp"})
}

func load(env func(string) string, h host) (*Config, error) {
	config := &Config{Origin: make(map[string]string)}
	paths := []string{filepath.Join(h.systemDir, FileName)}
	if dir := UserDir(env); dir != "" {
		paths = append(paths, filepath.Join(dir, FileName))
	}
	alone := env("CRUN_CONFIG")
	if alone != "" {
		paths = []string{alone}
	}
	var errs []error
	for _, path := range paths {
		doc, err := yamlfile.ReadFile(path)
		switch {
		case alone == "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)): // HOME may be /dev/null
			continue
		case err != nil && alone != "":
			errs = append(errs, &originError{origin: "CRUN_CONFIG", err: err})
			continue
		case err != nil:
			errs = append(errs, err)
			continue
		}
		errs = append(errs, config.read(doc)...)
		errs = append(errs, config.checkNotify(path, path == filepath.Join(h.systemDir, FileName))...)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	config.defaults(env, h)
	return config, nil
}

// originError puts the variable that led to a file before what is wrong with it.
type originError struct {
	origin string
	err    error
}

func (e *originError) Error() string { return e.origin + ": " + e.err.Error() }
func (e *originError) Unwrap() error { return e.err }

// UserDir is the user's folder for crun, $XDG_CONFIG_HOME/crun or
// ~/.config/crun, or "" where neither variable is set. A relative
// XDG_CONFIG_HOME is ignored, as its specification asks.
func UserDir(env func(string) string) string {
	if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "crun")
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "crun")
	}
	return ""
}

// systemBundles are the places in which distributions keep their bundle:
// Debian and Ubuntu, Fedora and RHEL, openSUSE, Alpine (as in crypto/x509).
var systemBundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// defaults fills in what no file says.
func (c *Config) defaults(env func(string) string, h host) {
	for _, proxy := range []struct {
		key   string
		value *string
		names []string
	}{
		{"proxy.http", &c.Proxy.HTTP, []string{"HTTP_PROXY", "http_proxy"}},
		{"proxy.https", &c.Proxy.HTTPS, []string{"HTTPS_PROXY", "https_proxy"}},
		{"proxy.no", &c.Proxy.No, []string{"NO_PROXY", "no_proxy"}},
	} {
		if _, set := c.Origin[proxy.key]; set {
			continue
		}
		for _, name := range proxy.names {
			if value := env(name); value != "" {
				*proxy.value, c.Origin[proxy.key] = value, name
				break
			}
		}
	}
	if c.CacheDomain == "user" {
		c.CacheDomain = fmt.Sprintf("uid-%d", os.Getuid())
	}
	if info, err := os.Stat(h.scratch); c.Scratch == "" && err == nil && info.IsDir() {
		c.Scratch, c.Origin["scratch"] = h.scratch, "the system's folder for large temporary files"
	}
	if c.CA != "" {
		return
	}
	if path := env("SSL_CERT_FILE"); filepath.IsAbs(path) && isFile(path) {
		c.CA, c.Origin["ca"] = path, "SSL_CERT_FILE"
		return
	}
	for _, path := range h.bundles {
		if isFile(path) {
			c.CA, c.Origin["ca"] = path, "the system's bundle"
			return
		}
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
