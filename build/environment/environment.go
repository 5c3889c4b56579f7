// Package environment reads environment.yml: what people write for conda, with
// the slips that they make. It is a pure function of the file's bytes and the
// Options; nothing is looked up on the network or on disk.
//
// Every complaint names file, line and column. No text that the package makes
// (errors, findings, Canonical, Unsupported) holds a token or a password of
// the file: see Credential.
package environment

import (
	"strings"

	"crun.dev/crun/internal/yamlfile"
)

// Environment is the content of one environment file.
type Environment struct {
	// File is the file as messages name it.
	File string
	// Name is the file's name for the environment or, where it gives none, the
	// folder's, reduced to what a folder and an image may be called. Names that
	// come from the file may hold any printable text but "/"; see ImageName and
	// EnvDir for forms that are safe elsewhere.
	Name string
	// Channels are names (conda-forge, nvidia/label/cuda-12.4.0) or URLs, first
	// one first, without credentials. "nodefaults" is dropped. Empty means that
	// the file gives none; crun then uses conda-forge.
	Channels []string
	// Conda are the conda packages in the file's order. python comes first
	// where the file has none and crun added it; pip comes last where pip
	// packages are asked for without it.
	Conda []CondaSpec
	// Exact tells that Conda are all conda packages there are to be, each a file:
	// an explicit list, which is not solved.
	Exact bool
	// Pip are the pip sections that hold anything, in order. conda would keep
	// the last alone; crun installs them one after another.
	Pip []PipSection
	// Constraints are the lines of the files that "-c" names: versions of
	// packages that the environment may need, whoever asks for them.
	Constraints []PipRequirement
	// Overrides are versions that pip packages have whatever others say that they
	// need (uv's override-dependencies).
	Overrides []PipRequirement
	// Variables are the environment's variables in the file's order.
	Variables []Variable
	// Credentials are the secrets that were taken out of addresses.
	Credentials []Credential
}

// CondaSpec is one conda package that is asked for.
type CondaSpec struct {
	// Channel is the "c" of "c::python" or "", Subdir the "linux-64" of
	// "c/linux-64::python" or "".
	Channel, Subdir string
	// Name is in lower case.
	Name string
	// Version is the constraint with its operators: "=3.9" (any 3.9),
	// "==2.1.0", ">=3.9,<3.10", "=2.*|=3.*"; "" allows any.
	Version string
	// Build is a build string, with * as wildcard; "" allows any.
	Build string
	// URL is the address of one package file, or ""; Name, Version ("==1.2"),
	// Build and Subdir are then what it says. MD5 and SHA256 are the file's, in
	// hexadecimal digits, where the line has them.
	URL, MD5, SHA256 string
	// Text is the whole in the one-line form that conda and rattler parse,
	// without blanks: "conda-forge::python=3.9", "pytorch==2.1.0=*cuda11*"; of a
	// file, its address and hash as in an explicit list.
	Text string
	// Pos is where the file says so; for python and pip that crun added, the
	// place that made it do so.
	Pos yamlfile.Position
}

// String gives Text.
func (s CondaSpec) String() string { return s.Text }

// PipSection is one "- pip:" list.
type PipSection struct {
	Requirements []PipRequirement
}

// PipKind says what a line of a pip section is.
type PipKind string

// The kinds of pip lines. Unsupported tells which of them crun builds.
const (
	// PipPackage is a package by name: "requests[socks]>=2.31; python_version < '3.10'".
	PipPackage PipKind = "package"
	// PipURL is a wheel or source archive by address, with or without "name @".
	PipURL PipKind = "url"
	// PipVCS is a repository by address: "git+https://...", with or without "name @".
	PipVCS PipKind = "vcs"
	// PipEditable is "-e" with a folder or a repository.
	PipEditable PipKind = "editable"
	// PipPath is a folder, wheel or archive beside the file.
	PipPath PipKind = "path"
	// PipFile is "-r FILE", PipConstraint "-c FILE": only where Options has no
	// ReadFile, else the file's lines stand in their place.
	PipFile       PipKind = "file"
	PipConstraint PipKind = "constraint"
	// PipOption is any other option: "--extra-index-url URL", "--pre".
	PipOption PipKind = "option"
)

