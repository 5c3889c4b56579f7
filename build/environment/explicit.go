package environment

import (
	"path"
	"strings"
	"unicode/utf8"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

var (
	explicitMark = lazyregexp.New(`(?m)^[ \t]*@EXPLICIT\s*$`)
	// subdirFile is a file's address from the folder of its platform on. pip's
	// source archives end in .tar.bz2 as well, and have no build.
	subdirFile = lazyregexp.New(`://.*/([^/]+)/([^/]+)\.(?:conda|tar\.bz2)(?:#\S*)?$`)
	// pipComment is a pip package of conda-lock's explicit lists: a comment to
	// conda, and conda-lock installs it.
	// See conda_lock/conda_lock.py, render_lockfile_for_platform.
	pipComment = lazyregexp.New(`^#\s?pip\s+([A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?\s*(?:@|===?)\s*\S.*)$`)
	// pypiPath is the path of a file on PyPI, whoever serves it, and archiveName
	// that of a source archive.
	pypiPath    = lazyregexp.New(`^https?://[^/]+(?:/[^/]+)*/[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{60}/[^/#?]+$`)
	archiveName = lazyregexp.New(`-([0-9][A-Za-z0-9._+!]*)\.(?:tar\.gz|zip|tar\.bz2)$`)
)

// OnPyPI tells whether an address is that of a file on PyPI, or on a mirror of
// it: the index has it by its name and hash.
func OnPyPI(address string) bool { return pypiPath.MatchString(address) }

// isExplicit tells an explicit list by its mark, or by being addresses of conda
// packages alone, .../SUBDIR/NAME-VERSION-BUILD.conda.
func isExplicit(data []byte) bool {
	if len(data) > yamlfile.MaxSize {
		return false // which is refused whatever it is
	}
	text, err := yamlfile.Text(data)
	if err != nil {
		return false
	}
	if explicitMark.Match(text) {
		return true
	}
	lines := 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		m := subdirFile.FindStringSubmatch(line)
		if lines++; m == nil || !condaSubdir.MatchString(m[1]) || !fileStem.MatchString(m[2]) || strings.ContainsAny(line, " \t") {
			return false
		}
	}
	return lines > 0
}

// explicitFile reads what "conda list --explicit" and "conda-lock --kind
// explicit" write: an address a line, with a hash behind it perhaps.
func (p *parser) explicitFile(text string) {
	p.env.Name = safeName(p.opts.FolderName)
	p.env.Exact = true
	p.code = codeBadPackage
	var pip []pipLine
	first := map[string]CondaSpec{}
	for i, line := range strings.Split(text, "\n") {
		at := yamlfile.Position{File: p.env.File, Line: i + 1, Column: utf8.RuneCountInString(line[:len(line)-len(strings.TrimLeft(line, " \t"))]) + 1}
		line = strings.TrimSpace(line)
		if m := pipComment.FindStringSubmatch(line); m != nil {
			pip = append(pip, pipLine{pypiLine(m[1]), at})
			continue
		}
		if line == "" || line[0] == '#' || line == "@EXPLICIT" {
			continue
		}
		line = strings.TrimSpace(comment.ReplaceAllString(line, ""))
		if len(line) > maxItem {
			p.errorf(at, "the line is %d bytes long; an address has at most %d", len(line), maxItem)
			continue
		}
		if !packageFile.MatchString(line) && !p.lookalike(line, at) {
			p.errorf(at, "%s is no address of a conda package; each line of an explicit list is one (https://HOST/CHANNEL/SUBDIR/NAME-VERSION-BUILD.conda), and others belong into an environment.yml", quote(line))
			continue
		}
		before := len(p.env.Conda)
		p.condaSpec(line, at)
		for _, spec := range p.env.Conda[before:] {
			if other, twice := first[spec.Name]; twice && other.Text != spec.Text {
				p.errorf(at, "%s is in line %d already, as %s: an environment has one of each; take one of the lines out", spec.Name, other.Pos.Line, path.Base(other.URL))
			} else if !twice {
				first[spec.Name] = spec
			}
		}
	}
	p.oneForeign()
	top := yamlfile.Position{File: p.env.File, Line: 1, Column: 1}
	if _, ok := p.env.Python(); !ok && len(p.errs) == 0 {
		p.errorf(top, "has no python among its packages; add it to what the list was made of, and make it again")
	}
	p.explicitPip(pip, top)
}

// oneForeign puts one error in the place of those about each package, where the
// whole list is another platform's.
func (p *parser) oneForeign() {
	var foreign, bound []CondaSpec
	for _, spec := range p.env.Conda {
		if spec.Subdir != "" && spec.Subdir != "noarch" {
			bound = append(bound, spec)
		}
		if p.isForeign(spec) {
			foreign = append(foreign, spec)
		}
	}
	if len(foreign) < 2 || len(foreign) != len(bound) || len(foreign) != len(p.errs) {
		return
	}
	subdir := foreign[0].Subdir
	p.errs = nil
	p.errorf(foreign[0].Pos, "is a list for %s, and the image is %s: make the list there (conda list --explicit; conda-lock -p %s)%s",
		subdir, p.opts.Platform, p.opts.Platform, otherPlatform(subdir))
}

// explicitPip adds the pip packages of an explicit list, which are all that
// there are to be.
func (p *parser) explicitPip(lines []pipLine, at yamlfile.Position) {
	if len(lines) == 0 {
		return
	}
	p.code = codeBadRequirement
	section := PipSection{Requirements: []PipRequirement{{Text: "--no-deps", Kind: PipOption, Pos: lines[0].pos}}}
	p.pipFile(&section, lines, false)
	p.env.Pip = append(p.env.Pip, section)
}

// pypiLine puts a version and a hash in the place of PyPI's address of a file,
// so that any mirror serves it. Other lines stay.
func pypiLine(line string) string {
	name, address, ok := strings.Cut(line, "@")
	address, hash, hasHash := strings.Cut(strings.TrimSpace(address), "#sha256=")
	if !ok || !hasHash || !OnPyPI(address) {
		return line
	}
	version, file := "", path.Base(address)
	if parts := strings.Split(strings.TrimSuffix(file, ".whl"), "-"); strings.HasSuffix(file, ".whl") && len(parts) > 4 {
		version = parts[1]
	} else if m := archiveName.FindStringSubmatch(file); m != nil {
		version = m[1]
	}
	if version == "" {
		return line
	}
	return strings.TrimSpace(name) + "==" + strings.ReplaceAll(version, "%2B", "+") + " --hash=sha256:" + hash
}

// lintExact looks at an explicit list: what it asks for has been chosen.
func (p *parser) lintExact() {
	if len(p.errs) == 0 {
		p.lintPip()
		p.lintCredentials()
	}
}
