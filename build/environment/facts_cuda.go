package environment

import (
	"slices"
	"strings"

	"crun.dev/crun/internal/cuda"
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

// The versions of CUDA that torch was published for, and the drivers that they
// need, stand in internal/cuda.

// noteworthyCUDA is the first CUDA whose driver (580, of August 2025) many
// machines do not have yet; that of 12 is of December 2022.
const noteworthyCUDA = 13

var (
	// wheelIndex is an index of PyTorch's wheels for one CUDA:
	// https://download.pytorch.org/whl/cu121, .../whl/cu118/torch_stable.html.
	wheelIndex = lazyregexp.New(`/whl/(?:nightly/|test/)?(cu[0-9]{2,3})(?:/|$)`)
	localCUDA  = lazyregexp.New(`^==[0-9.]+\+(cu[0-9]{2,3})$`)
)

// lintCUDA looks for a torch and a CUDA that do not belong together, and for a
// CUDA that asks for a new driver.
func (p *parser) lintCUDA() {
	p.lintCondaCUDA()
	var index cuda.Version
	var torch *PipRequirement
	for _, section := range p.env.Pip {
		for i, r := range section.Requirements {
			if m := wheelIndex.FindStringSubmatch(r.Text); m != nil && r.Kind == PipOption {
				index, _ = cuda.ParseTag(m[1])
			}
			if r.Name == "torch" && r.Kind == PipPackage {
				torch = &section.Requirements[i]
			}
		}
	}
	if torch == nil {
		return
	}
	if toolkit, ok := p.env.conda("cudatoolkit"); ok && !p.hasCondaTorch() {
		p.find("cuda-unused", SeverityNote, toolkit.Pos,
			"pip's torch of line %d brings its own CUDA and does not look for this one; take it out, unless another package needs it", torch.Pos.Line).Fix = fix(false, p.removeItem(toolkit.Pos))
	}
	p.lintWheelCUDA(*torch, index)
}

func (p *parser) hasCondaTorch() bool {
	return slices.ContainsFunc(p.env.Conda, func(s CondaSpec) bool { return slices.Contains(condaTorch, s.Name) })
}

// lintWheelCUDA looks at pip's torch, with the CUDA of the index that the file
// names, or none.
func (p *parser) lintWheelCUDA(torch PipRequirement, index cuda.Version) {
	version := torch.version()
	exact := pinned(version)
	published := cuda.Published(exact.String())
	want := cuda.Version{}
	if m := localCUDA.FindStringSubmatch(version); m != nil {
		want, _ = cuda.ParseTag(m[1])
	}
	switch {
	case !want.IsZero() && !index.IsZero() && want != index:
		p.find("torch-cuda", SeverityWarning, torch.Pos, "%s is for CUDA %s, but the index that the file names has builds for %s; let both say the same", torch.Text, want, index)
	case want.IsZero():
		want = index
	}
	if !want.IsZero() && len(published) > 0 && !slices.Contains(published, want) {
		p.find("torch-cuda", SeverityWarning, torch.Pos, "torch %s was not published for CUDA %s; it was for %s", exact, want, versions(published))
	}
	if want.IsZero() {
		if len(exact) > 1 {
			want = cuda.OnPyPI(exact.String())
		} else if python, _ := p.env.Python(); version == "" && lastTorch[minor(pinned(python.Version))] == "" && len(pinned(python.Version)) > 1 {
			want = cuda.OnPyPI(torchPythons[0].torch.String())
		}
	}
	p.lintDriver(torch.Pos, torch.Text, want)
}

// lintDriver remarks on a CUDA whose driver is new.
func (p *parser) lintDriver(at yamlfile.Position, what string, v cuda.Version) {
	floor, ok := cuda.Floor(v)
	if !ok || v.Major < noteworthyCUDA {
		return
	}
	p.find("cuda-driver", SeverityNote, at,
		"%s is built for CUDA %s, which needs NVIDIA driver %s or newer on the machine that runs it (nvidia-smi shows it); without a GPU it does not matter", what, v, floor)
}

// lintCondaCUDA looks at the CUDA that is chosen for conda's torch.
func (p *parser) lintCondaCUDA() {
	var torch CondaSpec
	for _, spec := range p.env.Conda {
		if spec.Name == "pytorch" && p.fromPytorchChannel(spec) {
			torch = spec
		}
	}
	exact := pinned(torch.Version)
	published := cuda.Published(exact.String())
	for _, spec := range p.env.Conda {
		v, err := cuda.ParseVersion(pinned(spec.Version).String())
		if err != nil {
			continue
		}
		switch spec.Name {
		case "cuda-version":
			p.lintDriver(spec.Pos, spec.Text, v)
		case "cudatoolkit", "pytorch-cuda":
			// The channel has nothing newer; that is told of the channel.
			if len(exact) > 1 && exact.compare(pytorchChannelLast) <= 0 && len(published) > 0 && !slices.Contains(published, v) {
				p.find("torch-cuda", SeverityWarning, spec.Pos, "the pytorch channel has no build of torch %s for CUDA %s; it has some for %s", exact, v, versions(published))
			}
		}
	}
}

func versions(all []cuda.Version) string {
	var words []string
	for _, v := range all {
		words = append(words, v.String())
	}
	return strings.Join(words, ", ")
}
