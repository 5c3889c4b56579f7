package build

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
)

// solveContext is the Dockerfile that chooses the project's conda packages.
func (p *Project) solveContext(base string, k kept) (*dockerfiles.Context, error) {
	return p.renderSolve(base, p.solveRequest(k))
}

func (p *Project) renderSolve(base string, request solveRequest) (*dockerfiles.Context, error) {
	return dockerfiles.RenderSolve(p.solveInput(base, encode(request)))
}

// solveInput is what every Dockerfile that asks something is written from.
func (p *Project) solveInput(base string, request []byte) dockerfiles.Solve {
	return dockerfiles.Solve{Base: base, ToolboxBase: p.Options.ToolboxBase, Request: request, CacheDomain: p.Options.CacheDomain}
}

// pipContext is the Dockerfile that chooses the pip packages around the conda
// packages of l. It starts from the image's own layers of these: they are
// built once, or lie in the cache.
func (p *Project) pipContext(l *lock.Lock, k kept) (*dockerfiles.Context, error) {
	// How the conda packages are divided goes by the pip packages to come too.
	expected := *l
	expected.Pip = slices.Clone(k.distributions)
	for _, section := range p.Environment.Pip {
		for _, r := range section.Requirements {
			if r.Kind == environment.PipPackage {
				expected.Pip = append(expected.Pip, lock.Distribution{Name: r.Name})
			}
		}
	}
	image := p.image(&expected)
	image.Layers = slices.DeleteFunc(image.Layers, func(layer dockerfiles.Layer) bool {
		return layer.Kind != dockerfiles.KindConda && layer.Kind != dockerfiles.KindApt
	})
	_, image.Local = p.localSources()
	return dockerfiles.RenderSolvePip(image, encode(p.pipRequest(k)))
}

// solve chooses the project's packages: those that update names anew, and of
// the others what the old lock does not have or what does not fit any more.
func (b *builder) solve(ctx context.Context, found baseImage, update Update) (*lock.Lock, error) {
	l, err := b.solveAll(ctx, found, update)
	if err != nil {
		return nil, err
	}
	note, err := b.project.checkTarget(l)
	if note != "" {
		b.request.Notes(note)
	}
	return l, err
}

func (b *builder) solveAll(ctx context.Context, found baseImage, update Update) (*lock.Lock, error) {
	p := b.project
	base := p.baseOf(found, update)
	k := p.keep(base.Base, update)
	l := p.newLock(base.Base)
	if k.conda && p.given == nil && p.Request.SameBase(p.Lock.Request) {
		if settled, err := b.solveAbove(ctx, l, k); err != nil || settled {
			return l, err
		}
		l = p.newLock(base.Base)
	}
	facts, err := b.lookAtBase(ctx, l)
	if err != nil {
		return nil, err
	}
	if len(p.Options.Apt) > 0 && (p.Lock == nil || !slices.Equal(sortedSet(p.Options.Apt), sortedSet(p.Lock.Request.Apt))) {
		// A slip in a name is told before anything is downloaded.
		if err := b.solveApt(ctx, l, p.Options.Apt, update); err != nil {
			return nil, err
		}
	}
	if p.given != nil {
		l.Python, l.Conda, l.Indexes, l.Pip = p.given.Python, p.given.Conda, p.given.Indexes, p.given.Pip
		return l, b.addCompiler(ctx, l, facts, update)
	}
	if k.conda {
		l.Python, l.Virtual, l.Miniconda, l.Conda = p.Lock.Python, p.Lock.Virtual, p.Lock.Miniconda, p.Lock.Conda
	} else if err := b.solveConda(ctx, l, k); err != nil {
		return nil, err
	}
	if _, err := p.checkTarget(l); err != nil && !p.pipBringsTorch() {
		return nil, err // before any of it is fetched
	}
	if k.pip {
		l.Indexes, l.Pip, l.Toolchain = p.Lock.Indexes, p.Lock.Pip, p.Lock.Toolchain
		return l, b.addCompiler(ctx, l, facts, update)
	}
	// pip packages are chosen on the image's own layers, the compiler's among them.
	if err := b.addCompiler(ctx, l, facts, update); err != nil {
		return nil, err
	}
	expected := p.needsCompiler(l)
	if err := b.solvePip(ctx, l, k); err != nil {
		return nil, err
	}
	if len(l.Pip) > 0 && p.needsCompiler(l) != expected {
		if err := b.addCompiler(ctx, l, facts, update); err != nil {
			return nil, err
		}
	}
	return l, b.addToolchain(ctx, l, k, func() (baseFacts, error) { return facts, nil })
}

// solveAbove chooses the pip packages on what the old lock has below them: its
// base, apt and conda packages, about which nobody is asked (but where a package
// that is new is compiled for CUDA). It gives false where the pip packages decide otherwise about a compiler.
func (b *builder) solveAbove(ctx context.Context, l *lock.Lock, k kept) (bool, error) {
	old := b.project.Lock
	l.Python, l.Virtual, l.Miniconda, l.Conda, l.Apt, l.Compiler = old.Python, old.Virtual, old.Miniconda, old.Conda, old.Apt, old.Compiler
	if k.pip {
		l.Indexes, l.Pip, l.Toolchain = old.Indexes, old.Pip, old.Toolchain
		return true, nil
	}
	if err := b.solvePip(ctx, l, k); err != nil {
		return false, err
	}
	if b.project.needsCompiler(l) != (old.Compiler != "") {
		return false, nil
	}
	return true, b.addToolchain(ctx, l, k, func() (baseFacts, error) { return b.lookAtBase(ctx, l) })
}

