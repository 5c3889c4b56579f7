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
	"crun.dev/crun/internal/lazyregexp"
)

// NoSolutionError says that an environment's packages do not fit together.
type NoSolutionError struct {
	// File is the environment file.
	File string
	// Text is the solver's own.
	Text string
	// Lines are the file's that the text names: "environment.yml:6:5: pytorch=2.*".
	Lines []string
	// Remedy is what to do.
	Remedy string
}

func (e *NoSolutionError) Error() string {
	text := e.File + ": the packages have no solution:\n" + indent(e.Text)
	if len(e.Lines) > 0 {
		text += "\n" + strings.Join(e.Lines, "\n")
	}
	return text + "\n" + e.Remedy
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// solveContext is the Dockerfile that answers the project's request.
func (p *Project) solveContext(base string) (*dockerfiles.Context, error) {
	return dockerfiles.RenderSolve(dockerfiles.Solve{
		Base: base, ToolboxBase: p.Options.ToolboxBase, Request: encode(p.solveRequest()),
		CacheDomain: p.Options.CacheDomain,
	})
}

// solve chooses the project's packages.
func (b *builder) solve(ctx context.Context, base baseImage) (*lock.Lock, error) {
	p := b.project
	context, err := p.solveContext(from(base.Base))
	if err != nil {
		return nil, err
	}
	job := b.job("choosing the packages", context)
	job.Target = dockerfiles.StageSolution
	// What a channel serves may have changed since the last time.
	// The copy out of that stage too: its cache goes by what was asked alone.
	job.NoCacheStages = []string{dockerfiles.StageSolve, dockerfiles.StageSolution}
	resolve := ""
	if !base.known() {
		resolve = base.Reference
	}
	answer, s, err := b.ask(ctx, job, resolve)
	if err == nil && s.unreachable() {
		// A step's network can fail as a whole (no name is found, no
		// connection made) where the next step's works: once more.
		b.request.Notes("what the packages are chosen from cannot be reached: trying once more")
		answer, s, err = b.ask(ctx, job, resolve)
	}
	if err != nil {
		return nil, err
	}
	if s.Failure != nil {
		return nil, p.noSolution(s.Failure.Kind, s.Failure.Text)
	}
	for _, note := range s.Notes {
		b.request.Notes(note)
	}
	if resolve != "" && answer.Digest != "" {
		base.Digest = repository(base.Reference) + "@" + answer.Digest
	}
	return p.newLock(base.Base, s), nil
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

// unreachable tells whether a channel or an index did not answer.
func (s *solution) unreachable() bool {
	return s.Failure != nil && (s.Failure.Kind == "channel" || s.Failure.Kind == "index")
}

// newLock makes the lock of a solution.
func (p *Project) newLock(base lock.Base, s solution) *lock.Lock {
	l := &lock.Lock{
		Version: lock.Version, Key: p.Request.Key(), Platform: p.Options.Platform, Base: base,
		Virtual: s.Virtual, Channels: channelsOf(p.Environment), Request: p.Request,
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
	if len(s.Pip) > 0 {
		l.Indexes = s.Indexes
	}
	for _, d := range s.Pip {
		if d.URL == "" && !slices.Contains(l.Indexes, d.Index) {
			l.Indexes = append(l.Indexes, d.Index) // a page of links
		}
		l.Pip = append(l.Pip, lock.Distribution(d))
	}
	return l
}

var word = lazyregexp.New(`[A-Za-z0-9_][A-Za-z0-9_.-]*`)

// noSolution makes an error of a solver's text, with the lines that it is about.
func (p *Project) noSolution(kind, text string) error {
	if kind == "base" {
		return fmt.Errorf("%s: %s", p.Options.Base, text)
	}
	if what := map[string]string{
		"channel": "the packages of the channels cannot be listed",
		"index":   "the pip packages cannot be fetched",
	}[kind]; what != "" {
		return fmt.Errorf("%s: %s:\n%s\nare they reachable from the engine's host? config.yaml names mirrors and proxies",
			p.File, what, indent(environment.Redact(text)))
	}
	named := map[string]bool{}
	for _, w := range word.FindAllString(text, -1) {
		named[strings.ToLower(w)] = true
	}
	err := &NoSolutionError{File: p.File, Text: environment.Redact(text)}
	for _, spec := range p.Environment.Conda {
		if named[spec.Name] {
			err.Lines = append(err.Lines, fmt.Sprintf("%s: %s", spec.Pos, spec))
		}
	}
	err.Remedy = "change the versions, or add a channel that has them"
	if kind == "pip" {
		err.Remedy = "change the versions of these, or take the pip packages from conda"
		for _, section := range p.Environment.Pip {
			for _, r := range section.Requirements {
				if r.Name != "" && named[r.Name] {
					err.Lines = append(err.Lines, fmt.Sprintf("%s: %s", r.Pos, r.Text))
				}
			}
		}
	}
	return err
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
	return buildkit.Job{
		Title: title, Dockerfile: context.Dockerfile, Files: context.Files,
		Platform:    map[string]string{"linux-64": "linux/amd64", "linux-aarch64": "linux/arm64"}[p.Options.Platform],
		Secrets:     b.request.Sources.secrets(p.Environment),
		Proxy:       b.request.Sources.Proxy,
		HostNetwork: b.request.Sources.needsHostNetwork(p.Environment),
		Local:       b.local,
	}
}
