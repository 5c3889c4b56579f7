package environment

import (
	"errors"
	"fmt"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/yamlfile"
)

// The grammar is that of pip's requirements files
// (https://pip.pypa.io/en/stable/reference/requirements-file-format/) and of
// PEP 508, that of versions PEP 440's
// (https://packaging.python.org/en/latest/specifications/version-specifiers/).
var (
	pipName    = lazyregexp.New(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?`)
	pipExtras  = lazyregexp.New(`^\[\s*(?:[A-Za-z0-9][A-Za-z0-9._-]*(?:\s*,\s*[A-Za-z0-9][A-Za-z0-9._-]*)*)?\s*\]`)
	pipClause  = lazyregexp.New(`^(===|==|~=|!=|<=|>=|<|>)\s*([A-Za-z0-9][A-Za-z0-9._*+!-]*)$`)
	pipHash    = lazyregexp.New(`^sha(?:256:[0-9a-f]{64}|384:[0-9a-f]{96}|512:[0-9a-f]{128})$`)
	pipAt      = lazyregexp.New(`^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[[^\]]*\])?\s*@\s*(\S+?)(?:\s*\s;\s*(.*))?$`)
	archive    = lazyregexp.New(`\.(?:whl|zip|tar\.gz|tgz|tar\.bz2|tar\.xz)$`)
	egg        = lazyregexp.New(`[#&]egg=([A-Za-z0-9][A-Za-z0-9._-]*)`)
	scpAddress = lazyregexp.New(`^(?:git\+)?([a-z]+@[A-Za-z0-9.-]+):([^/].*)$`)
	// pathCharacters are those of a folder or file beside the environment file.
	pathCharacters = lazyregexp.New(`^[A-Za-z0-9._~/+=@,\[\]-]$`)
)

// pipRequirement reads one line of a pip section.
func (p *parser) pipRequirement(text string, at yamlfile.Position) (PipRequirement, error) {
	r, err := parsePip(text, func(address string) string { return p.env.takeCredential(address, at) })
	r.Pos = at
	return r, err
}

// parsePip reads one line; clean takes the credentials out of addresses.
func parsePip(text string, clean func(string) string) (PipRequirement, error) {
	if strings.HasPrefix(text, "-") || !strings.Contains(text, " --hash") {
		return parsePipLine(text, clean)
	}
	text, hashes, err := cutHashes(text)
	if err != nil {
		return PipRequirement{}, err
	}
	r, err := parsePipLine(strings.TrimSpace(text), clean)
	if err == nil && r.Kind == PipVCS {
		return r, errors.New("has a hash, which a repository cannot have; its commit stands for it: take the hash out")
	}
	for _, hash := range hashes {
		r.Text += " --hash=" + hash
	}
	return r, err
}

