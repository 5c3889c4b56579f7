// Package toolfiles reads what conda, pip and curl have been told about where
// to fetch from: .condarc, pip.conf and .netrc, in all the places and variables
// in which those tools look. It is pure: files come in through Options.
//
// What it gives may hold passwords and tokens. No message of it does.
package toolfiles

import (
	"path/filepath"
	"slices"
	"strings"
)

// The names by which a file can be given in the place of those that are found.
const (
	Condarc = "condarc"
	PipConf = "pip.conf"
	Netrc   = "netrc"
)

// Names are all of them.
var Names = []string{Condarc, Netrc, PipConf}

// Options are how to reach the files.
type Options struct {
	// Getenv reads an environment variable.
	Getenv func(string) string
	// ReadFile reads a file by its absolute path, as os.ReadFile does.
	ReadFile func(string) ([]byte, error)
	// List gives the names in a folder, sorted, or none.
	List func(string) []string
	// Given are contents by name (Condarc, PipConf, Netrc) that are read in the
	// place of the user's files and variables.
	Given map[string][]byte
}

// Files are what all of them say.
type Files struct {
	Conda Conda
	Pip   Pip
	// Logins are those of .netrc, first one first, without its "default": that
	// would give a password to every server there is.
	Logins     []Login
	LoginsFrom string
	// Warnings are single lines about what is not followed.
	Warnings []string
}

// Conda is what .condarc says. Addresses may hold credentials.
type Conda struct {
	// Alias is the address below which channels lie by their names.
	Alias string
	// Channels has for the first part of a channel's name the address below
	// which the channel lies: conda-forge has Channels["conda-forge"]+"/conda-forge".
	Channels map[string]string
	// Multi has addresses or names of channels by the name that stands for them
	// all; "defaults" is among them.
	Multi map[string][]string
	// Bundle is the path of a bundle of certificates, or "".
	Bundle      string
	HTTP, HTTPS string // proxies
	// From are the files that say where channels are, far to near; ProxyFrom is
	// the nearest that names a proxy.
	From      []string
	ProxyFrom string
}

// Pip is what pip's files and variables say. Addresses may hold credentials.
type Pip struct {
	Index        string
	Extra        []string
	FindLinks    []string
	TrustedHosts []string
	// TrustedFrom is the file or variable that names TrustedHosts.
	TrustedFrom string
	Bundle      string
	Proxy       string
	// From are the files and variables that say where packages are; ProxyFrom is
	// the one that names the proxy.
	From      []string
	ProxyFrom string
}

// Login is an entry of .netrc.
type Login struct{ Machine, Login, Password string }

// Read reads them all. What cannot be read is a warning: the build may do
// without it.
func Read(o Options) Files {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.List == nil {
		o.List = func(string) []string { return nil }
	}
	r := &reader{Options: o}
	r.conda()
	r.pip()
	r.netrc()
	return r.files
}

type reader struct {
	Options
	files Files
}

func (r *reader) warn(text string) { r.files.Warnings = append(r.files.Warnings, text) }

// file reads a file that need not be there.
func (r *reader) file(path string) (string, bool) {
	if r.ReadFile == nil || !filepath.IsAbs(path) {
		return "", false
	}
	data, err := r.ReadFile(path)
	if err != nil {
		return "", false // not there, or not the user's to read: the tools pass it over too
	}
	return strings.TrimPrefix(string(data), "\ufeff"), true
}

// home gives the user's path of name, or "".
func (r *reader) home(name ...string) string {
	home := r.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(append([]string{home}, name...)...)
}

// config gives a path below XDG_CONFIG_HOME, or "".
func (r *reader) config(name ...string) string {
	if dir := r.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(append([]string{dir}, name...)...)
	}
	return r.home(append([]string{".config"}, name...)...)
}

// path makes a path that stands in a file absolute, "" where it cannot be.
func (r *reader) path(text string) string {
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		return r.home(rest)
	}
	if filepath.IsAbs(text) {
		return text
	}
	return ""
}

// took remembers a file once.
func took(from *[]string, path string) {
	if !slices.Contains(*from, path) {
		*from = append(*from, path)
	}
}
