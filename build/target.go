package build

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/internal/cuda"
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

// Words for Extras.CUDA beside a version.
const (
	CUDANone = "none" // the image is for CPUs
	CUDAAuto = "auto" // for the GPUs of the engine's host
)

// CheckCUDA refuses what is no value of Extras.CUDA. The error says what is.
func CheckCUDA(text string) error {
	if text == CUDANone || text == CUDAAuto {
		return nil
	}
	v, err := cuda.ParseVersion(text)
	if err != nil || v.String() != text {
		return fmt.Errorf(`%q is no version of CUDA; allowed are one such as "12.4", none and auto`, text)
	}
	return nil
}

// settleCUDA decides which CUDA the project's packages are chosen for. What
// nobody has said stays as the lock has it, so that an image with CUDA serves a
// run without GPUs too. And auto keeps a lock whose torch runs on the engine's
// host: otherwise two machines would write over each other's locks.
func (p *Project) settleCUDA() {
	locked := ""
	if p.Lock != nil {
		locked = p.Lock.Request.CUDA
	}
	switch asked := p.Options.CUDA; asked {
	case "":
		p.Request.CUDA = locked
	case CUDANone:
		p.Request.CUDA = ""
	case CUDAAuto:
		if p.Request.CUDA = p.autoCUDA().String(); p.Lock != nil && p.runsHere(p.Lock) {
			p.Request.CUDA = locked
		}
	default:
		p.Request.CUDA = asked
	}
}

// runsHere tells whether the torch of a lock uses the GPUs of the engine's
// host, or there is no torch to use them.
func (p *Project) runsHere(l *lock.Lock) bool {
	t, ok := torchOf(l)
	host, err := cuda.ParseVersion(p.Options.HostCUDA)
	return !ok || !t.CUDA.IsZero() && (err != nil || t.CUDA.Runs(host))
}

// autoCUDA is the CUDA of the host's driver or, where nobody knows it, the
// newest that the torch in question was published for.
func (p *Project) autoCUDA() cuda.Version {
	if host, err := cuda.ParseVersion(p.Options.HostCUDA); err == nil {
		return host
	}
	return cuda.Newest(askedTorch(p.Environment))
}

// exactTorch is the release in a constraint that allows one minor release.
var exactTorch = lazyregexp.New(`^(?:===?|=|~=)\s*(\d+\.\d+)`)

// askedTorch is the minor release of torch that the file asks for, or "".
func askedTorch(env *environment.Environment) string {
	for _, section := range env.Pip {
		for _, r := range section.Requirements {
			if r.Name == "torch" {
				if m := exactTorch.FindStringSubmatch(strings.TrimPrefix(r.Text, "torch")); m != nil {
					return m[1]
				}
			}
		}
	}
	for _, spec := range env.Conda {
		if slices.Contains(torchNames, spec.Name) {
			if m := exactTorch.FindStringSubmatch(spec.Version); m != nil {
				return m[1]
			}
		}
	}
	return ""
}

// torchNames are conda's packages that hold torch, or choose its build.
var torchNames = []string{"pytorch", "pytorch-gpu", "pytorch-cpu", "cpuonly", "torch"}

// target is the CUDA that the packages are chosen for; zero for CPUs.
func (p *Project) target() cuda.Version {
	v, _ := cuda.ParseVersion(p.Request.CUDA)
	return v
}

// checkTargetOfFile refuses a file that says itself that its torch is for
// CPUs, where the image is to use GPUs.
func (p *Project) checkTargetOfFile() error {
	if p.Options.CUDA == "" || p.Options.CUDA == CUDANone || p.target().IsZero() {
		return nil
	}
	var errs []error
	for _, m := range p.cpuLines() {
		errs = append(errs, yamlfile.Errorf(m.pos, "%s", m.text))
	}
	return errors.Join(errs...)
}

// remark is what there is to say of a place of the file.
type remark struct {
	pos  yamlfile.Position
	text string
}

