package build

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/yamlfile"
)

// condaLock is a file of conda-lock, of its version 1. It is a lock: its
// packages are taken as they are.
// See https://github.com/conda/conda-lock, conda_lock/lockfile/v1/models.py.
type condaLock struct {
	Version  int `yaml:"version"`
	Metadata struct {
		Channels []struct {
			URL string `yaml:"url"`
		} `yaml:"channels"`
		Platforms []string `yaml:"platforms"`
	} `yaml:"metadata"`
	Package []condaLockPackage `yaml:"package"`
}

type condaLockPackage struct {
	Name         string            `yaml:"name"`
	Version      string            `yaml:"version"`
	Manager      string            `yaml:"manager"`
	Platform     string            `yaml:"platform"`
	Dependencies map[string]string `yaml:"dependencies"`
	URL          string            `yaml:"url"`
	Hash         struct {
		MD5    string `yaml:"md5"`
		SHA256 string `yaml:"sha256"`
	} `yaml:"hash"`
	Category string `yaml:"category"`
}

var (
	condaLockKeys = lazyregexp.New(`(?ms)^version:\s*\d.*^(?:metadata|package):|^(?:metadata|package):.*^version:\s*\d`)
	contentHash   = lazyregexp.New(`(?m)^\s+content_hash:`)
	buildNumber   = lazyregexp.New(`_(\d+)$`)
)

// isCondaLock tells a file of conda-lock by its keys; of a long one the
// beginning is enough.
func isCondaLock(text []byte) bool {
	return contentHash.Match(text) && condaLockKeys.Match(text)
}

// openCondaLock makes a project of a file of conda-lock.
func openCondaLock(text []byte, file, folderName string, options Options) (*environment.Environment, *lock.Lock, error) {
	doc, err := yamlfile.ParseGenerated(text, file)
	if err != nil {
		return nil, nil, err
	}
	at := func(index int) yamlfile.Position {
		if list := child(doc.Root, "package"); list != nil && index < len(list.Content) {
			return doc.At(list.Content[index])
		}
		return yamlfile.Position{File: file}
	}
	var content condaLock
	if err := doc.Root.Decode(&content); err != nil {
		return nil, nil, yamlfile.Errorf(yamlfile.Position{File: file}, "is no lock of conda-lock; make it anew with it")
	}
	if content.Version != 1 {
		return nil, nil, yamlfile.Errorf(doc.At(doc.Root), "is of version %d of conda-lock's files; crun reads version 1: make it anew with a conda-lock of 2021 to today", content.Version)
	}
	env := environment.Empty(file, folderName)
	l := &lock.Lock{}
	var errs []error
	var section environment.PipSection
	for i, p := range content.Package {
		if p.Platform != options.Platform || !slices.Contains([]string{"", "main", "dev"}, p.Category) {
			continue
		}
		pos := at(i)
		var err error
		if p.Manager == "pip" {
			var d lock.Distribution
			if d, err = p.distribution(); err == nil {
				l.Pip = append(l.Pip, d)
				section.Requirements = append(section.Requirements, environment.PipRequirement{
					Text: requirementOf(d), Name: names.Distribution(d.Name), Kind: environment.PipPackage, Pos: pos,
				})
			}
		} else {
			var pkg lock.Package
			if pkg, err = p.conda(); err == nil {
				l.Conda = append(l.Conda, pkg)
				if pkg.Name == "python" {
					l.Python = pkg.Version
				}
				if !slices.Contains(env.Channels, pkg.Channel) {
					env.Channels = append(env.Channels, pkg.Channel)
				}
				env.Conda = append(env.Conda, environment.CondaSpec{
					Name: pkg.Name, Version: "==" + pkg.Version, Build: pkg.Build, Text: pkg.Name + "==" + pkg.Version + "=" + pkg.Build, Pos: pos,
				})
			}
		}
		if err != nil {
			errs = append(errs, yamlfile.Errorf(pos, "package %q %v", p.Name, err))
		}
	}
	if len(section.Requirements) > 0 {
		env.Pip = []environment.PipSection{section}
		l.Indexes = []string{pypi}
	}
	switch {
	case len(errs) > 0:
	case len(l.Conda) == 0:
		errs = append(errs, yamlfile.Errorf(yamlfile.Position{File: file}, `has no packages for %s (it has %s); add them with "conda-lock -p %s"`,
			options.Platform, strings.Join(content.Metadata.Platforms, ", "), options.Platform))
	case l.Python == "":
		errs = append(errs, yamlfile.Errorf(yamlfile.Position{File: file}, "has no python among its packages; add it to what was locked, and lock again"))
	}
	return env, l, errors.Join(errs...)
}

