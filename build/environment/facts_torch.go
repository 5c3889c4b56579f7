package environment

import (
	"slices"
	"strings"

	"crun.dev/crun/internal/yamlfile"
)

// torchPythons are the releases of torch that raised its lowest Python, newest
// first. Read from the wheels for Linux that PyPI lists for torch, releases up
// to 2.15.0 (2.5 still declares 3.8, but has no wheel for it).
var torchPythons = []struct{ torch, python release }{
	{release{2, 15}, release{3, 11}},
	{release{2, 9}, release{3, 10}},
	{release{2, 5}, release{3, 9}},
	{release{2, 0}, release{3, 8}},
	{release{1, 11}, release{3, 7}},
}

// lastTorch is the last release of torch for a Python; the same source.
var lastTorch = map[string]string{
	"3.10": "2.14",
	"3.9":  "2.8",
	"3.8":  "2.4.1",
	"3.7":  "1.13.1",
	"3.6":  "1.10.2",
}

// The pytorch channel got its last release with 2.5.1: PyTorch announced in
// October 2024 that it stops publishing on Anaconda
// (https://github.com/pytorch/pytorch/issues/138506).
var pytorchChannelLast = release{2, 5, 1}

// cudatoolkit stops at 11.8; from CUDA 12 on conda-forge splits it up, pinned
// by cuda-version
// (https://conda-forge.org/docs/maintainer/knowledge_base/#cuda-builds).
var cudatoolkitLast = release{11, 8}

// condaTorch are conda's packages that hold torch itself.
var condaTorch = []string{"pytorch", "pytorch-cpu", "pytorch-gpu", "torch"}

// checkTorch refuses a torch that the environment's Python cannot have.
func (p *parser) checkTorch() {
	python, _ := p.env.Python()
	for _, spec := range p.env.Conda {
		if slices.Contains(condaTorch, spec.Name) {
			p.torchNeedsPython(spec.Version, python, spec.Pos)
		}
	}
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			if r.Name == "torch" && p.applies(r) {
				p.torchNeedsPython(r.version(), python, r.Pos)
				p.torchTooOld(r, python)
			}
		}
	}
}

// torchNeedsPython refuses a torch that has no build for the Python.
func (p *parser) torchNeedsPython(torch string, python CondaSpec, at yamlfile.Position) {
	asked := lowest(torch)
	for _, row := range torchPythons {
		// "=2" is any 2, so it is less than 2.9.
		if slices.Compare(asked, row.torch) < 0 {
			continue
		}
		if isBelow(python.Version, row.python) {
			message := "torch %s needs Python %s or newer"
			args := []any{asked, row.python}
			have := minor(pinned(python.Version))
			if last := lastTorch[have]; last != "" {
				message += "; the last for %s is %s"
				args = append(args, have, last)
			}
			if p.usualPython {
				message += "; the file names no Python, so that %s is taken: choose another one with --python %s"
				args = append(args, have, row.python)
			}
			p.errorf(at, message, args...).Code = codeTorchPython
		}
		return
	}
}

// firstTorch is the first release of torch with wheels for a Python; the same
// source.
var firstTorch = map[string]release{
	"3.9":  {1, 7, 1},
	"3.10": {1, 11},
	"3.11": {1, 13},
	"3.12": {2, 2},
	"3.13": {2, 5},
	"3.14": {2, 9},
}

// oldestWheels is the first torch that has wheels for Python 3.8; the same
// source.
var oldestWheels = release{1, 4}

