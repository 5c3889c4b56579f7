package environment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

// The grammar is that of conda's match specifications
// (https://docs.conda.io/projects/conda/en/stable/user-guide/concepts/pkg-specs.html),
// without regular expressions and groups in versions, which no file of the wild
// was seen to use. Every class below is of harmless letters only: the text
// becomes an argument of the solver.
var (
	condaName    = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]*`)
	condaSubdir  = lazyregexp.New(`^(?:noarch|(?:linux|osx|win|emscripten|wasi|zos|freebsd)-[a-z0-9_]+)$`)
	condaClause  = lazyregexp.New(`^(==|!=|>=|<=|~=|=|>|<)?((?:[A-Za-z0-9*][A-Za-z0-9._+!*-]*)?[A-Za-z0-9*_])$`)
	condaBuild   = lazyregexp.New(`^[A-Za-z0-9_.*][A-Za-z0-9_.+*-]*$`)
	condaFields  = lazyregexp.New(`\s*([a-z_0-9]+)\s*=\s*(?:'([^']*)'|"([^"]*)"|([^,'"\s]+))\s*(?:,|$)`)
	aroundSign   = lazyregexp.New(`\s*([=!<>~,|]+)\s*`)
	channelColon = lazyregexp.New(`^([A-Za-z][A-Za-z0-9_.-]*):([A-Za-z_].*)$`)
	bracketURL   = lazyregexp.New(`^[^\[\]/]*\[[^\]]*\burl\s*=`)
	versionBuild = lazyregexp.New(`^(.*[^=!<>~,|])=([^=<>!~,|]+)$`)
)

// parseCondaSpec reads one package as people write it: "python=3.9",
// "numpy >= 1.20, < 2", "pytorch 2.1.0 *cuda11*", "conda-forge::python",
// "pkg[version='>=1']".
func parseCondaSpec(text string) (CondaSpec, error) {
	var s CondaSpec
	text = strings.TrimSpace(text)
	if packageFile.MatchString(text) && namedFile.MatchString(text) {
		return parsePackageFile(text)
	}
	if err := notConda(text); err != nil {
		return s, err
	}
	if !bracketURL.MatchString(text) && (strings.Contains(text, "://") || packageFile.MatchString(text)) {
		return parseAddress(text)
	}
	rest := text
	if channel, spec, ok := strings.Cut(text, "::"); ok {
		if err := s.setChannel(strings.TrimSpace(channel)); err != nil {
			return s, err
		}
		rest = strings.TrimSpace(spec)
	}
	if m := channelColon.FindStringSubmatch(rest); m != nil && s.Channel == "" {
		return s, fmt.Errorf(`has one ":" behind the channel; write two: "%s::%s"`, m[1], m[2])
	}
	name := condaName.FindString(rest)
	if name == "" {
		return s, fmt.Errorf("has no package name; write it as \"numpy=1.26\"")
	}
	// Conda's names are in lower case; it takes PyYAML for pyyaml.
	s.Name = strings.ToLower(name)
	rest = strings.TrimSpace(rest[len(name):])
	before, err := s.setFields(rest)
	if err != nil {
		return s, err
	}
	if before != "" && s.URL == "" {
		if s.Version != "" || s.Build != "" {
			return s, errors.New("has a version both before and in [...]; write it once")
		}
		if err := s.setVersion(before); err != nil {
			return s, err
		}
	}
	if s.URL != "" && before != "" {
		return s, errors.New("has a version beside the address of one file; take it out")
	}
	s.Text = s.text()
	return s, nil
}

// text is the one form of the spec.
func (s CondaSpec) text() string {
	if s.URL != "" {
		return s.URL + s.hash()
	}
	var b strings.Builder
	if s.Channel != "" {
		b.WriteString(s.Channel)
		if s.Subdir != "" {
			b.WriteString("/" + s.Subdir)
		}
		b.WriteString("::")
	}
	b.WriteString(s.Name)
	switch {
	case s.Build == "":
		b.WriteString(s.Version)
	case s.Version == "":
		b.WriteString("=*=" + s.Build)
	default:
		b.WriteString(s.Version + "=" + s.Build)
	}
	if s.Channel == "" && s.Subdir != "" {
		b.WriteString("[subdir=" + s.Subdir + "]")
	}
	return b.String()
}