// PipRequirement is one line of a pip section.
type PipRequirement struct {
	// Text is the line in normal form, never with a line break and without
	// credentials: "NumPy==1.24", "--extra-index-url https://host/simple".
	Text string
	// Name is the package's name as PEP 503 normalises it ("numpy"), or ""
	// where the line does not say one.
	Name string
	Kind PipKind
	// Path is the place on this machine of a PipPath, of a PipEditable that is
	// a folder, and of "--find-links FOLDER": from the environment file's
	// folder ("." for itself), or absolute. "" for all others.
	Path string
	// Extras ("[dev]") and Marker belong to a Path; others have them in Text.
	Extras, Marker string
	// written is Path as the line has it.
	written string
	// Pos is the line, which may be in a file that "-r" or "-c" names.
	Pos yamlfile.Position
}

// Hashes are the "--hash" of the line: "sha256:HEX".
func (r PipRequirement) Hashes() []string {
	_, text, _ := strings.Cut(r.Text, " --hash=")
	if text == "" {
		return nil
	}
	return strings.Split(text, " --hash=")
}

// version gives the constraint of a PipPackage: "==2.9.0", or "".
func (r PipRequirement) version() string {
	if r.Kind != PipPackage {
		return ""
	}
	text := r.Text
	if i := strings.IndexAny(text, "; "); i >= 0 {
		text = text[:i]
	}
	if i := strings.IndexAny(text, "=!<>~"); i >= 0 {
		return text[i:]
	}
	return ""
}

// Variable is one environment variable. Value is as written in the file
// (`3`, `yes`), on one line.
type Variable struct {
	Name, Value string
	Pos         yamlfile.Position
}

// DefaultPython is the Python of an environment that names none.
const DefaultPython = "3.9"

// Options says what a file is read for.
type Options struct {
	// File is the name that messages show; "" means environment.yml.
	File string
	// FolderName names the environment where the file does not.
	FolderName string
	// Python is the version ("3.9", "3.11.4") that is added where the file
	// names no python; "" means DefaultPython.
	Python string
	// Platform is linux-64 or linux-aarch64, for selectors ("# [linux]"); ""
	// means linux-64.
	Platform string
	// ProjectExtras and Groups are lists of a pyproject.toml that are wanted
	// beside its dependencies: of [project.optional-dependencies] and of
	// [dependency-groups]. Another kind of file has none and is refused.
	ProjectExtras, Groups []string
	// Apt are Debian packages that the image has beside the environment, each
	// NAME or NAME=VERSION.
	Apt []string
	// ReadFile gives the content of a file that the environment names ("-r
	// more.txt"): path begins as File does, or is absolute. nil means that none
	// can be read.
	ReadFile func(path string) ([]byte, error)
	// Exists tells whether there is a file or folder at path, which is as for
	// ReadFile. nil means that nobody looks.
	Exists func(path string) bool
	// Installed, where it is not nil, gives what is installed in a conda prefix
	// of this machine: the version of a package by name, what it requires, and
	// whether it is there. It gives nil where there is no such prefix.
	Installed func(prefix string) func(name string) (version string, requires []string, ok bool)
}

// Empty is an environment of the file called file that asks for nothing yet.
// folderName names it.
func Empty(file, folderName string) *Environment {
	return &Environment{File: file, Name: safeName(folderName)}
}

// Python gives the spec of the environment's Python.
func (e *Environment) Python() (CondaSpec, bool) { return e.conda("python") }

func (e *Environment) conda(name string) (CondaSpec, bool) {
	for _, spec := range e.Conda {
		if spec.Name == name {
			return spec, true
		}
	}
	return CondaSpec{}, false
}
