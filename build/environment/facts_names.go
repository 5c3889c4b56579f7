package environment

import (
	"slices"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/yamlfile"
)

// lintNames looks for names of the other world.
func (p *parser) lintNames() {
	for _, spec := range p.env.Conda {
		name := names.Distribution(spec.Name)
		switch other, library := condaNames[name], libraries[name]; {
		case other != "" && spec.Build == "": // a build was in a channel
			p.find("pypi-name", SeverityWarning, spec.Pos,
				`%s is PyPI's name; conda's is %s: write "- %s", or put %s under "- pip:"`, spec.Name, other, other, spec.Name).Fix = fix(false, p.renameItem(spec.Pos, spec.Name, other))
		case spec.Build == "" && !slices.Contains(condaSpellings, spec.Name) && condaSpelling(name) != "":
			other := condaSpelling(name)
			p.find("pypi-name", SeverityWarning, spec.Pos,
				`conda tells "_" from "-", and has the package as %s: write "- %s"`, other, other).Fix = fix(false, p.renameItem(spec.Pos, spec.Name, other))
		case debianName.MatchString(name) && spec.Version == "" && spec.Build == "":
			p.find("debian-name", SeverityWarning, spec.Pos,
				"%s is Debian's name, which no conda channel has; put it into build.apt of profiles.yaml", spec.Name).Fix = fix(false, p.removeItem(spec.Pos))
		case library != "" && spec.Version == "" && spec.Build == "" && !p.asksFor(library) && !p.pipAsksFor(name):
			// With a version it is most likely what an export found.
			p.find("library-name", SeverityNote, spec.Pos,
				`%s is the C library or program in conda; the Python module is %s: write "- %s" where that is meant`, spec.Name, library, library).Fix = fix(false, p.renameItem(spec.Pos, spec.Name, library))
		}
	}
	p.lintNameVersion()
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			name, known := pypiNames[r.Name]
			project, other := otherProjects[r.Name]
			switch {
			case r.Kind != PipPackage:
			case known && name == "":
				p.find("conda-name", SeverityWarning, r.Pos, "%s is conda's, and PyPI has no such package; write it above, under dependencies", r.Name)
			case known:
				p.find("conda-name", SeverityWarning, r.Pos, `%s is not the name that PyPI has it under; write "- %s"`, r.Name, name).Fix = fix(false, p.renameItem(r.Pos, r.Name, name))
			case other:
				p.find("other-project", SeverityWarning, r.Pos, `what PyPI has as %s is not %s, which it does not have; write "- %s"`, r.Name, project.meant, project.write)
			case r.Name == "tensorflow-gpu" && (r.version() == "" || lowest(r.version()).compare(tensorflowGPU) >= 0):
				p.find("renamed", SeverityWarning, r.Pos, `tensorflow-gpu has ended, and its last version only fails; tensorflow itself runs on GPUs: write "- tensorflow"`).Fix = fix(false, p.renameItem(r.Pos, r.Name, "tensorflow"))
			case debianName.MatchString(r.Name):
				p.find("debian-name", SeverityWarning, r.Pos, "%s is Debian's name, which PyPI does not have; put it into build.apt of profiles.yaml", r.Name)
			}
		}
	}
}

func (p *parser) pipAsksFor(name string) bool {
	for _, section := range p.env.Pip {
		if slices.ContainsFunc(section.Requirements, func(r PipRequirement) bool { return r.Name == name }) {
			return true
		}
	}
	return false
}

// nameVersion is a name and a version that are joined as in the names of files:
// ffmpeg-4.0, python3.9.
var nameVersion = lazyregexp.New(`^(?:([a-z][a-z0-9_-]*[a-z])-([0-9]+(?:\.[0-9]+)+)|(python|cuda)-?([0-9]+(?:\.[0-9]+)+))$`)

// lintNameVersion looks for names that hold a version: they are whole names to
// conda, and no channel has them.
func (p *parser) lintNameVersion() {
	for _, spec := range p.env.Conda {
		m := nameVersion.FindStringSubmatch(spec.Name)
		if m == nil || spec.Version != "" || spec.Build != "" {
			continue
		}
		name, version := m[1]+m[3], m[2]+m[4]
		if name == "cuda" {
			name = "cudatoolkit"
		}
		if p.asksFor(name) {
			p.find("name-version", SeverityWarning, spec.Pos, "%s is one name to conda, which no channel has, and %s is asked for as well; take this line out", spec.Name, name).Fix = fix(false, p.removeItem(spec.Pos))
			continue
		}
		p.find("name-version", SeverityWarning, spec.Pos, `%s is one name to conda; the version stands behind a "=": write "- %s=%s"`, spec.Name, name, version).Fix = fix(false, p.rewriteItem(spec.Pos, name+"="+version))
	}
}

// tensorflowGPU is the release of tensorflow-gpu that does nothing but fail
// (its own page of PyPI says so).
var tensorflowGPU = release{2, 12}

// renameItem is the edit that gives the package of the item at pos another name.
func (p *parser) renameItem(pos yamlfile.Position, old, name string) []yamlfile.Edit {
	rest := p.rest(pos)
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		pos.Column++
		rest = rest[1:]
	}
	written := pipName.FindString(rest)
	if names.Distribution(written) != names.Distribution(old) {
		return nil
	}
	return []yamlfile.Edit{yamlfile.Replace(pos, written, name)}
}

// lintTwice looks for packages that are asked for more than once.
func (p *parser) lintTwice() {
	conda := map[string]CondaSpec{}
	for _, spec := range p.env.Conda {
		first, twice := conda[spec.Name]
		switch {
		case spec.Name == "":
		case twice:
			p.find("duplicate", SeverityWarning, spec.Pos, "%s is here a second time (first on line %d); keep one of them", spec.Name, first.Pos.Line)
		default:
			conda[spec.Name] = spec
		}
	}
	for name, spec := range conda {
		conda[names.Distribution(name)] = spec
	}
	pip := map[string]PipRequirement{}
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			if r.Name == "" || r.Kind == PipPackage && strings.Contains(r.Text, ";") && slices.Contains(inPython, r.Name) {
				continue
			}
			for _, name := range []string{r.Name, condaNames[r.Name], sameInConda[r.Name]} {
				// torch has a finding of its own.
				if spec, ok := conda[name]; ok && r.Name != "pip" && libraries[names.Distribution(spec.Name)] == "" && !slices.Contains(condaTorch, name) {
					p.find("in-conda-and-pip", SeverityWarning, r.Pos,
						"%s is conda's %s of line %d as well; pip's would overwrite it: keep one of them", r.Name, spec.Name, spec.Pos.Line)
					break
				}
			}
			// Two lines with markers are meant to exclude each other.
			first, twice := pip[r.Name]
			if twice && !(strings.Contains(first.Text, ";") && strings.Contains(r.Text, ";")) {
				p.find("duplicate", SeverityWarning, r.Pos, "%s is here a second time (first on line %d); keep one of them", r.Name, first.Pos.Line)
			} else {
				pip[r.Name] = r
			}
		}
	}
}

// condaSpelling gives conda's one spelling of a name in the form of
// names.Distribution, or "".
func condaSpelling(name string) string {
	i := slices.IndexFunc(condaSpellings, func(spelling string) bool { return names.Distribution(spelling) == name })
	if i < 0 {
		return ""
	}
	return condaSpellings[i]
}
