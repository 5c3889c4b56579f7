package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
)

// CheckMode says how much of an image is tried before it gets its name.
type CheckMode string

// The modes: nothing; imports, torch's libraries and a tensor from numpy; and
// two workers of a DataLoader as well.
const (
	CheckOff    CheckMode = "off"
	CheckImport CheckMode = "import"
	CheckFull   CheckMode = "full"
)

// CheckModes are all of them, as the command line writes them.
var CheckModes = []string{string(CheckOff), string(CheckImport), string(CheckFull)}

// checkRequest is what the check is asked, and the value of LabelCheck.
// dockerfiles/installer/check.py is the other side.
type checkRequest struct {
	Mode CheckMode `json:"mode,omitempty"`
	// Prefix is the environment's folder, "" for the one that the image's
	// variables lead to.
	Prefix string `json:"prefix,omitempty"`
	// Conda and Pip are the packages that somebody asked for. Everything asks
	// for what no other package needs, in their place.
	Conda      []string `json:"conda"`
	Pip        []string `json:"pip"`
	Everything bool     `json:"everything,omitempty"`
	// Overridden are packages whose versions were asked for against what others
	// need: that these disagree is no warning.
	Overridden []string `json:"overridden,omitempty"`
	// Must are the modules that have to work, beside torch and numpy.
	Must []string `json:"must"`
}

// checkRequest asks for what the file names.
func (p *Project) checkRequest(l *lock.Lock) checkRequest {
	request := p.checkLabel(l)
	request.Mode, request.Prefix = p.Options.CheckMode, p.Environment.EnvDir()
	if request.Mode == "" {
		request.Mode = CheckFull
	}
	return request
}

// checkLabel is what an image keeps of it, for a check at a later time.
func (p *Project) checkLabel(l *lock.Lock) checkRequest {
	request := checkRequest{Conda: []string{}, Pip: []string{}, Must: slices.Clone(p.Options.Check)}
	add := func(list *[]string, name string) {
		if name != "" && !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, spec := range p.Environment.Conda {
		add(&request.Conda, spec.Name)
	}
	nameless := false
	for _, section := range p.Environment.Pip {
		for _, r := range section.Requirements {
			add(&request.Pip, r.Name)
			switch r.Kind {
			case environment.PipPath, environment.PipURL, environment.PipVCS, environment.PipEditable:
				nameless = nameless || r.Name == ""
			}
		}
	}
	for _, d := range l.Pip {
		// A folder, an address or a repository may stand in the file without the
		// package's name, which the lock has.
		if nameless && (d.URL != "" || d.Path != "") && !d.Editable {
			add(&request.Pip, d.Name)
		}
	}
	for _, r := range p.Environment.Overrides {
		add(&request.Overridden, r.Name)
	}
	return request
}

// checkedAsAsked tells whether an image of the project's lock was checked for
// the modules that have to work now. One without the label says nothing.
func (p *Project) checkedAsAsked(image buildkit.Image) bool {
	var request checkRequest
	text := image.Labels[LabelCheck]
	return p.Options.CheckMode == CheckOff || text == "" || json.Unmarshal([]byte(text), &request) != nil || slices.Equal(request.Must, p.Options.Check)
}

// WarningsError says that warnings count as errors.
type WarningsError struct{ Lines []string }

func (e *WarningsError) Error() string {
	return strings.Join(e.Lines, "\n") + "\nwarnings count as errors here (--warnings-as-errors), and there " +
		map[bool]string{true: "is one", false: fmt.Sprintf("are %d", len(e.Lines))}[len(e.Lines) == 1]
}

// checked takes a check's report into the result, or refuses the image.
func (b *builder) checked(data []byte) error {
	report, err := parseReport(data)
	if err != nil {
		return err
	}
	b.report = report
	if p := b.project; report.Torch != nil && report.Torch.CUDA == "" && !p.target().IsZero() {
		// A build whose name did not tell.
		t := torchBuild{Version: report.Torch.Version, CPU: true}
		if locked, ok := torchOf(p.Lock); ok {
			t.Of, t.Build, t.Pip = locked.Of, locked.Build, locked.Pip
		}
		return p.refuseTorch(t)
	}
	warnings := report.Warnings()
	if b.request.WarningsAsErrors && len(warnings) > 0 {
		return &WarningsError{Lines: warnings}
	}
	for _, line := range warnings {
		b.request.Notes("warning: " + line)
	}
	if len(report.Modules) > 0 {
		b.request.Notes("checked: " + report.Summary())
	}
	return nil
}

// CheckImage checks the packages of any image that the engine has or can
// fetch: those that its environment file asked for, where crun built it, else
// all that no other package needs. toolbox is as in Options, platform too.
func CheckImage(ctx context.Context, solver Solver, images Images, name, toolbox, platform string, mode CheckMode, sources Sources) (*CheckReport, error) {
	b := &builder{images: images, request: Request{Sources: sources}}
	found, err := images.Image(ctx, name)
	missing := errors.Is(err, buildkit.ErrNoImage) // a registry may have it
	if err != nil && !missing {
		return nil, err
	}
	request := checkRequest{Everything: true, Conda: []string{}, Pip: []string{}, Must: []string{}}
	if text := found.Labels[LabelCheck]; text != "" {
		if err := json.Unmarshal([]byte(text), &request); err != nil {
			return nil, fmt.Errorf("the label %s of %s cannot be read: %w", LabelCheck, name, err)
		}
		request.Everything = false
	}
	request.Mode = mode
	context, err := dockerfiles.RenderCheck(dockerfiles.Check{Image: name, ToolboxBase: toolbox, Request: encode(request)})
	if err != nil {
		return nil, err
	}
	none := &environment.Environment{}
	job := buildkit.Job{
		Title: "checking " + name, Dockerfile: context.Dockerfile, Files: context.Files, Platform: platforms[platform],
		Target: dockerfiles.StageCheck, Anew: true,
		Secrets: sources.secrets(none), Hidden: sources.file(none).Hidden,
		Proxy: sources.Proxy, HostNetwork: sources.needsHostNetwork(none),
	}
	if job.Local, err = b.localImages(ctx, name, toolbox); err != nil {
		return nil, err
	}
	job.Mirrors = b.mirrors(context.Dockerfile)
	answer, err := solver.File(ctx, job, dockerfiles.ReportFile, "")
	if err != nil && missing {
		return nil, fmt.Errorf("%w\nthe engine itself has no image %s; \"crun images\" lists those that crun has built", err, name)
	} else if err != nil {
		return nil, err
	}
	return parseReport(answer.Data)
}
