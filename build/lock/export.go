package lock

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/internal/names"
	"gopkg.in/yaml.v3"
)

// Formats are the forms that Export writes.
var Formats = []string{"pixi", "conda-lock", "explicit", "pip"}

// Exported is a lock in another tool's form.
type Exported struct {
	Data []byte
	// Missing are packages that the form has no way to say, each with its
	// version.
	Missing []string
}

// Export writes l in a form of Formats. address gives a channel's or an
// index's public address by its name; "" for the index that pip uses by
// itself.
func (l *Lock) Export(format string, address func(name string) string) (Exported, error) {
	e := exporter{lock: l.Canonical(), address: address}
	switch format {
	case "pixi":
		return e.pixi(), nil
	case "conda-lock":
		return e.condaLock()
	case "explicit":
		return e.explicit(), nil
	case "pip":
		return e.pip(), nil
	}
	return Exported{}, fmt.Errorf("no format %q; there are %s", format, strings.Join(Formats, ", "))
}

type exporter struct {
	lock    *Lock
	address func(string) string
}

// url is where a package's file lies.
func (e exporter) url(p Package) string {
	if p.URL != "" {
		return p.URL
	}
	return strings.TrimRight(e.address(p.Channel), "/") + "/" + p.Path()
}

// pinned is a distribution as a person names it.
func pinned(d Distribution) string {
	if d.Version == "" {
		return d.Name
	}
	return d.Name + "==" + d.Version
}

// explicit is the list of URLs that conda create --file takes. It holds conda
// packages alone. MD5 comes first: every conda reads it.
func (e exporter) explicit() Exported {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# platform: %s\n@EXPLICIT\n", e.lock.Platform)
	for _, p := range e.lock.Conda {
		hash := p.MD5
		if hash == "" {
			hash = "sha256:" + p.SHA256
		}
		fmt.Fprintf(&b, "%s#%s\n", e.url(p), hash)
	}
	return Exported{b.Bytes(), e.pinnedAll()}
}

func (e exporter) pinnedAll() (missing []string) {
	for _, d := range e.lock.Pip {
		missing = append(missing, pinned(d))
	}
	return missing
}

// pip is a requirements file in which each package has its hashes. pip checks
// all of a file or none, so what has no hash is a comment.
func (e exporter) pip() Exported {
	var b bytes.Buffer
	var missing []string
	b.WriteString("# Install with: pip install --no-deps --require-hashes -r FILE\n")
	for i, index := range e.lock.Indexes {
		option := "--extra-index-url"
		if i == 0 {
			option = "--index-url"
		}
		if url := e.address(index); url != "" {
			fmt.Fprintf(&b, "%s %s\n", option, url)
		} else if i > 0 {
			// pip's own index behind another one cannot be said by name.
			fmt.Fprintf(&b, "# and %s: give --extra-index-url with pip's own index\n", index)
		}
	}
	for _, d := range e.lock.Pip {
		line := pinned(d)
		if d.URL != "" {
			line = d.Name + " @ " + d.URL
		}
		if d.Markers != "" {
			line += " ; " + d.Markers
		}
		if len(d.Hashes) == 0 {
			fmt.Fprintf(&b, "# without a hash, to be installed by itself: %s\n", line)
			missing = append(missing, pinned(d))
			continue
		}
		b.WriteString(line)
		for _, hash := range d.Hashes {
			fmt.Fprintf(&b, " \\\n    --hash=%s", hash)
		}
		b.WriteByte('\n')
	}
	return Exported{b.Bytes(), missing}
}

// encodeYAML writes v with two blanks of indent.
func encodeYAML(v any) []byte {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(v); err != nil {
		panic(fmt.Sprintf("lock: encoding: %v", err)) // strings and numbers
	}
	return b.Bytes()
}

type channelURL struct {
	URL  string    `yaml:"url"`
	Used *[]string `yaml:"used_env_vars,flow,omitempty"`
}

// pixiLock is pixi.lock in its version 6, which every pixi since 2025 reads.
type pixiLock struct {
	Version      int                        `yaml:"version"`
	Environments map[string]pixiEnvironment `yaml:"environments"`
	Packages     []pixiPackage              `yaml:"packages"`
}

type pixiEnvironment struct {
	Channels []channelURL                   `yaml:"channels"`
	Packages map[string][]map[string]string `yaml:"packages"`
}

type pixiPackage struct {
	Conda      string   `yaml:"conda,omitempty"`
	Pypi       string   `yaml:"pypi,omitempty"`
	Name       string   `yaml:"name,omitempty"`
	Version    string   `yaml:"version,omitempty"`
	SHA256     string   `yaml:"sha256,omitempty"`
	MD5        string   `yaml:"md5,omitempty"`
	Depends    []string `yaml:"depends,omitempty"`
	Constrains []string `yaml:"constrains,omitempty"`
	License    string   `yaml:"license,omitempty"`
	Size       int64    `yaml:"size,omitempty"`
	Timestamp  int64    `yaml:"timestamp,omitempty"`

	PythonSitePackagesPath string `yaml:"python_site_packages_path,omitempty"`
}