// solveConda puts the conda packages into l.
func (b *builder) solveConda(ctx context.Context, l *lock.Lock, k kept) error {
	context, err := b.project.solveContext(from(l.Base), k)
	if err != nil {
		return err
	}
	_, s, err := b.choose(ctx, "choosing the packages", context, "")
	if err != nil {
		return err
	}
	takeConda(l, s)
	return nil
}

// solvePip puts the pip packages into l, around its conda packages.
func (b *builder) solvePip(ctx context.Context, l *lock.Lock, k kept) error {
	p := b.project
	if len(pipPackages(b.project.Environment)) == 0 {
		return nil
	}
	context, err := b.project.pipContext(l, k)
	if err != nil {
		return err
	}
	_, s, err := b.choose(ctx, "choosing the pip packages", context, "")
	if err != nil {
		return err
	}
	takePip(l, s)
	for _, d := range l.Pip {
		if err := d.Check(); err != nil && d.URL != "" {
			return fmt.Errorf("%s: %s, which a folder or another package asks for, %w\n"+
				"take the secret out of the address there, and give a login by ~/.netrc or --secret id=netrc",
				p.File, d.Name, err)
		}
	}
	return nil
}

// choose asks the stage StageSolve of context and says what it notes.
func (b *builder) choose(ctx context.Context, title string, context *dockerfiles.Context, resolve string) (buildkit.Answer, solution, error) {
	job := b.job(title, context)
	job.Target = dockerfiles.StageSolve
	// What a channel serves may have changed since the last time.
	job.Anew = true
	answer, s, err := b.ask(ctx, job, resolve)
	if err == nil && s.unreachable() {
		// A step's network can fail as a whole (no name is found, no
		// connection made) where the next step's works: once more.
		b.request.Notes("what the packages are chosen from cannot be reached: trying once more")
		answer, s, err = b.ask(ctx, job, resolve)
	}
	if err != nil {
		return answer, s, err
	}
	if s.Failure != nil && (s.Failure.Kind == "channel" || s.Failure.Kind == "index") {
		return answer, s, b.unreachable(s.Failure.Kind, s.Failure.Text)
	}
	if s.Failure != nil {
		return answer, s, b.project.noSolution(*s.Failure)
	}
	for _, note := range s.Notes {
		b.request.Notes(note)
	}
	return answer, s, nil
}

// ask runs the solve's step and reads its answer.
func (b *builder) ask(ctx context.Context, job buildkit.Job, resolve string) (answer buildkit.Answer, s solution, err error) {
	if answer, err = b.solver.File(ctx, job, dockerfiles.SolutionFile, resolve); err != nil {
		return answer, s, err
	}
	if err := json.Unmarshal(answer.Data, &s); err != nil {
		return answer, s, fmt.Errorf("choosing the packages: the answer cannot be read: %w", err)
	}
	return answer, s, nil
}

// unreachable tells whether a channel, an index or the base image's package
// archives did not answer at once. One that refuses does answer.
func (s *solution) unreachable() bool {
	if s.Failure == nil || s.Failure.Late || strings.Contains(s.Failure.Text, "HTTP status ") {
		return false
	}
	return slices.Contains([]string{"channel", "index", "archive"}, s.Failure.Kind)
}

// newLock is the lock of the project's request, without packages.
func (p *Project) newLock(base lock.Base) *lock.Lock {
	return &lock.Lock{
		Version: lock.Version, Key: p.Request.Key(), Platform: p.Options.Platform, Base: base,
		Channels: channelsOf(p.Environment), Request: p.Request,
	}
}

// takeConda puts the conda packages of a solution into l.
func takeConda(l *lock.Lock, s solution) {
	l.Virtual = s.Virtual
	// A name that stands for several channels here is locked as those.
	for _, c := range slices.Concat(s.Miniconda, s.Conda) {
		if c.Channel != "" && !slices.Contains(l.Channels, c.Channel) {
			l.Channels = append(l.Channels, c.Channel)
		}
	}
	for _, c := range s.Miniconda {
		l.Miniconda = append(l.Miniconda, lock.Package(c))
	}
	for _, c := range s.Conda {
		l.Conda = append(l.Conda, lock.Package(c))
		if c.Name == "python" {
			l.Python = c.Version
		}
	}
}

// takePip puts the pip packages of a solution into l.
func takePip(l *lock.Lock, s solution) {
	if len(s.Pip) > 0 {
		l.Indexes = s.Indexes
	}
	for _, d := range s.Pip {
		if d.URL == "" && d.Path == "" && !slices.Contains(l.Indexes, d.Index) {
			l.Indexes = append(l.Indexes, d.Index) // a page of links
		}
		l.Pip = append(l.Pip, lock.Distribution(d))
	}
}

// repository is a reference without tag and digest.
func repository(reference string) string {
	name, _, _ := strings.Cut(reference, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	return name
}

// job is what all builds of the project share.
func (b *builder) job(title string, context *dockerfiles.Context) buildkit.Job {
	p := b.project
	secrets := b.request.Sources.secrets(p.Environment)
	if b.request.Limits != (Limits{}) {
		secrets[dockerfiles.SecretLimits] = encode(b.request.Limits)
	}
	return buildkit.Job{
		Title: title, Dockerfile: context.Dockerfile, Files: context.Files,
		Platform:    platforms[p.Options.Platform],
		Secrets:     secrets,
		Proxy:       b.request.Sources.Proxy,
		HostNetwork: b.request.Sources.needsHostNetwork(p.Environment),
		Hidden:      b.request.Sources.file(p.Environment).Hidden,
		Mirrors:     b.mirrors(context.Dockerfile),
		Local:       b.local,
	}
}
