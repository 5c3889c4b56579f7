package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"crun.dev/crun/build"
	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/environment"
	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/run/precheck"
)

// pendingBuild is a build with all that it needs.
type pendingBuild struct {
	request build.Request
	engine  *buildkit.Engine
	options buildkit.Options
	// warn prints what is worth saying before a build, and not at each run.
	warn func()
	// platform is the one that was asked for, or "" for the engine's.
	platform string
}

// openBuild reads the project and the machine's configuration. It connects to
// nothing but an engine on another machine, whose architecture it asks for.
func (app *App) openBuild(ctx context.Context, o buildOptions) (b *pendingBuild, err error) {
	cfg, err := config.Load(app.Getenv)
	if err != nil {
		return nil, err
	}
	path := o.file
	if path == "" {
		path = "."
	}
	if path != "-" {
		path = app.rel(path)
	}
	file, err := build.FindFile(path)
	if err != nil {
		return nil, err
	}
	engine, err := app.buildEngine(cfg)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = engine.Close()
		}
	}()
	platform, err := app.platform(ctx, engine, o.platform, o.dryRun)
	if err != nil {
		return nil, err
	}
	from, to, err := o.caches(app.Dir)
	if err != nil {
		return nil, err
	}
	section, warnings, err := app.buildSection(file)
	if err != nil {
		return nil, err
	}
	cuda := firstOf(o.cuda, section.CUDA)
	if cuda == "" && o.gpus {
		cuda = build.CUDAAuto
	}
	hostCUDA := ""
	if cuda == build.CUDAAuto && !engine.Remote() {
		hostCUDA = app.hostCUDA(ctx)
	}
	project, err := app.openProject(ctx, file, build.Options{
		Base: firstOf(o.base, section.Base, cfg.Base, build.DefaultBase), ToolboxBase: firstOf(cfg.ToolboxBase, build.DefaultBase),
		Python: o.python, ProjectExtras: o.lists.extras, Groups: o.lists.groups, Platform: platform, Miniconda: true,
		Extras:      build.Extras{Apt: section.Apt, AptPlace: section.Origin["apt"].String(), Compiler: section.Compiler, CUDA: cuda, Check: section.Check},
		CacheDomain: cfg.CacheDomain, CheckMode: build.CheckMode(o.checkMode), HostCUDA: hostCUDA,
	})
	if err != nil {
		return nil, err
	}
	withDockerProxy(cfg, engine.Host())
	sources, err := app.sourcesOf(cfg, o.secrets)
	if err != nil {
		return nil, err
	}
	app.dropLocalProxy(&sources, engine.Remote())
	options := app.buildkitOptions(o.progress)
	options.CacheFrom, options.CacheTo = from, to
	sources.Terminal = options.Progress == "tty" || options.Progress == "auto" && terminal(app.Err) != nil
	return &pendingBuild{
		engine: engine,
		warn: func() {
			for _, w := range warnings {
				app.warnProfile(w)
			}
		},
		platform: o.platform,
		request: build.Request{Project: project, Names: append(o.names, o.push...), Again: len(to) > 0, NoCache: o.noCache, Locked: o.locked,
			Sources: sources, Notes: options.Notes, WarningsAsErrors: o.warningsAsErrors,
			Room: roomOf(engine, append(slices.Clone(cfg.Checks.Skip), o.skipChecks...)), Limits: build.Limits{Memory: section.Memory, CPUs: section.CPUs}},
		options: options,
	}, nil
}

// roomOf asks for the space on the engine's disk, unless that check is skipped.
func roomOf(engine *buildkit.Engine, skip []string) func(context.Context) (buildkit.Room, error) {
	if slices.Contains(skip, precheck.Disk) || slices.Contains(skip, precheck.All) {
		return nil
	}
	return engine.Room
}

// buildkitOptions are the caller's own about BuildKit.
func (app *App) buildkitOptions(progress string) buildkit.Options {
	if app.Quiet {
		progress = "quiet"
	} else if value := app.Getenv("BUILDKIT_PROGRESS"); progress == "auto" && slices.Contains(buildkit.Modes, value) {
		progress = value // as for docker build
	}
	return buildkit.Options{
		Address: app.Getenv("BUILDKIT_HOST"), Progress: progress, Out: app.Err,
		Notes: func(text string) { app.note("%s", text) },
	}
}

func (b *pendingBuild) run(ctx context.Context) (build.Result, error) {
	b.warn()
	solver := buildkit.New(b.engine, b.options)
	var result build.Result
	err := solver.Check(ctx, b.options.CacheFrom, b.options.CacheTo, b.platform)
	if err == nil {
		result, err = build.Build(ctx, solver, b.engine, b.request)
	}
	_, _ = solver.Close(), b.engine.Close()
	if errors.Is(err, context.Canceled) {
		err = interruptedBuild{err}
	}
	return result, err
}

// interruptedBuild is a build that Ctrl-C has ended.
type interruptedBuild struct{ error }

func (interruptedBuild) Error() string {
	return "interrupted: the build has ended; what was finished of it is kept for the next one"
}
func (e interruptedBuild) Unwrap() error { return e.error }

// buildEngine is a client of the engine that images are built for.
func (app *App) buildEngine(cfg *config.Config) (*buildkit.Engine, error) {
	found, err := app.findEndpoint(cfg)
	if err != nil {
		return nil, err
	}
	return buildkit.NewEngine(found)
}

// platform is the one that images are made for, by conda's name: the engine's.
// An engine on this machine has this machine's; another is asked, which for
// dryRun alone need not succeed. asked is linux/amd64, linux/arm64 or "".
func (app *App) platform(ctx context.Context, engine *buildkit.Engine, asked string, dryRun bool) (string, error) {
	arch := runtime.GOARCH
	if asked != "" {
		arch = strings.TrimPrefix(asked, "linux/")
	} else if engine.Remote() {
		asked, err := engine.Arch(ctx)
		switch {
		case err == nil:
			arch = asked
		case !dryRun:
			return "", err
		default:
			app.note("taking this machine's architecture, %s, for the engine's: %v", arch, err)
		}
	}
	switch arch {
	case "amd64":
		return "linux-64", nil
	case "arm64":
		return "linux-aarch64", nil
	}
	return "", fmt.Errorf("the engine is on a machine of the architecture %s; crun builds for amd64 and arm64", arch)
}

// openProject reads an environment from a file, or from standard input.
func (app *App) openProject(ctx context.Context, file string, options build.Options) (*build.Project, error) {
	if file != environment.Stdin {
		return build.Open(file, options)
	}
	text, err := app.readInput(ctx)
	if err != nil {
		return nil, err
	}
	return build.OpenText(text, file, options)
}