// torchTooOld refuses a torch of PyPI that came before the Python. conda's is
// built for other ones, and so may be one of another index.
func (p *parser) torchTooOld(r PipRequirement, python CondaSpec) {
	first, ok := firstTorch[minor(pinned(python.Version))]
	if !ok || !isBelow(r.version(), first) || p.hasOwnIndex() {
		return
	}
	message := "torch %s has no build for Python %s; the first that has one is %s"
	args := []any{strings.TrimLeft(r.version(), "="), minor(pinned(python.Version)), first}
	asked := pinned(r.version())
	if p.usualPython {
		message += "; the file names no Python, so that %s is taken"
		args = append(args, minor(pinned(python.Version)))
		if len(asked) > 1 && asked.compare(oldestWheels) >= 0 {
			message += ": choose another one with --python 3.8"
		}
		p.errorf(r.Pos, message, args...).Code = codeTorchPython
		return
	}
	for _, have := range []string{"3.13", "3.12", "3.11", "3.10", "3.9"} {
		if len(asked) > 0 && asked.compare(firstTorch[have]) >= 0 {
			message += `, or write "- python=%s" for this one`
			args = append(args, have)
			break
		}
	}
	p.errorf(r.Pos, message, args...).Code = codeTorchPython
}

// lintOpenPython looks for a Python without an upper end beside a torch of PyPI
// that newer Pythons have no build of: conda takes the newest, and pip then
// finds nothing.
func (p *parser) lintOpenPython() {
	python, _ := p.env.Python()
	for _, c := range clauses(python.Version) {
		if c.operator != ">=" && c.operator != ">" && c.operator != "!=" {
			return
		}
	}
	for _, torch := range p.torches() {
		if torch.pip == nil || pinned(torch.version) == nil || p.hasOwnIndex() {
			continue
		}
		newest := "3.8" // has wheels from torch 1.4 on
		for _, have := range []string{"3.9", "3.10", "3.11", "3.12", "3.13", "3.14"} {
			if pinned(torch.version).compare(firstTorch[have]) >= 0 {
				newest = have
			}
		}
		if newest != "3.14" {
			p.find("python-open", SeverityWarning, python.Pos, `%s lets conda take the newest Python, but torch %s of line %d has builds up to Python %s; write "- python=%s"`,
				python, pinned(torch.version), torch.pip.Pos.Line, newest, newest).Fix = fix(false, p.rewriteItem(python.Pos, "python="+newest))
		}
	}
}

// hasOwnIndex tells whether pip is to look elsewhere than in PyPI and
// PyTorch's own index, which has the same builds.
func (p *parser) hasOwnIndex() bool {
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			if r.Kind == PipOption && slices.Contains(indexOptions, optionName(r.Text)) && !strings.Contains(r.Text, pytorchIndex) {
				return true
			}
		}
	}
	return false
}

// minor gives "3.9" of 3.9.18.
func minor(r release) string { return r[:min(2, len(r))].String() }

// lintTorch looks for torch that is there twice, and for CUDA of the old form.
func (p *parser) lintTorch() {
	var conda CondaSpec
	for _, spec := range p.env.Conda {
		if slices.Contains(condaTorch, spec.Name) && conda.Name == "" {
			conda = spec
		}
		if asked := lowest(spec.Version); spec.Name == "cudatoolkit" && asked.compare(cudatoolkitLast) > 0 {
			p.find("cudatoolkit-ended", SeverityWarning, spec.Pos,
				`cudatoolkit stops at %s; for CUDA %s write "- cuda-version=%s"`, cudatoolkitLast, asked, minor(asked)).Fix = fix(false, p.rewriteItem(spec.Pos, "cuda-version="+minor(asked)))
		}
	}
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			if r.Name == "torch" && conda.Name != "" && p.applies(r) {
				p.find("torch-twice", SeverityWarning, r.Pos,
					"torch is conda's %s of line %d as well; pip's would overwrite it: keep one of them", conda.Name, conda.Pos.Line)
			}
		}
	}
}

// lintPytorchChannel remarks on the channel that gets no new builds.
func (p *parser) lintPytorchChannel() {
	at, ok := p.channelAt("pytorch")
	if !ok {
		return
	}
	severity, more := SeverityNote, ""
	for _, spec := range p.env.Conda {
		if slices.Contains(condaTorch, spec.Name) && lowest(spec.Version).compare(pytorchChannelLast) > 0 {
			severity, more = SeverityWarning, ", so that "+spec.Text+" is not in it"
		}
	}
	p.find("pytorch-channel-ended", severity, at,
		"the pytorch channel gets no new builds since torch %s%s; conda-forge has them (packages pytorch, or pytorch-gpu)", pytorchChannelLast, more)
}
