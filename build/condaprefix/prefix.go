// Package condaprefix reads an installed conda environment: what conda, pip and
// the person left in its folder. It needs no conda and runs nothing.
//
// What conda records is described with its code, not in a specification: the
// package records in conda-meta/*.json (conda/models/records.py, PrefixRecord),
// conda-meta/history (conda/history.py), conda-meta/state (conda/gateways/disk).
// pip's files follow PEP 376, 610 and 627.
package condaprefix

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/internal/boundedfile"
	"crun.dev/crun/internal/names"
)

// Prefix is what is installed in one environment.
type Prefix struct {
	// Packages are conda's, by name.
	Packages []Package
	// Distributions are the Python packages that did not come with conda, by
	// name in the form of names.Distribution.
	Distributions []Distribution
	// Requested are the specs that the person gave to conda, by package name,
	// those of packages that are gone left out. It is empty where the history
	// tells nothing.
	Requested map[string]string
	// Named are the channels of the commands that changed the environment
	// ("-c pytorch"), without credentials, first one first.
	Named []string
	// Variables are those of "conda env config vars", by name.
	Variables []environment.Variable
}

// Package is one package that conda installed.
type Package struct {
	Name, Version, Build string
	// Channel is as an environment file names it, without credentials; "" is
	// unknown.
	Channel string
	// Depends are the names of the packages that it requires.
	Depends []string
	// distributions are the Python packages in it that have metadata.
	distributions []owned
	// requested is the spec that it was asked for with, by its record, or "".
	requested string
}

// owned is a Python distribution that a conda package brought.
type owned struct {
	name string
	// folder is the path of its metadata in the prefix.
	folder string
}

// maxRecord bounds a file of conda-meta, in bytes: a record says some 250 of
// each of its package's files, which makes half a million.
const maxRecord = 128 << 20

// ErrNoPrefix says that a folder is no conda environment.
var ErrNoPrefix = errors.New("is no conda environment: it has no conda-meta folder with packages")

// Read reads the prefix whose root is fsys. The error is ErrNoPrefix, or names
// the file that cannot be read.
func Read(fsys fs.FS) (*Prefix, error) {
	p, err := ReadPackages(fsys)
	if err != nil {
		return nil, err
	}
	owner := map[string]bool{}
	for _, pkg := range p.Packages {
		for _, d := range pkg.distributions {
			owner[d.folder] = true
		}
	}
	if err := p.readHistory(fsys); err != nil {
		return nil, err
	}
	if err := p.readState(fsys); err != nil {
		return nil, err
	}
	return p, p.readDistributions(fsys, owner)
}

// ReadPackages is Read for Packages alone.
func ReadPackages(fsys fs.FS) (*Prefix, error) {
	entries, err := fs.ReadDir(fsys, "conda-meta")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoPrefix
	}
	if err != nil {
		return nil, err
	}
	p := &Prefix{}
	for _, entry := range entries {
		if entry.IsDir() || path.Ext(entry.Name()) != ".json" {
			continue
		}
		pkg, err := readPackage(fsys, path.Join("conda-meta", entry.Name()))
		if err != nil {
			return nil, err
		}
		p.Packages = append(p.Packages, pkg)
	}
	if len(p.Packages) == 0 {
		return nil, ErrNoPrefix
	}
	slices.SortFunc(p.Packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	return p, nil
}

// Package gives the package of that name.
func (p *Prefix) Package(name string) (Package, bool) {
	i, ok := slices.BinarySearchFunc(p.Packages, name, func(pkg Package, name string) int { return strings.Compare(pkg.Name, name) })
	if !ok {
		return Package{}, false
	}
	return p.Packages[i], true
}

// Requires gives the names of what the conda package of that name requires,
// and whether there is one.
func (p *Prefix) Requires(name string) ([]string, bool) {
	pkg, ok := p.Package(name)
	return pkg.Depends, ok
}

