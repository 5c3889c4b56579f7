package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"crun.dev/crun/build"
	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/internal/nvidia"
	"crun.dev/crun/profiles"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/monitor"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/precheck"
	"crun.dev/crun/run/record"
)

// job is a run that is ready to start.
type job struct {
	options   *runOptions
	plan      *plan.Plan
	engine    engine.Engine
	engineRef []byte            // what the record keeps of the engine
	secrets   map[string]string // values of plan.SecretEnv
	isDefault bool              // nobody named the profile
	home      string            // folder to make, or ""
	arch      string            // the image's
	imageSize int64             // bytes
	cgroups   int               // the engine's version of them
	share     bool              // the engine is on this machine
	api       string            // the version of its API
	// pythonPath are the folders of the project that the environment names
	// with -e.
	pythonPath []string
	warnings   []string
	found      []precheck.Finding // what is short, and no reason to refuse

	// leave ends this command's turn at choosing CPUs, where it has taken one.
	leave func()

	store  *record.Store
	client *monitor.Client // the run's monitor, nil with --dry-run
}

// prepare makes the plan of a run. What is wrong with the command line comes
// out before an engine is asked.
func (app *App) prepare(ctx context.Context, o *runOptions) (j *job, err error) {
	j = &job{options: o}
	if err := app.checkCommand(o); err != nil {
		return nil, err
	}
	profile, err := app.runProfile(j)
	if err != nil {
		return nil, err
	}
	request := plan.Request{
		Name: o.name, Profile: profile.Name, Origin: make(map[string]string),
		Command: o.command, Dir: app.Dir, Account: app.account(), Umask: umask(), Grace: o.grace, Restarts: o.restarts,
	}
	for field, source := range profile.Origin {
		request.Origin[field] = source.String()
	}
	if request.Project, err = app.findProject(o); err != nil {
		return nil, err
	}
	vars, err := app.runEnv(o, profile)
	if err != nil {
		return nil, err
	}
	request.Limits, request.Env, j.secrets = vars.limits, vars.env, vars.secrets
	if request.Ports, err = parsePorts(o.publish); err != nil {
		return nil, err
	}
	if request.Mounts, err = app.dataMounts(o); err != nil {
		return nil, err
	}
	request.ReadOnly = o.readOnly
	request.TTY, request.Interactive = app.streams(o)
	if profile.Home == nil || *profile.Home == profiles.HomeOwn {
		if request.HomeDir, err = app.ownHome(); err != nil {
			return nil, err
		}
		j.home = request.HomeDir
	}
	var random [3]byte
	rand.Read(random[:]) // never fails
	request.ID = plan.NewID(time.Now(), random)
	if request.Name == "" {
		request.Name = defaultName(o.command[0], request.ID)
	}
	if err := plan.ValidName(request.Name); err != nil {
		return nil, err
	}

	machine, err := config.Load(app.Getenv)
	if err != nil {
		return nil, err
	}
	if j.engine, j.engineRef, err = app.openEngine(ctx, machine); err != nil {
		return nil, err
	}
	begun := j // return nil, err sets j
	defer func() {
		if err != nil {
			begun.giveUp()
		}
	}()
	if !o.dryRun && o.bundle == "" {
		if err := app.spawn(j, request.ID); err != nil {
			return nil, err
		}
	}
	return j, app.finishPlan(ctx, j, &request, machine)
}

