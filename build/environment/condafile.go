package environment

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
)

var (
	packageFile = lazyregexp.New(`\.(?:conda|tar\.bz2)(?:#.*)?$`)
	// namedFile is the address of a package file with a name before it, as pip
	// and pixi have it.
	namedFile = lazyregexp.New(`^([A-Za-z0-9_][A-Za-z0-9._-]*)\s*@\s*(\S+://\S+)$`)
	// fileHash is what conda writes behind an address in an explicit list; see
	// conda/misc.py, url_pat. "md5:" and "=" are other tools'.
	fileHash = lazyregexp.New(`^(?:md5[:=])?([0-9A-Fa-f]{32})$|^(?:sha256[:=])?([0-9A-Fa-f]{64})$`)
	fileStem = lazyregexp.New(`^([A-Za-z0-9_][A-Za-z0-9._-]*)-([A-Za-z0-9_][A-Za-z0-9._+!]*)-([A-Za-z0-9_.+]+)$`)
	// download is anaconda.org's address of a file for people, of which each
	// names one file of a channel.
	download = lazyregexp.New(`^https?://(?:api\.)?anaconda\.org/(?:download/)?([A-Za-z0-9._-]+)/[^/]+/[^/]+/(?:download/)?((?:noarch|[a-z0-9]+-[a-z0-9_]+)/[^/]+)$`)
)

// parsePackageFile takes the address of one package file: "https://.../x.conda",
// "CHANNEL::https://.../x.conda", "NAME @ https://.../x.conda", each with a hash
// behind a "#" perhaps.
func parsePackageFile(text string) (CondaSpec, error) {
	var s CondaSpec
	name := ""
	if m := namedFile.FindStringSubmatch(text); m != nil {
		name, text = m[1], m[2]
	}
	channel, address, ok := strings.Cut(text, "::")
	if !ok {
		channel, address = "", text
	}
	if err := s.setURL(strings.TrimSpace(address)); err != nil {
		return s, err
	}
	if err := s.isCalled(name); err != nil {
		return s, err
	}
	// A channel before an address says nothing that the address does not say.
	if base, _, _ := SplitPackageURL(s.URL); channel != "" && !strings.HasSuffix("/"+base, "/"+strings.Trim(channel, "/")) {
		return s, fmt.Errorf(`names the channel %q before an address that lies elsewhere; take "%s::" out`, channel, channel)
	}
	return s, nil
}

// setURL takes an address, with its hash.
func (s *CondaSpec) setURL(text string) error {
	address, hash, hasHash := strings.Cut(text, "#")
	if strings.Contains(address, "?") {
		return errors.New(`holds "?", but a package lies in a folder of a server; write its plain address (a login belongs into ~/.netrc)`)
	}
	if !packageFile.MatchString(address) {
		return notCondaURL(address)
	}
	if strings.Contains(address, "://") {
		if err := checkURL(address, "https", "http", "file"); err != nil {
			return err
		}
	} else if err := checkCharacters(address, pathCharacters); err != nil {
		return err
	}
	if hasHash {
		m := fileHash.FindStringSubmatch(hash)
		if m == nil {
			return errors.New(`has something other than a hash behind "#"; allowed are the 32 digits of an MD5, and "sha256:" with 64`)
		}
		s.MD5, s.SHA256 = strings.ToLower(m[1]), strings.ToLower(m[2])
	}
	if m := download.FindStringSubmatch(address); m != nil {
		address = "https://conda.anaconda.org/" + m[1] + "/" + m[2]
	}
	file := path.Base(address)
	m := fileStem.FindStringSubmatch(strings.TrimSuffix(strings.TrimSuffix(file, ".conda"), ".tar.bz2"))
	if m == nil {
		return fmt.Errorf("has the file name %q; conda's are NAME-VERSION-BUILD.conda and .tar.bz2", file)
	}
	s.URL, s.Name, s.Version, s.Build = address, strings.ToLower(m[1]), "=="+m[2], m[3]
	_, s.Subdir, _ = SplitPackageURL(address)
	s.Text = s.text()
	return nil
}

// isCalled refuses an address of another package than name.
func (s *CondaSpec) isCalled(name string) error {
	if name = strings.ToLower(name); name != "" && name != s.Name {
		return fmt.Errorf("names %s, and its address is that of %s; write one of them", name, s.Name)
	}
	return nil
}

// setFile takes the fields of "[url='...', md5=..., sha256=...]".
func (s *CondaSpec) setFile(url, md5, sha256 string) error {
	if url == "" {
		return errors.New("has a hash without the address of a file; write its url as well, or take the hash out")
	}
	name := s.Name
	if err := s.setURL(url); err != nil {
		return err
	}
	if md5 != "" {
		if m := fileHash.FindStringSubmatch(md5); m == nil || m[1] == "" {
			return fmt.Errorf("has the md5 %q; allowed are 32 hexadecimal digits", md5)
		}
		s.MD5 = strings.ToLower(md5)
	}
	if sha256 != "" {
		if m := fileHash.FindStringSubmatch(sha256); m == nil || m[2] == "" {
			return fmt.Errorf("has the sha256 %q; allowed are 64 hexadecimal digits", sha256)
		}
		s.SHA256 = strings.ToLower(sha256)
	}
	return s.isCalled(name)
}

// hash is the spec's as it stands behind an address.
func (s CondaSpec) hash() string {
	switch {
	case s.SHA256 != "":
		return "#sha256:" + s.SHA256
	case s.MD5 != "":
		return "#" + s.MD5
	}
	return ""
}

// SplitPackageURL takes the address of a package file apart: the channel's
// address, the folder in it (linux-64, noarch) and the file's name. A file that
// lies in no such folder has the subdir "".
func SplitPackageURL(address string) (base, subdir, file string) {
	base, file = path.Split(address)
	base = strings.TrimSuffix(base, "/")
	if above, folder := path.Split(base); condaSubdir.MatchString(folder) {
		return strings.TrimSuffix(above, "/"), folder, file
	}
	return base, "", file
}

// PackageURLs are the addresses of the package files that are asked for.
func (e *Environment) PackageURLs() []string {
	var addresses []string
	for _, spec := range e.Conda {
		if spec.URL != "" && !slices.Contains(addresses, spec.URL) {
			addresses = append(addresses, spec.URL)
		}
	}
	return addresses
}

// checkFile refuses a package file that cannot be in the image.
func (p *parser) checkFile(spec CondaSpec) {
	switch {
	case spec.URL == "":
	case !strings.Contains(spec.URL, "://"):
		p.errorf(spec.Pos, `%q is a file of this machine, which a build does not see; name it by an address (https://HOST/CHANNEL/linux-64/%s), or ask for the package by name`, spec.URL, path.Base(spec.URL)).Code = codeUnsupported
	case p.isForeign(spec):
		p.errorf(spec.Pos, "%s is a package for %s, and the image is %s: name the file for %s%s", path.Base(spec.URL), spec.Subdir, p.opts.Platform, p.opts.Platform, otherPlatform(spec.Subdir))
	}
}

// isForeign tells whether a package file is for another platform.
func (p *parser) isForeign(spec CondaSpec) bool {
	return spec.URL != "" && spec.Subdir != "" && spec.Subdir != "noarch" && spec.Subdir != p.opts.Platform
}

// otherPlatform is the flag that makes an image for a platform, where there is
// one.
func otherPlatform(subdir string) string {
	switch subdir {
	case "linux-64":
		return ", or build for the other (--platform linux/amd64)"
	case "linux-aarch64":
		return ", or build for the other (--platform linux/arm64)"
	}
	return ""
}
