package lock

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
)

// problem is a value that a lock must not have, by its place in the YAML:
// keys are strings, positions in lists are ints.
type problem struct {
	path    []any
	message string
}

func (p problem) String() string {
	var place strings.Builder
	for _, step := range p.path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&place, "[%d]", step)
		case string:
			if place.Len() > 0 {
				place.WriteByte('.')
			}
			place.WriteString(step)
		}
	}
	return place.String() + " " + p.message
}

var (
	digestForm     = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	repoDigestForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:/-]*@sha256:[0-9a-f]{64}$`)
	sha256Form     = lazyregexp.New(`^[0-9a-f]{64}$`)
	md5Form        = lazyregexp.New(`^[0-9a-f]{32}$`)
	// The values below become arguments, file names and parts of URLs.
	condaNameForm = lazyregexp.New(`^[a-z0-9_][a-z0-9._-]*$`)
	userForm      = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(?::[A-Za-z0-9_][A-Za-z0-9_.-]*)?$`)
	// Debian policy 5.6.1 and 5.6.12; the architecture is another one's.
	debianNameForm    = lazyregexp.New(`^[a-z0-9][a-z0-9+.-]*[a-z0-9+.](?::[a-z0-9]+)?$`)
	debianVersionForm = lazyregexp.New(`^[0-9][A-Za-z0-9.+:~-]*$`)
	pipNameForm       = lazyregexp.New(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	versionForm       = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._+!-]*$`)
	buildForm         = lazyregexp.New(`^[A-Za-z0-9_.+]+$`)
	subdirForm        = lazyregexp.New(`^[a-z0-9]+(?:-[a-z0-9]+)?$`)
	fileForm          = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._+!-]*\.(?:conda|tar\.bz2)$`)
	vcsCommit         = lazyregexp.New(`@[0-9a-f]{40}(?:#|$)`)
	condaToken        = lazyregexp.New(`/t/` + names.CondaToken)
	secretParameter   = lazyregexp.New(`(?:^|&)` + names.SecretParameter + `=[^&]`)
	printable         = lazyregexp.New(`^[\x20-\x7e]*$`)
)

// platforms are those that crun makes images for, by conda's names.
var platforms = []string{"linux-64", "linux-aarch64"}

// checker collects the problems of a lock.
type checker struct{ problems []problem }

func (c *checker) add(path []any, format string, args ...any) {
	c.problems = append(c.problems, problem{slices.Clone(path), fmt.Sprintf(format, args...)})
}

func (c *checker) match(form *lazyregexp.Regexp, value, want string, path ...any) {
	if !form.MatchString(value) {
		c.add(path, "is %q; allowed is %s", value, want)
	}
}

// check gives all that keeps the lock from being one.
func (l *Lock) check() []problem {
	c := &checker{}
	if l.Version != Version {
		c.add([]any{"version"}, "is %d; allowed is %d", l.Version, Version)
	}
	c.match(digestForm, l.Key, "sha256: and 64 hexadecimal digits", "key")
	if !slices.Contains(platforms, l.Platform) {
		c.add([]any{"platform"}, "is %q; allowed are %s", l.Platform, strings.Join(platforms, ", "))
	}
	c.match(versionForm, l.Python, "a version", "python")
	c.base(l.Base)
	for i, v := range l.Virtual {
		c.match(printable, v, "printable text", "virtual", i)
	}
	for i, v := range l.Channels {
		c.place(v, "channels", i)
	}
	for i, v := range l.Indexes {
		c.place(v, "indexes", i)
	}
	if !json.Valid(l.Request.Environment) {
		c.add([]any{"request", "environment"}, "is not JSON")
	}
	for i, p := range l.Apt {
		c.match(debianNameForm, p.Name, "a Debian package's name", "apt", i, "name")
		c.match(debianVersionForm, p.Version, "a Debian package's version", "apt", i, "version")
	}
	if !slices.Contains([]string{"", "apt", "conda", "base", "environment"}, l.Compiler) {
		c.add([]any{"compiler"}, "is %q; allowed are apt, conda, base, environment", l.Compiler)
	}
	for i, p := range l.Miniconda {
		c.pkg(l, p, "miniconda", i)
	}
	for i, p := range l.Conda {
		c.pkg(l, p, "conda", i)
	}
	for i, p := range l.Toolchain {
		c.pkg(l, p, "toolchain", i)
	}
	for i, d := range l.Pip {
		c.distribution(l, d, i)
	}
	return c.problems
}

// Check says what keeps a package from standing in a lock, or nil.
func (p Package) Check() error {
	c := &checker{}
	if p.URL == "" {
		c.place(p.Channel, "channel")
	}
	c.pkg(&Lock{Channels: []string{p.Channel}}, p, "", 0)
	return c.first()
}

// Check says what keeps a distribution from standing in a lock, or nil.
func (d Distribution) Check() error {
	c := &checker{}
	c.distribution(&Lock{Indexes: []string{d.Index}}, d, 0)
	return c.first()
}

// first is the first problem by its field's own name.
func (c *checker) first() error {
	if len(c.problems) == 0 {
		return nil
	}
	p := c.problems[0]
	for _, step := range slices.Backward(p.path) {
		if name, ok := step.(string); ok && name != "" {
			return fmt.Errorf("has the field %s, which %s", name, p.message)
		}
	}
	return errors.New(p.message)
}