// finishPlan asks the engine for what a plan needs and makes it.
func (app *App) finishPlan(ctx context.Context, j *job, request *plan.Request, machine *config.Config) error {
	var facts engine.Facts
	var image engine.Image
	var ref string
	gpus := request.Limits.GPUs
	if gpus != nil && gpus.None {
		gpus = nil
	}
	var host *nvidia.Host
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) { facts, err = runFacts(gctx, j.engine, gpus != nil); return err })
	g.Go(func() (err error) { image, ref, err = app.runImage(gctx, j, request.Project, gpus != nil); return err })
	if gpus != nil {
		g.Go(func() error { host = app.nvidiaHost(gctx); return nil })
	}
	var running []engine.Container
	g.Go(func() error { running = runningRuns(gctx, j.engine); return nil })
	var unswept []error
	if j.store != nil { // as every command that looks at runs, in the engine's time to answer
		g.Go(func() error { unswept = monitor.Sweep(j.store); return nil })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, err := range unswept {
		app.warn(err.Error())
	}
	app.carryProxy(j, request, machine, facts)
	if w := loginWarning("", request.Account.User, facts); w != "" {
		j.warnings = append(j.warnings, w)
	}
	if gpus != nil && host != nil && !facts.Remote {
		warnings, err := checkGPUs(image, ref, gpus, host)
		if err != nil {
			return err
		}
		j.warnings = append(j.warnings, warnings...)
	}
	if err := app.showData(j, request, machine, facts); err != nil {
		return err
	}
	request.Host, request.Image = hostOf(facts, machine), imageFacts(ref, image)
	app.addPythonPath(j, request)
	if set := request.Limits.CPUSet; set != nil && *set == plan.AutoCPUSet {
		if err := app.freeCPUs(ctx, j, &request.Host, host); err != nil {
			return err
		}
	}
	made, warnings, err := plan.Make(*request)
	j.plan, j.warnings = made, append(j.warnings, warnings...)
	j.arch, j.share, j.api = cmp.Or(image.Architecture, facts.Arch), !facts.Remote, facts.APIVersion
	j.imageSize, j.cgroups = image.Size, facts.CgroupVersion
	if err != nil {
		return err
	}
	return app.precheck(j, machine, facts, running, host)
}

// runFacts asks for the facts of a run's engine: anew where the run has GPUs.
func runFacts(ctx context.Context, e engine.Engine, gpus bool) (engine.Facts, error) {
	if known, ok := e.(engine.Remembering); ok && !gpus {
		return known.KnownFacts(ctx)
	}
	return e.Facts(ctx)
}

// spawn starts the run's monitor, which gets ready while the engine is asked.
func (app *App) spawn(j *job, id string) (err error) {
	if j.store, err = app.openStore(); err != nil {
		return err
	}
	place, lock, err := j.store.Reserve(id)
	if err != nil {
		return err
	}
	if j.client, err = monitor.Start(place, lock); err != nil {
		j.store.Discard(id)
	}
	return err
}

// giveUp ends the job's monitor, which cleans up, and closes its engine.
func (j *job) giveUp() {
	j.leaveTurn()
	if j.client != nil {
		j.client.Abandon()
		for range j.client.Messages() {
		}
	}
	j.engine.Close()
}

// runProfile finds the profile and puts the flags' values into it.
func (app *App) runProfile(j *job) (*profiles.Profile, error) {
	set, warnings, err := app.loadProfiles()
	if err != nil {
		return nil, err
	}
	name := j.options.profile
	if name == "" {
		if name, _ = set.Default(); name == "" {
			return nil, fmt.Errorf("no profiles file has a default: name a profile with --profile (there are %s)", strings.Join(set.Names(), ", "))
		}
		j.isDefault = true
	}
	profile, err := set.Resolve(name)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		if w.Profile == "" || w.Profile == name {
			j.warnings = append(j.warnings, w.String())
		}
	}
	var errs []error
	for _, l := range j.options.limits {
		if err := profile.Override(l.field, l.value, profiles.Flag("--"+l.flag)); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	checked, err := profile.Check()
	if err != nil {
		return nil, err
	}
	for _, w := range checked {
		// What the files say by themselves has been said.
		if w.Source.Line == 0 {
			j.warnings = append(j.warnings, w.String())
		}
	}
	return profile, nil
}