// cpuLines are the lines that choose a torch for CPUs, where GPUs are the target.
func (p *Project) cpuLines() (remarks []remark) {
	refuse := func(pos yamlfile.Position, text, remedy string) {
		remarks = append(remarks, remark{pos, fmt.Sprintf("%s takes a torch for CPUs, and the image is to use GPUs (%s): %s", text, p.wish(), remedy)})
	}
	for _, spec := range p.Environment.Conda {
		switch {
		case spec.Name == "cpuonly":
			refuse(spec.Pos, spec.Text, `take the line out, or build for CPUs (--cuda none)`)
		case spec.Name == "pytorch-cpu":
			refuse(spec.Pos, spec.Text, `write "- pytorch-gpu`+spec.Version+`", or build for CPUs (--cuda none)`)
		case slices.Contains(torchNames, spec.Name) && strings.Contains(spec.Build, "cpu"):
			refuse(spec.Pos, spec.Text, `write "- pytorch=`+anyVersion(spec.Version)+`=*cuda*", or build for CPUs (--cuda none)`)
		}
	}
	var index environment.PipRequirement
	for _, section := range p.Environment.Pip {
		for _, r := range section.Requirements {
			if r.Kind == environment.PipOption && strings.HasPrefix(r.Text, "--index-url ") && cpuIndex.MatchString(r.Text) {
				index = r
			}
			if r.Name == "torch" && (strings.Contains(r.Text, "+cpu") || strings.Contains(r.Text, "%2Bcpu")) {
				refuse(r.Pos, r.Text, p.pipRemedy(wheelVersion.FindString(r.Text)))
			} else if r.Name == "torch" && index.Text != "" {
				refuse(index.Pos, index.Text, p.pipRemedy(wheelVersion.FindString(r.Text)))
			}
		}
	}
	return remarks
}

// anyVersion is a constraint between the two "=" of a conda spec.
func anyVersion(version string) string {
	if version = strings.TrimLeft(version, "="); version == "" {
		return "*"
	}
	return version
}

// wish says where the target comes from.
func (p *Project) wish() string {
	text := "CUDA " + p.Request.CUDA
	if p.Options.CUDA == CUDAAuto && p.Options.HostCUDA != "" {
		return text + ", that of the host's driver"
	}
	return text
}

// pipRemedy is what to write for a torch from pip that runs on the target.
func (p *Project) pipRemedy(version string) string {
	version, _, _ = strings.Cut(version, "+")
	target, written := p.target(), "torch"
	if version != "" {
		written += "==" + version
	}
	if onPyPI := cuda.OnPyPI(version); version == "" && cuda.OnPyPI(cuda.LastTorch()).Runs(target) || !onPyPI.IsZero() && onPyPI.Runs(target) {
		return fmt.Sprintf(`write "- %s", which comes from PyPI with CUDA, or build for CPUs (--cuda none)`, written)
	}
	for _, v := range slices.Backward(cuda.Published(version)) {
		if v.Runs(target) {
			return fmt.Sprintf(`write %s in its place, or build for CPUs (--cuda none)`, p.wheelLines(v.Tag(), written+"+"+v.Tag()))
		}
	}
	if last, with := cuda.NewestFor(target); last != "" {
		return fmt.Sprintf("the last torch for CUDA %s is %s: write %s in its place, or build for CPUs (--cuda none)", target, last, p.wheelLines(with.Tag(), "torch=="+last+".*"))
	}
	return "name another version, or build for CPUs (--cuda none)"
}

// wheelLines are the lines of the file for a torch of PyTorch's index of that
// tag: cu118, cpu. PyPI is asked first, so what else the file asks for stays.
func (p *Project) wheelLines(tag, torch string) string {
	dash := "- "
	if strings.HasSuffix(p.torchPos().File, ".txt") {
		dash = ""
	}
	return fmt.Sprintf(`"%s--extra-index-url %s%s" and "%s%s"`, dash, cuda.WheelIndexes, tag, dash, torch)
}

// torchPos is where the file asks pip for torch.
func (p *Project) torchPos() yamlfile.Position {
	for _, section := range p.Environment.Pip {
		for _, r := range section.Requirements {
			if r.Name == "torch" {
				return r.Pos
			}
		}
	}
	return yamlfile.Position{}
}

// TargetError says that the torch of a solution cannot use the GPUs that the
// image is for.
type TargetError struct {
	// File is the environment file; Lines are those that ask for torch.
	File  string
	Lines []string
	// Text says what does not fit, Remedy what would.
	Text, Remedy string
}

func (e *TargetError) Error() string {
	lines := append([]string{e.File + ": " + e.Text}, e.Lines...)
	return strings.Join(append(lines, e.Remedy), "\n")
}

