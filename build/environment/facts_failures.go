package environment

import (
	"slices"
	"strings"

	"crun.dev/crun/internal/yamlfile"
)

// numpyTwo: torch was built against NumPy 2 from 2.3 on; an older one says
// "Failed to initialize NumPy: _ARRAY_API not found", and torch.from_numpy
// fails (https://github.com/pytorch/pytorch/issues/107302). NumPy 2 needs
// Python 3.9 (https://numpy.org/doc/stable/release/2.0.0-notes.html).
var (
	numpyTwo       = release{2}
	numpyTwoTorch  = release{2, 3}
	numpyTwoPython = release{3, 9}
)

// mklLimit: MKL 2024.1 took a symbol away that the pytorch channel's builds
// before 2.4 ask for, "undefined symbol: iJIT_NotifyEvent"; they do not limit
// MKL themselves (https://github.com/pytorch/pytorch/issues/123097, with reports
// up to 2.3.1).
var (
	mklLimit = release{2024, 1}
	mklTorch = release{2, 4}
)

// torchExit: programs that called backward() die when Python 3.9 ends with torch
// 1.7 ("terminate called without an active exception", or a segmentation
// fault); https://github.com/pytorch/pytorch/issues/50858.
var torchExit = release{1, 8}

// distutilsTorch: torch.utils.tensorboard of torch 1.5 to 1.10 needs
// distutils.version, which setuptools 59.6 and later hide
// (https://github.com/pytorch/pytorch/issues/69894).
var (
	distutilsFirst      = release{1, 5}
	distutilsTorch      = release{1, 11}
	distutilsSetuptools = release{59, 6}
)

// torchtextLast: torchtext's development has stopped, and its last release,
// 0.18, is for torch 2.3 (https://github.com/pytorch/text); its library does not
// load beside a newer one. 0.6 and older have none and go with any.
var torchtextLast = release{2, 3}

// numpyUsers are packages that bring numpy along.
var numpyUsers = []string{
	"torchvision", "pandas", "scipy", "scikit-learn", "scikit-image", "matplotlib", "seaborn", "opencv-python", "opencv-python-headless",
	"opencv-contrib-python", "transformers", "datasets", "timm", "tensorboard", "h5py", "numba", "gym", "gymnasium", "librosa", "imageio", "nibabel", "albumentations",
}

// numpyKeepers are releases, from the first to below the second, that ask for a
// NumPy below 2 themselves: scipy's pyproject.toml and numba's setup.py.
var numpyKeepers = map[string][2]release{
	"scipy": {{1, 7}, {1, 13}},
	"numba": {{0, 55}, {0, 60}},
}

// keepsNumpyOne tells whether the file pins a package that keeps NumPy below 2.
func (p *parser) keepsNumpyOne() bool {
	for name, between := range numpyKeepers {
		have, _ := p.exact(name, name)
		if len(have) > 1 && have.compare(between[0]) >= 0 && have.compare(between[1]) < 0 {
			return true
		}
	}
	return false
}

// fromPytorchChannel tells whether conda takes spec from the pytorch channel.
func (p *parser) fromPytorchChannel(spec CondaSpec) bool {
	if spec.Channel != "" {
		return isChannel(spec.Channel, "pytorch")
	}
	for _, channel := range p.env.Channels {
		switch {
		case isChannel(channel, "pytorch"):
			return true
		case isChannel(channel, "conda-forge"):
			return false
		}
	}
	return false
}

// isChannel tells whether channel is the one called name, by an address as
// well: conda's own, or that of a mirror.
func isChannel(channel, name string) bool {
	return channel == name || strings.Contains(channel, "://") && strings.HasSuffix(channel, "/"+name)
}

// torchAsked is a torch of the file, by its name in conda or pip.
type torchAsked struct {
	version string
	conda   *CondaSpec
	pip     *PipRequirement
}

