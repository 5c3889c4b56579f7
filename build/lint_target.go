package build

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/internal/cuda"
	"crun.dev/crun/internal/lazyregexp"
)

// lintTarget says what of a file does not go with the GPUs that its image is
// for, as far as its lines tell it. A file with mistakes is told those alone.
func lintTarget(text []byte, opts environment.Options, options Options) []environment.Finding {
	if options.CUDA == "" {
		return nil
	}
	env, _, err := environment.Parse(text, opts)
	if err != nil {
		return nil
	}
	p := &Project{File: opts.File, Environment: env, Options: options}
	p.settleCUDA()
	severity, remarks := environment.SeverityError, []remark(nil)
	switch {
	case options.CUDA == CUDANone:
		severity, remarks = environment.SeverityNote, p.needlessCUDA()
	case !p.target().IsZero():
		remarks = append(p.cpuLines(), p.newerCUDA()...)
	}
	var findings []environment.Finding
	for _, r := range remarks {
		findings = append(findings, environment.Finding{Code: environment.CodeTarget, Severity: severity, Pos: r.pos, Message: r.text})
	}
	return findings
}

// wheelTag is an index of PyTorch's wheels for one CUDA.
var wheelTag = lazyregexp.New(`/whl/(?:nightly/|test/)?(cu[0-9]{2,3})(?:/|$)`)

// pipTorchOfFile is the torch that the file asks pip for in one version; ok is false
// where it leaves that open.
func (p *Project) pipTorchOfFile() (line environment.PipRequirement, t torchBuild, ok bool) {
	index := ""
	for _, section := range p.Environment.Pip {
		for _, r := range section.Requirements {
			if m := wheelTag.FindStringSubmatch(r.Text); m != nil && r.Kind == environment.PipOption {
				index = m[1]
			}
			if r.Name == "torch" {
				line = r
			}
		}
	}
	constraint := strings.TrimSpace(strings.TrimPrefix(line.Text, "torch"))
	t = torchBuild{Pip: true, Of: pypi, Version: wheelVersion.FindString(line.Text)}
	if !strings.HasPrefix(constraint, "==") && !strings.Contains(line.Text, "://") || t.Version == "" {
		return line, t, false
	}
	version, local, _ := strings.Cut(t.Version, "+")
	switch tag := cmp.Or(local, index); {
	case strings.HasPrefix(tag, "cu"):
		t.CUDA, _ = cuda.ParseTag(tag)
	case tag == "" && !strings.Contains(line.Text, "://") && p.Options.Platform != "linux-aarch64": // the table is of x86-64
		t.CUDA = cuda.OnPyPI(version)
	}
	return line, t, true
}

// newerCUDA are the lines that choose a CUDA which the target's driver does not run.
func (p *Project) newerCUDA() (remarks []remark) {
	target := p.target()
	floor := func(v cuda.Version) string {
		if d, ok := cuda.Floor(v); ok {
			return fmt.Sprintf(" (it needs driver %s)", d)
		}
		return ""
	}
	hasTorch := slices.ContainsFunc(p.Environment.Conda, func(s environment.CondaSpec) bool { return slices.Contains(torchNames, s.Name) })
	for _, spec := range p.Environment.Conda {
		text, v := exactTorch.FindStringSubmatch(spec.Version), cuda.Version{}
		remedy := fmt.Sprintf(`write "- %s=%s"`, spec.Name, target)
		switch {
		case text != nil && (spec.Name == "pytorch-cuda" || spec.Name == "cuda-version" || spec.Name == "cudatoolkit" && hasTorch):
			v, _ = cuda.ParseVersion(text[1])
		case spec.Name == "pytorch" || spec.Name == "pytorch-gpu":
			if m := buildCUDA.FindStringSubmatch(spec.Build); m != nil {
				v, _ = cuda.ParseTag(m[1])
			}
			remedy = `write "- ` + spec.Name + "=" + anyVersion(spec.Version) + `=*cuda*", of which crun build takes one that runs`
		}
		if !v.IsZero() && !v.Runs(target) {
			remarks = append(remarks, remark{spec.Pos, fmt.Sprintf("%s chooses CUDA %s, which does not run on a driver for CUDA %s%s: %s, or build for CPUs (--cuda none)",
				spec.Text, v, target, floor(v), remedy)})
		}
	}
	line, t, ok := p.pipTorchOfFile()
	if ok && !t.CUDA.IsZero() && !t.CUDA.Runs(target) {
		remarks = append(remarks, remark{line.Pos, fmt.Sprintf("%s is built for CUDA %s, which does not run on a driver for CUDA %s%s: %s",
			line.Text, t.CUDA, target, floor(t.CUDA), p.pipRemedy(t.Version))})
	}
	return remarks
}

// needlessCUDA are the lines that bring CUDA along into an image for CPUs.
func (p *Project) needlessCUDA() (remarks []remark) {
	line, t, ok := p.pipTorchOfFile()
	if ok && !t.CUDA.IsZero() {
		remarks = append(remarks, remark{line.Pos, fmt.Sprintf("%s brings CUDA %s along, some gigabytes that an image for CPUs does not need: %s", line.Text, t.CUDA, p.cpuRemedy(t))})
	}
	return remarks
}