// parsePipLine reads a line without its hashes.
func parsePipLine(text string, clean func(string) string) (PipRequirement, error) {
	switch {
	case text == "":
		return PipRequirement{}, errors.New("is empty; write a requirement, or take the item out")
	case strings.HasPrefix(text, "-"):
		return parsePipOption(text, clean)
	case variable.MatchString(hide(text, "")) || braceVariable.MatchString(text):
		return PipRequirement{}, errVariable
	case scpAddress.MatchString(text):
		m := scpAddress.FindStringSubmatch(text)
		return PipRequirement{}, fmt.Errorf(`is an address in scp's form; write "git+ssh://%s/%s"`, m[1], m[2])
	}
	if m := pipAt.FindStringSubmatch(text); m != nil && strings.ContainsAny(m[3], "/:") {
		return parsePipAt(m, clean)
	}
	if strings.Contains(text, "://") && !strings.HasPrefix(text, "file:") {
		if err := checkAlone(text); err != nil {
			return PipRequirement{}, err
		}
		// An address may hold a ";" itself: pip looks for one with a blank.
		address, marker, hasMarker := strings.Cut(text, "; ")
		r, err := parsePipURL(strings.TrimSpace(address), clean)
		if err == nil && hasMarker {
			marker, err = parseMarker(marker)
			r.Text += " ; " + marker
		}
		return r, err
	}
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "file:") || strings.HasPrefix(text, "~") || strings.ContainsAny(beforeMarker(text), `/\`) || archive.MatchString(text) {
		if err := checkAlone(text); err != nil {
			return PipRequirement{}, err
		}
		return parsePlace(text)
	}
	return parsePipPackage(text)
}

// checkAlone refuses an option behind an address or a path.
func checkAlone(text string) error {
	if before, option, ok := strings.Cut(text, " -"); ok {
		return fmt.Errorf(`has an option behind it; write it as an item of its own ("- -%s" before "- %s")`, option, before)
	}
	return nil
}

func beforeMarker(text string) string {
	before, _, _ := strings.Cut(text, ";")
	return before
}

// parsePipAt reads "NAME[EXTRAS] @ ADDRESS ; MARKER".
func parsePipAt(m []string, clean func(string) string) (PipRequirement, error) {
	name, extras, address := m[1], m[2], m[3]
	if extras != "" && !pipExtras.MatchString(extras) {
		return PipRequirement{}, fmt.Errorf("has the extras %q; allowed are such as [socks] and [dev,test]", extras)
	}
	r, err := parsePipURL(address, clean)
	if strings.HasPrefix(address, "file:") || strings.HasPrefix(address, ".") {
		r, err = parsePlace(address)
	}
	if err != nil {
		return r, fmt.Errorf("names an address that %w", err)
	}
	r.Name = names.Distribution(name)
	extras = strings.Join(strings.Fields(extras), "")
	r.Text = name + extras + " @ " + r.Text
	if r.Path != "" {
		r.Extras = extras
	}
	if m[4] != "" {
		marker, err := parseMarker(m[4])
		if err != nil {
			return r, err
		}
		if r.Path != "" {
			r.Marker = marker
		}
		// The blank ends the address, which may hold a ";" itself.
		r.Text += " ; " + marker
	}
	return r, nil
}

// parsePipURL reads an address of a wheel, an archive or a repository.
func parsePipURL(address string, clean func(string) string) (PipRequirement, error) {
	scheme, _, _ := strings.Cut(address, ":")
	r := PipRequirement{Kind: PipURL}
	switch {
	case scheme == "git" || scheme == "ssh":
		return r, fmt.Errorf(`is a repository's address; write "git+%s" before "://"`, strings.Replace(scheme, "git", "https", 1))
	case strings.Contains(scheme, "+"):
		r.Kind = PipVCS
	case strings.HasSuffix(beforeFragment(address), ".git"):
		return r, errors.New(`is a repository's address; write "git+" before it`)
	}
	if err := checkURL(address, "https", "http", "file", "git+https", "git+http", "git+ssh", "git+git", "git+file", "hg+https", "hg+http", "hg+ssh", "svn+https", "svn+ssh", "svn+http", "bzr+https", "bzr+ssh"); err != nil {
		return r, err
	}
	r.Text = clean(address)
	if m := egg.FindStringSubmatch(r.Text); m != nil {
		r.Name = names.Distribution(m[1])
	}
	return r, nil
}

func beforeFragment(address string) string {
	before, _, _ := strings.Cut(address, "#")
	before, _, _ = strings.Cut(before, "?")
	return before
}

