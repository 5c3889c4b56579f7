package config

import (
	"fmt"
	"iter"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/distribution/reference"
	"gopkg.in/yaml.v3"

	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/yamlfile"
)

// reader puts what one file says into a Config and collects its mistakes.
type reader struct {
	doc    *yamlfile.Document
	config *Config
	errs   []error
}

// keys is a mapping's keys and what reads each one's value; path is the key
// with those above it, "proxy.http".
type keys map[string]func(path string, value *yaml.Node)

func (c *Config) read(doc *yamlfile.Document) []error {
	if doc.Root == nil {
		return nil
	}
	r := &reader{doc: doc, config: c}
	r.mapping("", doc.Root, keys{
		"version":      r.version,
		"base":         r.text(&c.Base, checkImage),
		"toolbox_base": r.text(&c.ToolboxBase, checkImage),
		"mirrors": r.nested(keys{
			"conda": r.urls(&c.Mirrors.Conda, channelName, checkURL),
			"pip": r.nested(keys{
				"index_url":        r.text(&c.Mirrors.Pip.IndexURL, checkURL),
				"extra_index_urls": r.list(&c.Mirrors.Pip.ExtraIndexURLs, checkURL),
			}),
			"apt":      r.urls(&c.Mirrors.Apt, channelName, checkURL),
			"urls":     r.urls(&c.Mirrors.URLs, prefixName, checkURL),
			"registry": r.urls(&c.Mirrors.Registry, registryName, checkRegistry),
		}),
		"proxy": r.nested(keys{
			"http":  r.text(&c.Proxy.HTTP, checkProxy),
			"https": r.text(&c.Proxy.HTTPS, checkProxy),
			"no":    r.noProxy,
		}),
		"ca":      r.text(&c.CA, checkBundle),
		"scratch": r.text(&c.Scratch, checkFolder),
		"data":    r.data,
		"pass":    r.pass,
		"caches":  r.caches,
		"notify": r.nested(keys{
			"command": r.notifyCommand,
			"webhook": r.text(&c.Notify.Webhook, checkURL),
			"body":    r.text(&c.Notify.Body, checkBody),
			"on":      r.text(&c.Notify.On, checkOn),
		}),
		"patience": r.patience,
		"engine":   r.text(&c.Engine, checkEngine),

		"cache_domain": r.text(&c.CacheDomain, checkCacheDomain),
		"checks": r.nested(keys{
			"free":     r.size(&c.Checks.Free),
			"used":     r.percent(&c.Checks.Used),
			"memory":   r.size(&c.Checks.Available),
			"gpu_free": r.size(&c.Checks.GPUFree),
			"refuse":   r.list(&c.Checks.Refuse, checkCheck),
			"skip":     r.list(&c.Checks.Skip, checkCheck),
		}),
	})
	return r.errs
}

func (r *reader) errorf(node *yaml.Node, format string, args ...any) {
	r.errs = append(r.errs, yamlfile.Errorf(r.doc.At(node), format, args...))
}

// pairs gives the entries of what must be a mapping.
func (r *reader) pairs(path string, node *yaml.Node) iter.Seq[yamlfile.Pair] {
	if yamlfile.Resolve(node).Kind != yaml.MappingNode {
		r.errorf(node, "%s must be a mapping of keys to values, not %s", orFile(path), yamlfile.Kind(node))
	}
	return yamlfile.Pairs(node, func(key *yaml.Node, message, remedy string) {
		// A URL with a password may stand where a name was meant.
		name := yamlfile.Resolve(key).Value
		r.errorf(key, "%s; %s", strings.ReplaceAll(message, strconv.Quote(name), strconv.Quote(Redact(name))), remedy)
	})
}