// checkTarget refuses a lock whose torch does not run on what the image is for,
// before anything of it is fetched. The note is about a torch with CUDA that
// nobody needs.
func (p *Project) checkTarget(l *lock.Lock) (note string, err error) {
	t, ok := torchOf(l)
	if !ok {
		return "", nil
	}
	target := p.target()
	if target.IsZero() {
		if p.Options.CUDA == CUDANone && !t.CUDA.IsZero() {
			return fmt.Sprintf("torch %s brings CUDA %s along, some gigabytes that an image for CPUs does not need: %s", t.Version, t.CUDA, p.cpuRemedy(t)), nil
		}
		return "", nil
	}
	return "", p.refuseTorch(t)
}

// refuseTorch is a TargetError where a torch cannot use the project's target.
func (p *Project) refuseTorch(t torchBuild) error {
	target := p.target()
	refused := &TargetError{File: p.File, Lines: p.torchLines(), Remedy: p.gpuRemedy(t)}
	switch {
	case t.CPU || t.ROCm:
		kind := map[bool]string{true: "CPUs", false: "AMD's GPUs"}[t.CPU]
		refused.Text = fmt.Sprintf("torch %s (%s) is for %s, and the image is to use NVIDIA's GPUs (%s)", t.Version, t.origin(), kind, p.wish())
	case !t.CUDA.IsZero() && !t.CUDA.Runs(target):
		refused.Text = fmt.Sprintf("torch %s (%s) is built for CUDA %s, which does not run on a driver for CUDA %s", t.Version, t.origin(), t.CUDA, target)
		if floor, ok := cuda.Floor(t.CUDA); ok {
			refused.Text += fmt.Sprintf(" (it needs driver %s)", floor)
		}
	default:
		return nil
	}
	return refused
}

// pipBringsTorch tells whether torch is one of the pip packages.
func (p *Project) pipBringsTorch() bool {
	return slices.ContainsFunc(p.Environment.Pip, func(section environment.PipSection) bool {
		return slices.ContainsFunc(section.Requirements, func(r environment.PipRequirement) bool { return r.Name == "torch" })
	})
}

// origin says which build it is.
func (t torchBuild) origin() string {
	switch {
	case t.Build != "":
		return "build " + t.Build + " of " + t.Of
	case t.Of == pypi:
		return "from PyPI"
	case t.Of == "":
		return "from pip"
	}
	return "from " + t.Of
}

// gpuRemedy names the package that would do.
func (p *Project) gpuRemedy(t torchBuild) string {
	version, _, _ := strings.Cut(t.Version, "+")
	if t.Pip {
		return p.pipRemedy(version)
	}
	minor := firstTwo(version)
	if t.Of == "pytorch" {
		// https://pytorch.org/get-started/previous-versions/: pytorch-cuda from
		// 1.13 on, cudatoolkit before.
		for _, v := range slices.Backward(cuda.Published(version)) {
			if v.Runs(p.target()) {
				name, channel := "pytorch-cuda", `, with "nvidia" among the channels,`
				if slices.Contains([]string{"1.7", "1.8", "1.9", "1.10", "1.11", "1.12"}, minor) {
					name, channel = "cudatoolkit", ""
				}
				return fmt.Sprintf(`write "- pytorch=%s" and "- %s=%s"%s take out cpuonly; or build for CPUs (--cuda none)`, minor, name, v, strings.TrimSuffix(channel, ",")+" and")
			}
		}
	}
	return fmt.Sprintf(`write "- pytorch-gpu=%s", or "- pytorch=%s=*cuda*", which says what hinders it; take torch from PyPI ("- pip: [torch==%s]"); or build for CPUs (--cuda none)`, minor, minor, version)
}

// cpuRemedy names the package without CUDA.
func (p *Project) cpuRemedy(t torchBuild) string {
	version, _, _ := strings.Cut(t.Version, "+")
	if t.Pip {
		return p.wheelLines("cpu", "torch=="+version+"+cpu") + " have none"
	}
	return fmt.Sprintf(`"- pytorch=%s=*cpu*" has none`, firstTwo(version))
}

// torchLines are the file's lines that ask for torch.
func (p *Project) torchLines() []string {
	var lines []string
	for _, spec := range p.Environment.Conda {
		if slices.Contains(torchNames, spec.Name) {
			lines = append(lines, fmt.Sprintf("%s: %s", spec.Pos, spec))
		}
	}
	for _, section := range p.Environment.Pip {
		for _, r := range section.Requirements {
			if r.Name == "torch" {
				lines = append(lines, fmt.Sprintf("%s: %s", r.Pos, r.Text))
			}
		}
	}
	return lines
}