// readPackage reads one record of conda-meta.
func readPackage(fsys fs.FS, file string) (Package, error) {
	data, err := boundedfile.ReadFS(fsys, file, maxRecord)
	if err != nil {
		return Package{}, err
	}
	var record struct {
		Name, Version, Build, Channel, URL string
		Depends, Files                     []string
		// What the person asked for: conda's, and rattler's.
		RequestedSpec  string   `json:"requested_spec"`
		RequestedSpecs []string `json:"requested_specs"`
	}
	if err := json.Unmarshal(data, &record); err != nil {
		return Package{}, fmt.Errorf("%s is no record of conda's: %w", file, err)
	}
	spec, err := environment.ParseCondaSpec(record.Name + "==" + record.Version)
	if err != nil || spec.Name != record.Name {
		return Package{}, fmt.Errorf("%s records the package %q, version %q, which no package has", file, record.Name, record.Version)
	}
	pkg := Package{Name: record.Name, Version: record.Version, Build: record.Build, Channel: channelName(record.Channel)}
	if i := strings.LastIndexByte(record.URL, '/'); i >= 0 && strings.Contains(record.URL, "://") {
		// The record's channel may be a short name, which a .condarc explains.
		pkg.Channel = channelName(record.URL[:i])
	}
	for _, spec := range append(record.RequestedSpecs, record.RequestedSpec) {
		if specName(spec) == pkg.Name {
			pkg.requested = spec
		}
	}
	for _, text := range record.Depends {
		if name := dependsOn(text); name != "" && !slices.Contains(pkg.Depends, name) {
			pkg.Depends = append(pkg.Depends, name)
		}
	}
	for _, file := range record.Files {
		if d, ok := distributionOf(file); ok && !slices.Contains(pkg.distributions, d) {
			pkg.distributions = append(pkg.distributions, d)
		}
	}
	return pkg, nil
}

// dependsOn gives the package that a dependency of a record names, or "" for a
// virtual one, which is a fact of the machine.
func dependsOn(text string) string {
	if _, after, ok := strings.Cut(text, "::"); ok {
		text = after
	}
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, " =<>!~["); i >= 0 {
		text = text[:i]
	}
	if strings.HasPrefix(text, "__") {
		return ""
	}
	return text
}

// distributionOf gives the Python distribution whose metadata file is part of.
// conda may list the folder's files or, for an egg-info that is one file, it.
func distributionOf(file string) (owned, bool) {
	for folder := file; folder != "." && folder != "/"; folder = path.Dir(folder) {
		if name, ok := metadataFolder(path.Base(folder)); ok && path.Base(path.Dir(folder)) == "site-packages" {
			return owned{name: name, folder: folder}, true
		}
	}
	return owned{}, false
}

// metadataFolder takes NAME-VERSION.dist-info and NAME-VERSION-py3.9.egg-info
// apart.
func metadataFolder(base string) (name string, ok bool) {
	for _, ext := range []string{".dist-info", ".egg-info"} {
		if stem, found := strings.CutSuffix(base, ext); found {
			name, _, _ := strings.Cut(stem, "-")
			return names.Distribution(name), name != ""
		}
	}
	return "", false
}

// readState reads the variables that conda sets when the environment is
// activated.
func (p *Prefix) readState(fsys fs.FS) error {
	data, err := boundedfile.ReadFS(fsys, "conda-meta/state", maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var state struct {
		Variables map[string]string `json:"env_vars"`
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return fmt.Errorf("conda-meta/state is not conda's: %w", err)
	}
	for name, value := range state.Variables {
		// conda marks the variables that were unset so.
		if value != "***unset***" {
			p.Variables = append(p.Variables, environment.Variable{Name: name, Value: value})
		}
	}
	slices.SortFunc(p.Variables, func(a, b environment.Variable) int { return strings.Compare(a.Name, b.Name) })
	return nil
}