// setChannel takes "conda-forge" and "conda-forge/linux-64".
func (s *CondaSpec) setChannel(text string) error {
	if i := strings.LastIndexByte(text, '/'); i >= 0 && condaSubdir.MatchString(text[i+1:]) {
		s.Subdir, text = text[i+1:], text[:i]
	}
	channel, err := parseChannel(text)
	if err != nil {
		return fmt.Errorf("names the channel %q, which %w", text, err)
	}
	s.Channel = channel
	return nil
}

// setFields takes the "[version='>=1', build=py39*]" at the start or the end
// of rest and gives what is left.
func (s *CondaSpec) setFields(rest string) (string, error) {
	open := strings.IndexByte(rest, '[')
	if open < 0 {
		return rest, nil
	}
	if !strings.HasSuffix(rest, "]") {
		return "", errors.New(`holds a "[" without "]" at its end`)
	}
	before, inner := strings.TrimSpace(rest[:open]), rest[open+1:len(rest)-1]
	if !strings.Contains(inner, "=") {
		return "", fmt.Errorf(`asks for the extra [%s], which is pip's; put it under "- pip:", or name the packages`, inner)
	}
	seen, file := map[string]bool{}, map[string]string{}
	for strings.TrimSpace(inner) != "" {
		m := condaFields.FindStringSubmatchIndex(inner)
		if m == nil || m[0] != 0 {
			return "", fmt.Errorf("has the field %q, which is not KEY='VALUE'", inner)
		}
		match := condaFields.FindStringSubmatch(inner)
		if seen[match[1]] || match[1] == "channel" && s.Channel != "" {
			return "", fmt.Errorf("has the field %q twice; write it once", match[1])
		}
		seen[match[1]] = true
		value := match[2] + match[3] + match[4]
		if slices.Contains([]string{"url", "md5", "sha256"}, match[1]) {
			file[match[1]] = value
		} else if err := s.setField(match[1], value); err != nil {
			return "", err
		}
		inner = inner[m[1]:]
	}
	if len(file) > 0 {
		return before, s.setFile(file["url"], file["md5"], file["sha256"])
	}
	return before, nil
}

func (s *CondaSpec) setField(key, value string) error {
	switch key {
	case "version":
		return s.setVersion(value)
	case "build":
		if !condaBuild.MatchString(value) {
			return fmt.Errorf("has the build %q; allowed are letters, digits, . _ + - and *", value)
		}
		s.Build = value
	case "channel":
		return s.setChannel(value)
	case "subdir":
		if !condaSubdir.MatchString(value) {
			return fmt.Errorf("has the subdir %q; allowed are such as linux-64 and noarch", value)
		}
		s.Subdir = value
	default:
		return fmt.Errorf("has the field %q, which crun does not support; allowed are version, build, channel, subdir, url, md5, sha256", key)
	}
	return nil
}