func (e exporter) pixi() Exported {
	environment := pixiEnvironment{Packages: map[string][]map[string]string{}}
	for _, channel := range e.lock.Channels {
		environment.Channels = append(environment.Channels, channelURL{URL: strings.TrimRight(e.address(channel), "/") + "/"})
	}
	lock := pixiLock{Version: 6}
	add := func(kind, url string) {
		platform := e.lock.Platform
		environment.Packages[platform] = append(environment.Packages[platform], map[string]string{kind: url})
	}
	for _, p := range e.lock.Conda {
		url := e.url(p)
		add("conda", url)
		lock.Packages = append(lock.Packages, pixiPackage{
			Conda: url, SHA256: p.SHA256, MD5: p.MD5, Depends: p.Depends, Constrains: p.Constrains, License: p.License,
			Size: p.Size, Timestamp: p.Timestamp, PythonSitePackagesPath: p.PythonSitePackagesPath,
		})
	}
	addressed, missing := e.addressed()
	for _, d := range addressed {
		add("pypi", d.URL)
		lock.Packages = append(lock.Packages, pixiPackage{Pypi: d.URL, Name: names.Distribution(d.Name), Version: version(d), SHA256: firstHash(d)})
	}
	lock.Environments = map[string]pixiEnvironment{"default": environment}
	return Exported{encodeYAML(lock), missing}
}

// addressed are the distributions that have an address; a form that names
// files by their addresses cannot name the others.
func (e exporter) addressed() (addressed []Distribution, missing []string) {
	for _, d := range e.lock.Pip {
		if d.URL == "" {
			missing = append(missing, pinned(d))
		} else {
			addressed = append(addressed, d)
		}
	}
	return addressed, missing
}

// version is a distribution's; one that is given by its address may have none
// in the lock, and the forms want one.
func version(d Distribution) string {
	if d.Version == "" {
		return "0"
	}
	return d.Version
}

func firstHash(d Distribution) string {
	if len(d.Hashes) == 0 {
		return ""
	}
	return strings.TrimPrefix(d.Hashes[0], "sha256:")
}

// condaLock is conda-lock.yml in its version 1.
type condaLockFile struct {
	Version  int `yaml:"version"`
	Metadata struct {
		ContentHash map[string]string `yaml:"content_hash"`
		Channels    []channelURL      `yaml:"channels"`
		Platforms   []string          `yaml:"platforms"`
		Sources     []string          `yaml:"sources"`
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
		MD5    string `yaml:"md5,omitempty"`
		SHA256 string `yaml:"sha256,omitempty"`
	} `yaml:"hash"`
	Category string `yaml:"category"`
	Optional bool   `yaml:"optional"`
}

func (e exporter) condaLock() (Exported, error) {
	lock := condaLockFile{Version: 1}
	lock.Metadata.ContentHash = map[string]string{e.lock.Platform: strings.TrimPrefix(e.lock.Key, "sha256:")}
	lock.Metadata.Platforms, lock.Metadata.Sources = []string{e.lock.Platform}, []string{"environment.yml"}
	for _, channel := range e.lock.Channels {
		lock.Metadata.Channels = append(lock.Metadata.Channels, channelURL{URL: e.address(channel), Used: &[]string{}})
	}
	var unhashed []string
	for _, p := range e.lock.Conda {
		entry := condaLockPackage{Name: p.Name, Version: p.Version, Manager: "conda", Platform: e.lock.Platform, Dependencies: map[string]string{}, URL: e.url(p), Category: "main"}
		for _, dependency := range p.Depends {
			name, spec, _ := strings.Cut(dependency, " ")
			if before := entry.Dependencies[name]; before != "" && spec != "" {
				spec = before + "," + spec
			}
			entry.Dependencies[name] = spec
		}
		entry.Hash.MD5, entry.Hash.SHA256 = p.MD5, p.SHA256
		if p.MD5 == "" {
			unhashed = append(unhashed, p.Name)
		}
		lock.Package = append(lock.Package, entry)
	}
	if len(unhashed) > 0 {
		return Exported{}, fmt.Errorf("conda-lock wants an MD5 of each package, and the channel gives none of %s: export another form (%s)",
			strings.Join(unhashed, ", "), strings.Join(slices.DeleteFunc(slices.Clone(Formats), func(f string) bool { return f == "conda-lock" }), ", "))
	}
	addressed, missing := e.addressed()
	for _, d := range addressed {
		entry := condaLockPackage{Name: names.Distribution(d.Name), Version: version(d), Manager: "pip", Platform: e.lock.Platform, Dependencies: map[string]string{}, URL: d.URL, Category: "main"}
		entry.Hash.SHA256 = firstHash(d)
		lock.Package = append(lock.Package, entry)
	}
	return Exported{encodeYAML(lock), missing}, nil
}