// place gives where and how the file asks for it.
func (t torchAsked) place() (yamlfile.Position, string) {
	if t.conda != nil {
		return t.conda.Pos, t.conda.Text
	}
	return t.pip.Pos, t.pip.Text
}

func (p *parser) torches() []torchAsked {
	var all []torchAsked
	for i, spec := range p.env.Conda {
		if slices.Contains(condaTorch, spec.Name) {
			all = append(all, torchAsked{spec.Version, &p.env.Conda[i], nil})
		}
	}
	for _, section := range p.env.Pip {
		for i, r := range section.Requirements {
			if r.Name == "torch" && r.Kind == PipPackage && p.applies(r) {
				all = append(all, torchAsked{r.version(), nil, &section.Requirements[i]})
			}
		}
	}
	return all
}

// limited tells whether the file keeps a package below limit; asked is whether
// it names the package at all.
func (p *parser) limited(name string, limit release) (asked, limited bool) {
	for _, spec := range p.env.Conda {
		if spec.Name == name {
			asked, limited = true, limited || isBelow(spec.Version, limit)
		}
	}
	lines := p.env.Constraints
	for _, section := range p.env.Pip {
		lines = append(slices.Clone(lines), section.Requirements...)
	}
	for _, r := range lines {
		if r.Name == name && p.applies(r) {
			asked, limited = true, limited || isBelow(r.version(), limit)
		}
	}
	return asked, limited
}

func (p *parser) asksFor(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		asked, _ := p.limited(name, release{0})
		return asked
	})
}

// lintFailures looks for combinations that install and then fail.
func (p *parser) lintFailures() {
	python, _ := p.env.Python()
	for _, torch := range p.torches() {
		at, text := torch.place()
		fromChannel := torch.conda != nil && p.fromPytorchChannel(*torch.conda)
		asked, limited := p.limited("numpy", numpyTwo)
		if isBelow(torch.version, numpyTwoTorch) && !limited && !p.keepsNumpyOne() && !isBelow(python.Version, numpyTwoPython) &&
			(torch.pip != nil && (asked || p.asksFor(numpyUsers...)) || fromChannel) {
			p.find("numpy-2", SeverityWarning, at, `%s is built against NumPy 1, and nothing keeps NumPy below 2; write "- numpy<2"`, text).Fix = fix(false, p.limitNumpy())
		}
		if _, limited := p.limited("mkl", mklLimit); fromChannel && isBelow(torch.version, mklTorch) && !limited {
			p.find("mkl-symbol", SeverityWarning, at, `%s of the pytorch channel fails with MKL 2024.1 and later (undefined symbol: iJIT_NotifyEvent); write "- mkl<2024.1"`, text).Fix = fix(false, p.insertBefore(at.Line, "- mkl<2024.1"))
		}
		if minor(pinned(python.Version)) == "3.9" && isBelow(torch.version, torchExit) {
			p.find("torch-exit", SeverityWarning, at, "%s with Python 3.9 dies at the end of a training, behind its last line; write Python 3.8, or torch 1.8 or newer", text)
		}
		if _, limited := p.limited("setuptools", distutilsSetuptools); lowest(torch.version).compare(distutilsFirst) >= 0 && len(lowest(torch.version)) > 1 && isBelow(torch.version, distutilsTorch) && !limited && p.asksFor("tensorboard") {
			p.find("setuptools-distutils", SeverityWarning, at, `torch.utils.tensorboard of %s fails with setuptools 59.6 and later (no attribute distutils.version); write "- setuptools<59.6"`, text)
		}
		if _, limited := p.limited("torchtext", release{0, 7}); p.asksFor("torchtext") && !limited && lowest(torch.version).compare(torchtextLast) > 0 && len(lowest(torch.version)) > 1 {
			p.find("torchtext-ended", SeverityWarning, at, "torchtext has no release for %s; its last one is 0.18, for torch 2.3", text)
		}
	}
	p.lintVision()
	p.lintOpenCV()
}