func child(node *yaml.Node, key string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// conda gives a conda package as a lock has it. What conda-lock does not keep
// is in the package itself.
func (p condaLockPackage) conda() (lock.Package, error) {
	base, subdir, file := environment.SplitPackageURL(p.URL)
	channel := channelOfAddress(base)
	stem := strings.TrimSuffix(strings.TrimSuffix(file, ".conda"), ".tar.bz2")
	build, ok := strings.CutPrefix(stem, p.Name+"-"+p.Version+"-")
	switch {
	case environment.Redact(p.URL) != p.URL:
		return lock.Package{}, errors.New("has a credential in its address, which must not be in a lock; lock again with the channel's own address")
	case !ok || base == "" || subdir == "" || stem == file:
		return lock.Package{}, fmt.Errorf("has the address %q; allowed is CHANNEL/SUBDIR/NAME-VERSION-BUILD.conda", p.URL)
	case p.Hash.SHA256 == "" && p.Hash.MD5 == "":
		return lock.Package{}, errors.New("has no hash")
	}
	pkg := lock.Package{
		Name: p.Name, Version: p.Version, Build: build, Channel: channel, Subdir: subdir, File: file,
		SHA256: p.Hash.SHA256, MD5: p.Hash.MD5,
	}
	if m := buildNumber.FindStringSubmatch(build); m != nil {
		pkg.BuildNumber, _ = strconv.Atoi(m[1]) // digits; one too large is none
	}
	for name, version := range p.Dependencies {
		pkg.Depends = append(pkg.Depends, strings.TrimSpace(name+" "+strings.TrimPrefix(version, "*")))
	}
	slices.Sort(pkg.Depends)
	if subdir == "noarch" {
		pkg.NoArch = "generic"
		if _, python := p.Dependencies["python"]; python {
			pkg.NoArch = "python"
		}
	}
	return pkg, pkg.Check()
}

// distribution gives a pip package as a lock has it. A file of PyPI goes by its
// index, so that any mirror serves it.
func (p condaLockPackage) distribution() (lock.Distribution, error) {
	d := lock.Distribution{Name: p.Name, Version: p.Version}
	if p.Hash.SHA256 != "" {
		d.Hashes = []string{"sha256:" + p.Hash.SHA256}
	}
	switch {
	case environment.Redact(p.URL) != p.URL:
		return d, errors.New("has a credential in its address, which must not be in a lock; lock again with the index's own address")
	case environment.OnPyPI(p.URL) && p.Hash.SHA256 != "":
		d.Index = pypi
	case strings.HasPrefix(p.URL, "git+"), strings.HasPrefix(p.URL, "https://"), strings.HasPrefix(p.URL, "http://"):
		d.URL = p.URL
	default:
		return d, fmt.Errorf("has the address %q; allowed are https:// and git+https://", p.URL)
	}
	return d, d.Check()
}

// requirementOf is a distribution as a pip line.
func requirementOf(d lock.Distribution) string {
	text := d.Name + "==" + d.Version
	if d.URL != "" {
		text = d.Name + " @ " + d.URL
	}
	for _, hash := range d.Hashes {
		text += " --hash=" + hash
	}
	return text
}