// setVersion takes what follows the name: "=1.2", ">=1,<2", "1.2.*",
// "=1.2=py39_0" or "1.2 py39_0".
func (s *CondaSpec) setVersion(text string) error {
	text = strings.TrimSpace(aroundSign.ReplaceAllString(text, "$1"))
	if text == "" {
		return errors.New("has an empty version; write one, or take the field out")
	}
	fields := strings.Fields(text)
	signed := strings.ContainsAny(text[:1], "=!<>~")
	switch {
	case len(fields) > 2:
		return errors.New(`holds more than a name, a version and a build; write one package an item ("- NAME=VERSION")`)
	case len(fields) == 2:
		text = fields[0]
		s.Build = fields[1]
	case signed:
		// "==1.2=b" and "=1.2=b"; the sign in front is not the separator.
		if m := versionBuild.FindStringSubmatch(text); m != nil {
			text, s.Build = m[1], m[2]
		}
	}
	if words := len(fields) == 2 && strings.ContainsAny(s.Build, "=<>!~"); words && !strings.ContainsAny(s.Build[:1], "=<>!~") {
		return fmt.Errorf("looks like two packages; write one an item (%s)", itemExamples([]string{withSign(s.Name, "=", text), s.Build}))
	}
	if s.Build != "" && !condaBuild.MatchString(s.Build) {
		return fmt.Errorf("has the build %q; allowed are letters, digits, . _ + - and *", s.Build)
	}
	if !signed && !strings.ContainsAny(text, "0123456789*") {
		words := listWords(s.Name + " " + text)
		number := "two"
		if len(words) > 2 {
			number = "several"
		}
		return fmt.Errorf(`looks like %s packages; write one an item (%s)`, number, itemExamples(words))
	}
	if text == "*" || text == "=*" || text == "==*" {
		s.Version = ""
		return nil
	}
	if commaVersion.MatchString(text) {
		return fmt.Errorf(`has a "," inside its version, which asks for two versions at once; write "%s=%s"`, s.Name, dotted(text))
	}
	version, err := normaliseVersion(text)
	if err != nil {
		return err
	}
	s.Version = version
	return nil
}

// normaliseVersion checks each clause of a constraint. A bare version is exact
// ("numpy 1.26" is ==1.26), a bare pattern ("3.9.*") is "=": both as conda.
func normaliseVersion(text string) (string, error) {
	var b strings.Builder
	for rest := text; ; {
		end := strings.IndexAny(rest, ",|")
		clause := rest
		if end >= 0 {
			clause = rest[:end]
		}
		m := condaClause.FindStringSubmatch(clause)
		if m == nil {
			return "", badClause(text, clause)
		}
		if letterVersion.MatchString(m[2]) {
			return "", fmt.Errorf("has the version %q; conda's sign for any number is \"*\": %s*", clause, strings.TrimRight(clause, "xX"))
		}
		operator := m[1]
		if operator == "" {
			operator = "=="
			if strings.Contains(m[2], "*") {
				operator = "="
			}
		}
		b.WriteString(operator + m[2])
		if end < 0 {
			return b.String(), nil
		}
		b.WriteByte(rest[end])
		rest = rest[end+1:]
	}
}

// parseAddress takes what holds an address: of a package file, or of a channel
// ("https://host/channel::python=3.9").
func parseAddress(text string) (CondaSpec, error) {
	i := strings.LastIndex(text, "::")
	if i < 0 || packageFile.MatchString(text) {
		return parsePackageFile(text)
	}
	spec, err := parseCondaSpec(text[i+2:])
	if err != nil {
		return spec, err
	}
	if spec.Channel != "" || spec.URL != "" || strings.Contains(text[:i], "::") {
		return spec, errors.New("names a channel twice; write it once")
	}
	if err := spec.setChannel(text[:i]); err != nil {
		return spec, err
	}
	spec.Text = spec.text()
	return spec, nil
}

// condaSpec adds one item of dependencies.
func (p *parser) condaSpec(text string, at yamlfile.Position) {
	if p.lookalike(text, at) {
		return
	}
	spec, err := parseCondaSpec(text)
	if err != nil {
		p.errorf(at, "%s %v", quote(text), err)
		return
	}
	if spec.URL != "" {
		spec.URL = p.env.takeCredential(spec.URL, at)
		spec.Text = spec.text()
	}
	if strings.Contains(spec.Channel, "://") {
		spec.Channel = p.env.takeCredential(spec.Channel, at)
		spec.Text = spec.text()
	}
	spec.Pos = at
	p.checkFile(spec)
	p.env.Conda = append(p.env.Conda, spec)
}

// ParseCondaSpec reads one conda package as an environment file has it. Pos is
// not set, and a credential in an address stays.
func ParseCondaSpec(text string) (CondaSpec, error) { return parseCondaSpec(text) }