// lintVision looks for a torch and a torchvision or torchaudio that do not
// belong together. The versions go in step: torch 1.N with torchvision 0.N+1,
// torch 2.N with 0.N+15, and torchaudio 0.N and 2.N
// (https://github.com/pytorch/vision#installation,
// https://docs.pytorch.org/audio/stable/installation.html); from 1.7 to 2.9, the
// last that is looked at.
func (p *parser) lintVision() {
	torch, _ := p.exact("torch", condaTorch...)
	if len(torch) < 2 || torch.compare(release{1, 7}) < 0 || torch.compare(release{2, 9}) > 0 {
		return
	}
	vision, audio := release{0, torch[1] + 1}, release{0, torch[1]}
	if torch[0] == 2 {
		vision, audio = release{0, torch[1] + 15}, release{2, torch[1]}
	}
	for name, want := range map[string]release{"torchvision": vision, "torchaudio": audio} {
		have, at := p.exact(name, name)
		if len(have) > 1 && have.compare(want) != 0 {
			p.find("torch-vision", SeverityWarning, at, "%s %s was not made for torch %s, which goes with %s %s; they fail when they are imported together", name, have, minor(torch), name, want)
		}
	}
}

// exact gives the release that the file pins a package to, by its name in pip
// or one of those in conda. pip's comes last and counts.
func (p *parser) exact(pip string, conda ...string) (r release, at yamlfile.Position) {
	for _, spec := range p.env.Conda {
		if v := pinned(spec.Version); slices.Contains(conda, spec.Name) && v != nil {
			r, at = v, spec.Pos
		}
	}
	for _, section := range p.env.Pip {
		for _, requirement := range section.Requirements {
			if v := pinned(requirement.version()); requirement.Name == pip && v != nil && p.applies(requirement) {
				r, at = v, requirement.Pos
			}
		}
	}
	return r, at
}

// limitNumpy is the edit that limits the numpy which the file names, where that
// is a bare name.
func (p *parser) limitNumpy() []yamlfile.Edit {
	for _, spec := range p.env.Conda {
		if spec.Name == "numpy" && spec.Version == "" && spec.Build == "" {
			return p.rewriteItem(spec.Pos, "numpy<2")
		}
	}
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			if r.Name == "numpy" && r.Text == "numpy" {
				return p.rewriteItem(r.Pos, "numpy<2")
			}
		}
	}
	return nil
}

// bringsLibGL tells whether a package of Debian or Ubuntu is one that has libGL.so.1.
func bringsLibGL(apt string) bool {
	name, _, _ := strings.Cut(apt, "=")
	return name == "libgl1" || name == "libgl1-mesa-glx"
}

// lintOpenCV: the wheels of opencv-python link libGL.so.1 of the system, those of
// opencv-python-headless do not; all four put the same module cv2 into the
// environment, and one alone may be there
// (https://github.com/opencv/opencv-python#installation-and-usage).
func (p *parser) lintOpenCV() {
	var first PipRequirement
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			if !strings.HasPrefix(r.Name, "opencv-") || r.Kind != PipPackage || !p.applies(r) {
				continue
			}
			if first.Name == "" {
				first = r
			} else if first.Name != r.Name {
				p.find("opencv-twice", SeverityWarning, r.Pos, "%s and %s of line %d both bring the module cv2, one over the other; keep one of them", r.Name, first.Name, first.Pos.Line).Fix = fix(false, p.removeItem(r.Pos))
			}
			if !strings.HasSuffix(r.Name, "-headless") && !slices.ContainsFunc(p.opts.Apt, bringsLibGL) {
				p.find("opencv-libgl", SeverityNote, r.Pos, `%s needs libGL.so.1, which a base image without a desktop lacks; write "- %s-headless", or let build.apt of profiles.yaml have libgl1 and libglib2.0-0`, r.Name, r.Name).Fix = fix(false, p.renameItem(r.Pos, r.Name, r.Name+"-headless"))
			}
		}
	}
}