func orFile(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

func (r *reader) mapping(path string, node *yaml.Node, known keys) {
	for pair := range r.pairs(path, node) {
		full := strings.TrimPrefix(path+"."+pair.Name, ".")
		read, ok := known[pair.Name]
		if !ok {
			names := slices.Sorted(maps.Keys(known))
			hint := yamlfile.DidYouMean(pair.Name, names)
			if hint == "" {
				hint = "; there are " + strings.Join(names, ", ")
			}
			r.errorf(pair.Key, "unknown key %q%s", Redact(full), hint)
			continue
		}
		read(full, pair.Value)
	}
}

func (r *reader) nested(known keys) func(string, *yaml.Node) {
	return func(path string, node *yaml.Node) {
		if !yamlfile.IsNull(node) { // a heading whose entries are commented out
			r.mapping(path, node, known)
		}
	}
}

// value gives a single value that check accepts.
func (r *reader) value(path string, node *yaml.Node, check func(string) error) (string, bool) {
	text, err := yamlfile.Scalar(path, node)
	if err != nil {
		r.errorf(node, "%v", err)
		return "", false
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		// It would end a line of a file that is made from it.
		r.errorf(node, "%s is %q, which holds a line break or another control character; write one line of text", path, Redact(text))
		return "", false
	}
	if err := check(text); err != nil {
		r.errorf(node, "%s is %q, which %v", path, Redact(text), err)
		return "", false
	}
	return text, true
}

func (r *reader) set(path string, node *yaml.Node) { r.config.Origin[path] = r.doc.At(node).String() }

func (r *reader) text(to *string, check func(string) error) func(string, *yaml.Node) {
	return func(path string, node *yaml.Node) {
		if text, ok := r.value(path, node, check); ok {
			*to = text
			r.set(path, node)
		}
	}
}

func (r *reader) list(to *[]string, check func(string) error) func(string, *yaml.Node) {
	return func(path string, node *yaml.Node) {
		list := yamlfile.Resolve(node)
		if list.Kind != yaml.SequenceNode {
			r.errorf(node, "%s must be a list, not %s; write [%s]", path, yamlfile.Kind(node), Redact(list.Value))
			return
		}
		var all []string
		for _, item := range list.Content {
			if text, ok := r.value("an entry of "+path, item, check); ok {
				all = append(all, text)
			}
		}
		*to = all
		r.set(path, node)
	}
}

// nameOf says what the names of a mapping are.
type nameOf struct {
	is   func(string) bool
	want string
}

var (
	channelName  = nameOf{names.IsChannel, "a name; write one such as conda-forge, and the URL behind it"}
	prefixName   = nameOf{isPrefix, "the beginning of an address; write one such as https://HOST/PATH/, without a password, and the URL behind it"}
	registryName = nameOf{isRegistry, "a registry; write docker-hub or one such as registry.example.org, and what to ask behind it"}
)

// urls reads a mapping of names, of channels (pkgs/main) or archives (debian),
// to URLs. The nearer file wins name by name.
func (r *reader) urls(to *map[string]string, name nameOf, check func(string) error) func(string, *yaml.Node) {
	return func(path string, node *yaml.Node) {
		if yamlfile.IsNull(node) {
			return
		}
		for pair := range r.pairs(path, node) {
			if !name.is(pair.Name) {
				r.errorf(pair.Key, "%s has %q, which is not %s", path, Redact(pair.Name), name.want)
				continue
			}
			full := path + "." + pair.Name
			if text, ok := r.value(full, pair.Value, check); ok {
				if *to == nil {
					*to = make(map[string]string)
				}
				(*to)[pair.Name] = text
				r.set(full, pair.Value)
			}
		}
	}
}

// noProxy takes a list or the comma-separated text of the variable NO_PROXY.
func (r *reader) noProxy(path string, node *yaml.Node) {
	if yamlfile.Resolve(node).Kind != yaml.SequenceNode {
		r.text(&r.config.Proxy.No, func(string) error { return nil })(path, node)
		return
	}
	var hosts []string
	r.list(&hosts, func(string) error { return nil })(path, node)
	r.config.Proxy.No = strings.Join(hosts, ",")
}

// patience reads a time, "30s" or "2m".
func (r *reader) patience(path string, node *yaml.Node) {
	if text, ok := r.value(path, node, func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Second || d > time.Hour || d%time.Second != 0 {
			return fmt.Errorf("is no time from 1s to 1h; write one such as 60s or 2m")
		}
		return nil
	}); ok {
		d, _ := time.ParseDuration(text)
		r.config.Patience = int(d.Seconds())
		r.set(path, node)
	}
}

func (r *reader) version(path string, node *yaml.Node) {
	r.value(path, node, func(text string) error {
		if text != "1" {
			return fmt.Errorf("this crun does not read; it reads version 1")
		}
		return nil
	})
}

func checkImage(text string) error {
	if _, err := reference.ParseNormalizedNamed(text); err != nil {
		return fmt.Errorf("is not the name of an image; write one such as debian:bookworm-slim or registry.example.org/base@sha256:DIGEST")
	}
	return nil
}

func isPrefix(text string) bool {
	u, err := url.Parse(text)
	return err == nil && checkURL(text) == nil && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

func isRegistry(text string) bool { return checkRegistry(text) == nil }

// checkRegistry wants what can stand before the name of an image.
func checkRegistry(text string) error {
	if _, err := reference.ParseNormalizedNamed(text + "/image"); err != nil || strings.Contains(text, "@") {
		return fmt.Errorf("is not the beginning of an image's name; write HOST, HOST:PORT or HOST/PATH, without https://")
	}
	return nil
}

func checkURL(text string) error { return checkScheme(text, "http", "https") }

func checkProxy(text string) error { return checkScheme(text, "http", "https", "socks5", "socks5h") }

// checkScheme wants a URL with a host. The parser's own error would print the
// URL, with a password in it.
func checkScheme(text string, schemes ...string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("is not a URL; write %s://HOST/PATH, with special characters in a password as %%XX", schemes[len(schemes)-1])
	case !slices.Contains(schemes, u.Scheme):
		return fmt.Errorf("does not start with %s; write it whole, such as https://HOST/PATH", strings.Join(schemes, ":// or ")+"://")
	case strings.Contains(text, " "):
		return fmt.Errorf("holds a blank; write it as %%20")
	case u.Hostname() == "":
		return fmt.Errorf("names no host; write it whole, such as %s://HOST/PATH", u.Scheme)
	}
	return nil
}

func checkEngine(text string) error {
	u, err := url.Parse(text)
	if err != nil || !slices.Contains([]string{"unix", "tcp", "ssh"}, u.Scheme) || u.Host+u.Path == "" {
		return fmt.Errorf("is not the address of an engine; write unix:///PATH, tcp://HOST:PORT or ssh://USER@HOST")
	}
	return nil
}

func checkCacheDomain(text string) error {
	if !names.IsCacheDomain(text) {
		return fmt.Errorf("is not a name of 1 to 32 lower-case letters, digits and -; write user for a cache of each user's own, or a name such as vision-lab")
	}
	return nil
}

func checkFolder(text string) error {
	if !filepath.IsAbs(text) || filepath.Clean(text) == "/" {
		return fmt.Errorf("is not the absolute path of a folder; write one such as /scratch")
	}
	return nil
}

func checkBundle(text string) error {
	if !filepath.IsAbs(text) {
		return fmt.Errorf("is not an absolute path; write one such as /etc/ssl/certs/ca-certificates.crt")
	}
	if info, err := os.Stat(text); err != nil {
		return fmt.Errorf("cannot be read (%w); name a bundle of certificates in PEM", err)
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("is not a file; name a bundle of certificates in PEM")
	}
	return nil
}
