package build

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
	"crun.dev/crun/internal/turn"
)

// Request is what to build.
type Request struct {
	Project *Project
	// Names are further names for the image.
	Names []string
	// Again builds also where the engine has the image: for the cache of the
	// build, which is brought elsewhere. The packages stay.
	Again bool
	// NoCache chooses the packages anew, all of them, and builds every step.
	NoCache bool
	// Locked takes the packages from the lock or fails with an OutdatedError:
	// nothing is chosen.
	Locked  bool
	Sources Sources
	// Limits bound the steps. They decide nothing about the image.
	Limits Limits
	// Notes gets single lines that are worth a person's attention.
	Notes func(string)
	// WarningsAsErrors makes no image of a check that ends with warnings, and
	// checks one that is there already.
	WarningsAsErrors bool
	// Room asks how much space the engine's disk has, or is nil.
	Room func(context.Context) (buildkit.Room, error)
	// Said is the reason from Use that the caller has told already, or "":
	// there is no need to look again before the build has its turn.
	Said string
}

// Limits bound what a step may take of the engine's host.
type Limits struct {
	// Memory is in bytes, CPUs whole ones; 0 is no bound.
	Memory int64 `json:"memory"`
	CPUs   int   `json:"cpus"`
}

// Result is an image.
type Result struct {
	// ID is the engine's.
	ID string `json:"id"`
	// Tag is crun/NAME:LOCK12; Names are all that the image was given.
	Tag   string   `json:"tag"`
	Names []string `json:"names"`
	// Lock is the digest of crun.lock, LockFile the file.
	Lock     string `json:"lock"`
	LockFile string `json:"lock_file"`
	// PythonPath are folders, absolute, whose packages a run imports from the
	// project itself ("-e ."): the image has what they need alone.
	PythonPath []string `json:"python_path,omitempty"`
	// Built tells whether anything was built; false means that the image was
	// there.
	Built bool `json:"built"`
	// Check is what came of the check of an image that was built now.
	Check *CheckReport `json:"check,omitempty"`
}

// builder is one Build.
type builder struct {
	project *Project
	request Request
	solver  Solver
	images  Images
	// aptRenewed tells that the lock's apt packages have been chosen anew.
	aptRenewed bool
	// tags are those of the image that find found.
	tags []string
	// local are images that only the engine has.
	local []string
	// missing are the repositories of images that the engine does not have.
	missing []string
	// asked holds what a registry has said of a digest.
	asked map[string]bool
	// report is that of the check.
	report *CheckReport
}

// Build gives the image of the request's project, and makes it where the
// engine has none. It writes the project's lock as soon as the packages are
// chosen: they are, also where the image then cannot be built.
//
// Two builds of one project take turns; the second one finds what the first
// has made.
func Build(ctx context.Context, solver Solver, images Images, request Request) (Result, error) {
	if request.Notes == nil {
		request.Notes = func(string) {}
	}
	b := &builder{project: request.Project, request: request, solver: solver, images: images}
	if request.Locked {
		base, err := b.base(ctx)
		if err := errors.Join(err, request.Project.fits(base)); err != nil {
			return Result{}, err
		}
	}
	if !request.NoCache && !request.WarningsAsErrors && !request.Again && request.Said == "" {
		if result, _, err := b.find(ctx); err != nil || result.ID != "" {
			return result, errors.Join(err, b.name(ctx, result))
		}
	}
	unlock, err := turn.Take(ctx, filepath.Dir(request.Project.LockFile), func() {
		request.Notes("another crun build is at work on " + request.Project.LockFile + ": waiting for it")
	})
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	return b.build(ctx)
}

// Find looks for the image of a project that is built already, and changes
// nothing. Where there is none the Result is empty and reason says why, in a
// few words.
func Find(ctx context.Context, images Images, project *Project) (result Result, reason string, err error) {
	b := &builder{project: project, request: Request{Notes: func(string) {}}, images: images}
	return b.find(ctx)
}

// Use is Find for an image that is to be used: it gets the project's name for
// it, should it have none.
func Use(ctx context.Context, images Images, project *Project) (result Result, reason string, err error) {
	b := &builder{project: project, request: Request{Notes: func(string) {}}, images: images}
	if result, reason, err = b.find(ctx); err == nil {
		err = b.name(ctx, result)
	}
	return result, reason, err
}

