package environment

import (
	"slices"
	"strings"

	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/yamlfile"
)

// condaNames gives conda's name of packages that people know by PyPI's, or by
// what they import. The pairs are common knowledge, not read from a channel:
// they serve a warning alone, and nothing is replaced by them.
var condaNames = map[string]string{
	"torch":                          "pytorch",
	"opencv-python":                  "opencv",
	"opencv-python-headless":         "opencv",
	"opencv-contrib-python":          "opencv",
	"opencv-contrib-python-headless": "opencv",
	"cv2":                            "opencv",
	"tables":                         "pytables",
	"psycopg2-binary":                "psycopg2",
	"sklearn":                        "scikit-learn",
	"pil":                            "pillow",
	"bs4":                            "beautifulsoup4",
}

// sameInConda gives further pairs, of the same kind, for a package that is
// asked for twice; they are no reason to speak of a name.
var sameInConda = map[string]string{
	"faiss-gpu":       "faiss",
	"faiss-cpu":       "faiss",
	"torch-geometric": "pyg",
}

// pypiNames gives PyPI's name of packages that people ask pip for by conda's, or
// by what they import; what PyPI has under that name, if anything, is another
// thing. As above, it serves a warning alone.
var pypiNames = map[string]string{
	"pytorch":  "torch",
	"opencv":   "opencv-python",
	"pytables": "tables",
	"sklearn":  "scikit-learn",
	"pil":      "pillow",
	"cv2":      "opencv-python",
}

// lintNames looks for names of the other world.
func (p *parser) lintNames() {
	for _, spec := range p.env.Conda {
		if name := condaNames[names.Distribution(spec.Name)]; name != "" {
			p.find("pypi-name", SeverityWarning, spec.Pos,
				`%s is PyPI's name; conda's is %s: write "- %s", or put %s under "- pip:"`, spec.Name, name, name, spec.Name).Fix = fix(false, p.renameItem(spec.Pos, spec.Name, name))
		}
	}
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			switch name := pypiNames[r.Name]; {
			case r.Kind != PipPackage:
			case name != "":
				p.find("conda-name", SeverityWarning, r.Pos, `%s is not the name that PyPI has it under; write "- %s"`, r.Name, name).Fix = fix(false, p.renameItem(r.Pos, r.Name, name))
			}
		}
	}
}

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
			if r.Name == "" {
				continue
			}
			for _, name := range []string{r.Name, condaNames[r.Name], sameInConda[r.Name]} {
				// torch has a finding of its own.
				if spec, ok := conda[name]; ok && !slices.Contains(condaTorch, name) {
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