func (c *checker) base(b Base) {
	if b.Reference == "" || !printable.MatchString(b.Reference) || strings.ContainsAny(b.Reference, " \"'\\$`") {
		c.add([]any{"base", "reference"}, "is %q; allowed is an image's name", b.Reference)
	}
	if b.Digest != "" {
		c.match(repoDigestForm, b.Digest, "NAME@sha256: and 64 hexadecimal digits", "base", "digest")
	}
	if b.User != "" {
		c.match(userForm, b.User, "a user, with a group perhaps", "base", "user")
	}
	if b.ImageID != "" {
		c.match(digestForm, b.ImageID, "sha256: and 64 hexadecimal digits", "base", "image_id")
	}
}

// place checks a channel or an index: a name or an address.
func (c *checker) place(value string, path ...any) {
	if strings.Contains(value, "://") {
		c.address(value, path...)
	} else if !names.IsChannel(value) {
		c.add(path, "is %q; allowed is a name or an address", value)
	}
}

// address refuses what cannot go into a file that people share. The value is
// not printed: it may be the secret.
func (c *checker) address(value string, path ...any) {
	u, err := url.Parse(value)
	switch {
	case err != nil || !printable.MatchString(value) || strings.ContainsAny(value, " \"'\\`<>"):
		c.add(path, "is no valid address")
	case u.User != nil && !isSSHUser(u):
		c.add(path, "holds a credential, which must not be in a lock")
	case strings.HasPrefix(u.Path, "/t/"), condaToken.MatchString(u.Path):
		c.add(path, "holds a token (/t/...), which must not be in a lock")
	case secretParameter.MatchString(u.RawQuery):
		c.add(path, "holds a parameter that carries a secret (token=...), which must not be in a lock")
	case !slices.Contains([]string{"http", "https", "file", "git+https", "git+ssh", "git+http"}, u.Scheme):
		c.add(path, "has the scheme %q; allowed are https, http, file, git+https, git+http, git+ssh", u.Scheme)
	}
}

// isSSHUser tells "git@" of an ssh address from a secret.
func isSSHUser(u *url.URL) bool {
	_, hasPassword := u.User.Password()
	return strings.HasSuffix(u.Scheme, "ssh") && !hasPassword
}

func (c *checker) pkg(l *Lock, p Package, list string, i int) {
	at := func(field string) []any { return []any{list, i, field} }
	c.match(condaNameForm, p.Name, "a conda package's name", at("name")...)
	c.match(versionForm, p.Version, "a version", at("version")...)
	c.match(buildForm, p.Build, "a build string", at("build")...)
	c.match(subdirForm, p.Subdir, "a folder such as linux-64", at("subdir")...)
	c.match(fileForm, p.File, "the name of a .conda or .tar.bz2 file", at("file")...)
	switch {
	case p.URL != "":
		c.address(p.URL, at("url")...)
		if p.Channel != "" || path.Base(p.URL) != p.File {
			c.add(at("url"), "stands beside a channel, or is the address of another file than %s", p.File)
		}
	case !slices.Contains(l.Channels, p.Channel):
		c.add(at("channel"), "is %q, which is none of channels", p.Channel)
	}
	switch {
	case p.SHA256 != "":
		c.match(sha256Form, p.SHA256, "64 hexadecimal digits", at("sha256")...)
	case p.MD5 == "":
		c.add([]any{list, i}, "has neither sha256 nor md5")
	}
	if p.MD5 != "" {
		c.match(md5Form, p.MD5, "32 hexadecimal digits", at("md5")...)
	}
	if p.NoArch != "" && p.NoArch != "python" && p.NoArch != "generic" {
		c.add(at("noarch"), "is %q; allowed are python, generic", p.NoArch)
	}
	if p.Size < 0 {
		c.add(at("size"), "is %d; allowed are numbers from 0", p.Size)
	}
}

func (c *checker) distribution(l *Lock, d Distribution, i int) {
	at := func(field string) []any { return []any{"pip", i, field} }
	c.match(pipNameForm, d.Name, "a pip package's name", at("name")...)
	if d.Version != "" || d.URL == "" && d.Path == "" {
		c.match(versionForm, d.Version, "a version", at("version")...)
	}
	if d.Against != "" && d.Against != "torch" {
		c.add(at("against"), "is %q; allowed is torch", d.Against)
	}
	c.match(printable, d.Markers, "printable text", at("markers")...)
	for j, h := range d.Hashes {
		c.match(digestForm, h, "sha256: and 64 hexadecimal digits", "pip", i, "hashes", j)
	}
	switch {
	case d.Path != "":
		if !printable.MatchString(d.Path) || d.URL != "" || d.Index != "" {
			c.add(at("path"), "is %q; allowed is a path, without index and url", d.Path)
		}
	case d.URL == "":
		// Without hashes: some indexes and pages of links publish none.
		if !slices.Contains(l.Indexes, d.Index) {
			c.add(at("index"), "is %q, which is none of indexes", d.Index)
		}
	case strings.HasPrefix(d.URL, "git+"):
		c.address(d.URL, at("url")...)
		if !vcsCommit.MatchString(d.URL) {
			c.add(at("url"), "names no commit of 40 digits")
		}
	default:
		c.address(d.URL, at("url")...)
	}
}