func (b *builder) find(ctx context.Context) (Result, string, error) {
	p := b.project
	if p.LockError != nil {
		// Nothing that people have in git is written over unasked.
		return Result{}, "", fmt.Errorf("%w; --no-cache chooses the packages anew and writes the file again", p.LockError)
	}
	base, err := b.base(ctx)
	if err != nil {
		return Result{}, "", err
	}
	if reason := p.outdated(base); reason != "" {
		return Result{}, reason, nil
	}
	digest := p.Lock.Digest()
	found, err := b.images.ImagesByLabel(ctx, LabelLock, digest)
	if err != nil {
		return Result{}, "", err
	}
	if len(found) == 0 {
		return Result{}, "the engine has no image of " + p.LockFile, nil
	}
	found = slices.DeleteFunc(found, func(image buildkit.Image) bool { return !p.checkedAsAsked(image) })
	if len(found) == 0 {
		return Result{}, "build.check has changed", nil
	}
	b.tags = found[0].Tags
	return b.result(found[0].ID, digest), "", nil
}

// name gives an image that was found the names that it lacks.
func (b *builder) name(ctx context.Context, result Result) error {
	if result.ID == "" {
		return nil
	}
	for _, name := range b.names(b.project.Lock.Digest()) {
		if !slices.Contains(b.tags, name) {
			if err := b.images.Tag(ctx, result.ID, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// outdated says why the lock is not the one of the files here, or "".
func (p *Project) outdated(base baseImage) string {
	switch {
	case p.Lock == nil:
		if p.LockFile == "" {
			return "an environment from standard input has no lock"
		}
		if p.LockError != nil {
			return p.LockFile + " cannot be read"
		}
		if len(p.otherPlatforms) > 0 {
			return fmt.Sprintf("%s has packages for %s, and none for %s", p.LockFile, strings.Join(p.otherPlatforms, ", "), p.Options.Platform)
		}
		return "there is no " + p.LockFile
	case p.Lock.Key != p.Request.Key():
		if changed := lock.Explain(p.Lock.Request, p.Request); changed != "" {
			return changed
		}
		return p.File + " has changed"
	case p.Lock.Base.ImageID != "" && base.ImageID != "" && base.ImageID != p.Lock.Base.ImageID:
		return "the base image " + p.Options.Base + " has changed"
	}
	return ""
}

func (b *builder) build(ctx context.Context) (Result, error) {
	p, request := b.project, b.request
	base, err := b.base(ctx)
	if err != nil {
		return Result{}, err
	}
	if !request.NoCache {
		// Another build may have done it all while this one waited.
		p.readLock()
		if result, _, err := b.find(ctx); err != nil || result.ID != "" && !request.WarningsAsErrors && !request.Again {
			return result, errors.Join(err, b.name(ctx, result))
		}
	}
	if err := b.prepare(ctx); err != nil {
		return Result{}, err
	}
	if reason := p.outdated(base); request.Locked {
		if err := p.fits(base); err != nil {
			return Result{}, err
		}
	} else if reason != "" || request.NoCache {
		if reason == "" {
			reason = "--no-cache"
		}
		if (p.Lock != nil || p.LockError != nil || len(p.otherPlatforms) > 0) && reason != request.Said {
			request.Notes("choosing the packages anew: " + reason)
		}
		solved, err := b.solve(ctx, base, Update{All: request.NoCache})
		if err != nil {
			return Result{}, err
		}
		if err := b.writeLock(solved); err != nil {
			return Result{}, err
		}
	}
	return b.image(ctx)
}

// writeLock makes l the project's lock. A folder that is not the caller's to
// write can be built, and run, all the same.
func (b *builder) writeLock(l *lock.Lock) error {
	err := b.project.writeLock(l)
	var unwritten unwrittenLock
	if errors.As(err, &unwritten) {
		b.request.Notes(unwritten.Error() + ": the next build chooses the packages again")
		return nil
	}
	b.noteOtherPlatforms()
	return err
}

// noteOtherPlatforms tells of platforms whose packages are of another state of
// the files: choosing theirs takes a builder that can run their programs.
func (b *builder) noteOtherPlatforms() {
	for _, platform := range b.project.otherPlatforms {
		options := b.project.Options
		options.Platform = platform
		other, err := Open(b.project.File, options)
		if err != nil || CheckLock(other) != nil {
			b.request.Notes(fmt.Sprintf("%s: the packages for %s are those of another state of %s: crun lock --platform %s brings them up to date",
				b.project.LockFile, platform, b.project.File, platforms[platform]))
		}
	}
}

// image builds the image of the project's lock.
func (b *builder) image(ctx context.Context) (Result, error) {
	p := b.project
	if err := b.room(ctx, p.Lock); err != nil {
		return Result{}, err
	}
	digest := p.Lock.Digest()
	context, err := dockerfiles.RenderImage(p.image(p.Lock))
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", p.File, err)
	}
	b.announce(p.Lock)
	job := b.job("building the image", context)
	job.Target = dockerfiles.StageImage
	if p.Options.CheckMode != CheckOff {
		job.Check, job.CheckFile, job.Checked = dockerfiles.StageCheck, dockerfiles.ReportFile, b.checked
	}
	job.NoCache = b.request.NoCache
	id, err := b.solver.Image(ctx, job, b.names(digest))
	if gone := aptGone(err); gone != "" && !b.aptRenewed {
		b.aptRenewed = true
		if err := b.renewApt(ctx, gone); err != nil {
			return Result{}, err
		}
		return b.image(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	if made, err := b.images.Image(ctx, id); err == nil && made.Labels[LabelLock] != digest {
		return Result{}, fmt.Errorf("the engine made an image of another lock, %q, than %s: build again with --no-cache", made.Labels[LabelLock], p.LockFile)
	}
	result := b.result(id, digest)
	result.Built, result.Check = true, b.report
	return result, nil
}

// names are all names of the image of a lock, ours first.
func (b *builder) names(digest string) []string {
	return append([]string{b.project.Tag(digest)}, b.request.Names...)
}

func (b *builder) result(id, digest string) Result {
	names := b.names(digest)
	return Result{ID: id, Tag: names[0], Names: names, Lock: digest, LockFile: b.project.LockFile, PythonPath: b.project.PythonPath()}
}

// baseImage is the base image as the engine knows it.
type baseImage struct {
	lock.Base
}

// base looks the base image up.
func (b *builder) base(ctx context.Context) (baseImage, error) {
	name := b.project.Options.Base
	base := baseImage{lock.Base{Reference: name}}
	found, err := b.images.Image(ctx, name)
	if errors.Is(err, buildkit.ErrNoImage) {
		return base, nil // BuildKit fetches it
	} else if err != nil {
		return base, err
	}
	if err := b.project.checkPlatform(found); err != nil {
		return base, err
	}
	base.User = notRoot(found.User)
	for _, digest := range found.Digests {
		if sameRepository(digest, name) && b.published(ctx, found, digest) {
			base.Digest = repository(name) + digest[len(repository(digest)):]
			return base, nil
		}
	}
	base.ImageID = found.ID
	return base, nil
}

// registryPatience is how long a registry is waited for that has to say whether
// it has an image.
const registryPatience = 10 * time.Second

// published tells whether a registry has the digest. Where the engine's word is
// not enough, what a lock has of the same image holds, and the registry is asked
// once, for the first.
func (b *builder) published(ctx context.Context, found buildkit.Image, digest string) bool {
	if !found.OwnDigests {
		return true
	}
	if l := b.project.Lock; l != nil && strings.HasSuffix(digest, "@"+found.ID) {
		if l.Base.ImageID == found.ID || strings.HasSuffix(l.Base.Digest, "@"+found.ID) {
			return l.Base.ImageID == ""
		}
	}
	has, known := b.asked[digest]
	if !known {
		ctx, cancel := context.WithTimeout(ctx, registryPatience)
		defer cancel()
		has = b.images.Reach(ctx, digest) == nil
		b.asked = map[string]bool{digest: has}
	}
	return has
}

// localImages are those of names that the engine has and no registry.
func (b *builder) localImages(ctx context.Context, names ...string) ([]string, error) {
	var local []string
	for _, name := range names {
		found, err := b.images.Image(ctx, name)
		if errors.Is(err, buildkit.ErrNoImage) {
			continue
		} else if err != nil {
			return nil, err
		}
		if (len(found.Digests) == 0 || found.OwnDigests) && !slices.Contains(local, name) {
			local = append(local, name)
		}
	}
	return local, nil
}

func sameRepository(a, b string) bool {
	return familiar(repository(a)) == familiar(repository(b))
}

// familiar takes off what Docker adds to a name without a registry.
func familiar(name string) string {
	for _, prefix := range []string{"docker.io/library/", "docker.io/", "library/"} {
		if len(name) > len(prefix) && name[:len(prefix)] == prefix {
			return name[len(prefix):]
		}
	}
	return name
}