// parsePipPackage reads "NAME[EXTRAS]VERSIONS; MARKER --hash=...".
func parsePipPackage(text string) (PipRequirement, error) {
	r := PipRequirement{Kind: PipPackage}
	rest, _, err := cutHashes(text) // an option that is none of a line's
	if err != nil {
		return r, err
	}
	rest, marker, hasMarker := strings.Cut(rest, ";")
	rest = strings.TrimSpace(rest)
	name := pipName.FindString(rest)
	if name == "" {
		return r, errors.New(`has no package name; write it as "einops==0.8.0"`)
	}
	r.Name = names.Distribution(name)
	r.Text = name
	rest = strings.TrimSpace(rest[len(name):])
	if strings.HasPrefix(rest, "[") {
		extras := pipExtras.FindString(rest)
		if extras == "" {
			return r, fmt.Errorf("has extras that are none: %q; allowed are such as [socks] and [dev,test]", rest)
		}
		r.Text += strings.Join(strings.Fields(extras), "")
		rest = strings.TrimSpace(rest[len(extras):])
	}
	versions, err := parsePipVersions(name, rest)
	if err != nil {
		return r, err
	}
	r.Text += versions
	if hasMarker {
		marker, err := parseMarker(marker)
		if err != nil {
			return r, err
		}
		r.Text += "; " + marker
	}
	return r, nil
}

// cutHashes takes the options behind a requirement, of which --hash is the
// only one that crun knows.
func cutHashes(text string) (string, []string, error) {
	text, options, found := strings.Cut(text, " -")
	if !found {
		return text, nil, nil
	}
	var hashes []string
	for option := range strings.SplitSeq("-"+options, " --hash") {
		option = strings.TrimSpace(strings.TrimPrefix(option, "--hash"))
		hash := strings.TrimSpace(strings.TrimPrefix(option, "="))
		if strings.HasPrefix(option, "-") {
			return "", nil, fmt.Errorf(`has the option %q behind it; write it as an item of its own ("- %s"), before this one`, option, option)
		}
		if !pipHash.MatchString(hash) {
			return "", nil, fmt.Errorf("has the hash %q; allowed are such as --hash=sha256: and 64 hexadecimal digits", hash)
		}
		hashes = append(hashes, hash)
	}
	return text, hashes, nil
}

// parsePipVersions gives the clauses without blanks.
func parsePipVersions(name, text string) (string, error) {
	if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		text = text[1 : len(text)-1]
	}
	if text == "" {
		return "", nil
	}
	var clauses []string
	for clause := range strings.SplitSeq(text, ",") {
		clause = strings.TrimSpace(clause)
		m := pipClause.FindStringSubmatch(clause)
		if m == nil {
			return "", badPipClause(name, text, clause)
		}
		if err := checkPipVersion(clause, m[1], m[2]); err != nil {
			return "", err
		}
		clauses = append(clauses, m[1]+m[2])
	}
	return strings.Join(clauses, ","), nil
}

// badPipClause puts the frequent slips into words.
func badPipClause(name, text, clause string) error {
	version := strings.TrimLeft(clause, "= ")
	switch {
	case commaVersion.MatchString(text):
		return fmt.Errorf(`has a "," inside its version; write "%s==%s"`, name, dotted(text))
	case clause == "":
		return fmt.Errorf(`has nothing beside a "," in %q`, text)
	case strings.Trim(clause, "=!<>~ ") == "":
		return fmt.Errorf("has no version after %q", clause)
	case strings.HasPrefix(clause, "=>"), strings.HasPrefix(clause, "=<"):
		return fmt.Errorf("has %q; the sign is %q", clause[:2], string(clause[1])+"=")
	case strings.HasPrefix(clause, "=") && strings.Contains(version, "="):
		return fmt.Errorf("is a conda package with its build; pip knows none: write \"%s==%s\"", name, version[:strings.IndexByte(version, '=')])
	case strings.HasPrefix(clause, "=") && pipClause.MatchString("=="+version):
		return fmt.Errorf(`has one "=", which is conda's; pip's is "%s==%s"`, name, version)
	case pipClause.MatchString("==" + clause):
		if strings.ContainsAny(clause[:1], "0123456789") {
			return fmt.Errorf(`has no sign before its version; write "%s==%s"`, name, clause)
		}
		return fmt.Errorf(`looks like two packages; write one an item ("- %s" and "- %s")`, name, clause)
	}
	return fmt.Errorf("has the version %q; allowed are such as ==1.2.3 and >=1.2,<2", clause)
}