// runImage finds the image to run in, and what people call it: the one that is
// named, or that of the project's environment, which is built if it has to be.
func (app *App) runImage(ctx context.Context, j *job, project string, gpus bool) (image engine.Image, ref string, err error) {
	if ref = j.options.image; ref != "" {
		image, err = j.engine.Image(ctx, ref)
		if errors.Is(err, engine.ErrNotFound) {
			err = fmt.Errorf("image %s is not on the engine: pull it (docker pull %s), or leave --image out to run in the project's environment", ref, ref)
		}
		return image, ref, err
	}
	built, err := app.environmentImage(ctx, j.options, project, gpus)
	j.pythonPath = built.PythonPath
	if err != nil || built.ID == "" {
		return engine.Image{}, "(not built yet)", err
	}
	image, err = j.engine.Image(ctx, built.ID)
	return image, cmp.Or(built.Tag, built.ID), err
}

// environmentImage gives the image of the project's environment. With
// --dry-run nothing is built, and one without an id stands for an image that
// would be. gpus says that the run has GPUs.
func (app *App) environmentImage(ctx context.Context, o *runOptions, project string, gpus bool) (build.Result, error) {
	file := cmp.Or(project, app.Dir)
	if o.file == "-" {
		return build.Result{}, errors.New("-f -: what a run reads from standard input is the script's own: write the environment into a file, or build it first and name the image with --image")
	} else if o.file != "" {
		file = app.abs(o.file)
	}
	if !o.dryRun {
		return app.ensureImage(ctx, file, o.lists, o.locked, gpus, o.skipChecks)
	}
	b, err := app.openBuild(ctx, buildOptions{file: file, lists: o.lists, progress: "quiet", gpus: gpus})
	if err != nil {
		return build.Result{}, err
	}
	result, reason, err := build.Find(ctx, b.engine, b.request.Project)
	if err == nil && o.locked {
		err = build.CheckLock(b.request.Project)
	}
	if err == nil && result.ID == "" {
		app.note("the image of %s would be built first: %s", b.request.Project.File, reason)
		result.PythonPath = b.request.Project.PythonPath()
	}
	return result, errors.Join(err, b.engine.Close())
}

// hostOf gives what a plan must know of the engine's host.
func hostOf(f engine.Facts, machine *config.Config) plan.Host {
	return plan.Host{
		Name: f.Endpoint, Arch: f.Arch, CPUs: f.CPUs, Memory: f.Memory, CgroupVersion: f.CgroupVersion,
		SwapLimit: f.SwapLimit, Swap: f.Swap, CannotLimit: f.CannotLimit, Rootless: f.Rootless, Remote: f.Remote,
		GPUDriver: f.GPUDriver, GPUDevices: f.GPUDevices, AMD: f.AMD, Podman: f.Name == "Podman", MaxRlimits: f.MaxRlimits, ScratchRoot: machine.Scratch,
	}
}

func imageFacts(ref string, image engine.Image) plan.ImageFacts {
	return plan.ImageFacts{
		Image:      plan.Image{Ref: ref, ID: image.ID, Lock: image.Labels["dev.crun.lock"], Torch: image.Labels["dev.crun.torch"]},
		Env:        image.Env,
		Entrypoint: image.Entrypoint,
		WorkingDir: image.WorkingDir,
		Arch:       image.Architecture,
	}
}

// defaultName names a run after its script and the random end of its id.
func defaultName(command, id string) string {
	base := strings.ToLower(strings.TrimSuffix(filepath.Base(command), ".py"))
	var b strings.Builder
	for _, r := range base {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := strings.Trim(b.String(), "-")
	if len(name) > 40 {
		name = strings.TrimRight(name[:40], "-")
	}
	if name == "" {
		name = "run"
	}
	return name + "-" + id[len(id)-4:]
}

// ownHome is the folder that is HOME in runs.
func (app *App) ownHome() (string, error) {
	cache, err := app.cacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "home"), nil
}

// cacheDir is crun's folder for what can be made again.
func (app *App) cacheDir() (string, error) {
	if dir := app.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "crun"), nil
	}
	home := app.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("no place for crun's cache: HOME is %q; set XDG_CACHE_HOME to a folder", home)
	}
	return filepath.Join(home, ".cache", "crun"), nil
}
