package environment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/internal/cuda"
	"crun.dev/crun/internal/lazyregexp"
)

// localVersion is a version with a build of its own: ==1.10.0+cu113. PyPI
// refuses such uploads
// (https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers).
var localVersion = lazyregexp.New(`^={2,3}([0-9][0-9A-Za-z.]*)\+([0-9A-Za-z._-]+)$`)

var (
	torchBuild = lazyregexp.New(`^(?:cu[0-9]{2,3}|cpu|rocm[0-9.]+|xpu)$`)
	// pygBuild is +pt113cu117 of the packages of PyTorch Geometric
	// (https://pytorch-geometric.readthedocs.io/en/latest/install/installation.html).
	pygBuild = lazyregexp.New(`^pt([0-9])([0-9]{1,2})(cu[0-9]{2,3}|cpu)$`)
)

// torchFamily are published together with torch, on its index, with the torch
// of their own first release: torchvision 0.12 is of torch 1.11.
var torchFamily = []string{"torch", "torchvision", "torchaudio", "torchtext"}

// lintLocalVersions looks for builds that PyPI does not have, in a file that
// names no other index. Of those that one line helps the first is told.
func (p *parser) lintLocalVersions() {
	torch := p.pipTorch()
	told := map[string]bool{}
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			m := localVersion.FindStringSubmatch(r.version())
			if m == nil || !p.applies(r) {
				continue
			}
			what, _, _ := strings.Cut(r.Text, ";")
			line := localIndex(r.Name, m[1], m[2], torch)
			if told[line] || p.namesIndex(strings.Contains(line, pytorchIndex)) {
				continue
			}
			if p.kind == kindTOML && r.Pos.File == p.doc.File {
				told[line] = line != ""
				option := cmp.Or(line, "--extra-index-url ADDRESS")
				p.find("local-version", SeverityWarning, r.Pos,
					`%s is a build that PyPI does not have, and [project] cannot name an index; write "%s" and "-e ." into a requirements.txt and build that, or take "+%s" out`, what, option, m[2])
				continue
			}
			if line == "" {
				p.find("local-version", SeverityWarning, r.Pos,
					`%s is a build that PyPI does not have, and no line names an index that has it; add "- --extra-index-url ADDRESS" or "- --find-links ADDRESS", or take "+%s" out`, what, m[2])
				continue
			}
			told[line] = true
			p.find("local-version", SeverityWarning, r.Pos,
				`%s is a build that PyPI does not have, and no line names an index that has it; add "- %s" above it, or take "+%s" out`,
				what, line, m[2]).Fix = fix(false, p.insertBefore(r.Pos.Line, "- "+line))
		}
	}
}

// pipTorch is the release of torch that pip is asked for: 2.1.0, or "".
func (p *parser) pipTorch() string {
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			if r.Name == "torch" && r.Kind == PipPackage {
				return pinned(r.version()).String()
			}
		}
	}
	return ""
}

// pytorchIndex is in the addresses of PyTorch's own index.
const pytorchIndex = "://download.pytorch.org/whl"

// indexOptions are the options that say where pip looks.
var indexOptions = []string{"--index-url", "--extra-index-url", "--find-links"}

// namesIndex tells whether the file names an index that may have a build: any
// for one of torch's, else one that is not PyTorch's.
func (p *parser) namesIndex(ofTorch bool) bool {
	if !ofTorch {
		return p.hasOwnIndex()
	}
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			if r.Kind == PipOption && slices.Contains(indexOptions, optionName(r.Text)) {
				return true
			}
		}
	}
	return false
}

// localIndex is the line that makes pip find a build; "" where it is not known.
func localIndex(name, version, build, torch string) string {
	switch {
	case slices.Contains(torchFamily, name) && torchBuild.MatchString(build):
		if name == "torch" {
			torch = version
		}
		if torch == "" {
			torch = cuda.LastTorch()
		}
		return cuda.IndexLine(torch, build)
	case pygBuild.MatchString(build):
		m := pygBuild.FindStringSubmatch(build)
		return fmt.Sprintf("--find-links https://data.pyg.org/whl/torch-%s.%s.0+%s.html", m[1], m[2], m[3])
	}
	return ""
}
