package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"crun.dev/crun/build/lock"
	"crun.dev/crun/internal/turn"
)

// OutdatedError says that a lock is not the one of the files beside it, where
// only the lock's packages may be used.
type OutdatedError struct {
	// File is the environment file, LockFile its lock.
	File, LockFile string
	// Reason is what differs, in one line.
	Reason string
	// Platform is Docker's name of the platform where the lock holds others, else "".
	Platform string
	// Compared tells that the two were to be compared and nothing else.
	Compared bool
}

func (e *OutdatedError) Error() string {
	if e.LockFile == "" {
		return fmt.Sprintf("%s: %s: leave --locked out", e.File, e.Reason)
	}
	flag := ""
	if e.Platform != "" {
		flag = "--platform " + e.Platform + " "
	}
	text := fmt.Sprintf("%s is not the lock of %s: %s\nrun \"crun lock %s%s\" and commit %s", e.LockFile, e.File, e.Reason, flag, e.File, e.LockFile)
	if e.Compared {
		return text
	}
	return text + ", or leave --locked out"
}

// fits is nil where the lock is that of the files and of base, else an
// OutdatedError.
func (p *Project) fits(base baseImage) error {
	reason := p.outdated(base)
	if p.LockError != nil {
		reason = p.LockError.Error()
	}
	if reason == "" {
		return nil
	}
	outdated := &OutdatedError{File: p.File, LockFile: p.LockFile, Reason: reason}
	if len(p.otherPlatforms) > 0 {
		outdated.Platform = platforms[p.Options.Platform]
	}
	return outdated
}

// CheckLock is nil where the project's lock is that of its files, else an
// OutdatedError. Nobody is asked, so a base image that only the engine has is
// not compared.
func CheckLock(project *Project) error {
	err := project.fits(baseImage{})
	if outdated := (*OutdatedError)(nil); errors.As(err, &outdated) {
		outdated.Compared = true
	}
	return err
}

// Relocked is what Relock has done.
type Relocked struct {
	// Old is the lock that was there, or nil; New the one that is.
	Old, New *lock.Lock
	// Reason says why packages were chosen; "" means that the lock was the one
	// of the files and nothing was asked for anew.
	Reason string
}

// Relock brings the lock of the request's project up to date and builds no
// image. What update names is chosen anew, and of the rest as little as
// possible.
func Relock(ctx context.Context, solver Solver, images Images, request Request, update Update) (Relocked, error) {
	if request.Notes == nil {
		request.Notes = func(string) {}
	}
	p := request.Project
	if p.LockFile == "" {
		return Relocked{}, fmt.Errorf("%s has no place for a lock: write the environment into a file", p.File)
	}
	b := &builder{project: p, request: request, solver: solver, images: images}
	unlock, err := turn.Take(ctx, filepath.Dir(p.LockFile), func() {
		request.Notes("another crun build is at work on " + p.LockFile + ": waiting for it")
	})
	if err != nil {
		return Relocked{}, err
	}
	defer unlock()
	p.readLock()
	if p.LockError != nil && !update.All {
		return Relocked{}, fmt.Errorf("%w; --update without names chooses the packages anew and writes the file again", p.LockError)
	}
	if p.given != nil && update.any() {
		return Relocked{}, fmt.Errorf("%s is a lock of conda-lock, whose packages are taken as they are: choose others with \"conda-lock lock --update PACKAGE\"", p.File)
	}
	if p.Environment.Exact && update.any() {
		return Relocked{}, fmt.Errorf("%s is an explicit list, whose packages are taken as they are: make the list anew where it was made", p.File)
	}
	if err := update.check(p); err != nil {
		return Relocked{}, err
	}
	base, err := b.base(ctx)
	if err != nil {
		return Relocked{}, err
	}
	result := Relocked{Old: p.Lock, New: p.Lock, Reason: p.outdated(base)}
	if result.Reason == "" && update.any() {
		result.Reason = "--update"
	}
	if result.Reason == "" {
		return result, nil
	}
	if err := b.prepare(ctx); err != nil {
		return Relocked{}, err
	}
	if err := b.relock(ctx, base, update); err != nil {
		return Relocked{}, err
	}
	result.New = p.Lock
	return result, nil
}

// relock chooses the packages and writes the lock. An unwrittenLock says that
// the project has the lock and its folder does not.
func (b *builder) relock(ctx context.Context, base baseImage, update Update) error {
	solved, err := b.solve(ctx, base, update)
	if err != nil {
		return err
	}
	if err := b.project.writeLock(solved); err != nil {
		return err
	}
	b.noteOtherPlatforms()
	return nil
}

// writeLock makes l the project's lock. An unwrittenLock says that the project
// has it and its folder does not.
func (p *Project) writeLock(l *lock.Lock) error {
	if p.LockFile == "" {
		p.Lock = l
		return nil
	}
	locks := []*lock.Lock{l}
	// Whatever another platform has stays; a file that cannot be read is written anew.
	if there, err := ReadLocks(p.LockFile); err == nil {
		locks = append(locks, slices.DeleteFunc(there, func(other *lock.Lock) bool { return other.Platform == l.Platform })...)
	}
	err := lock.Write(p.LockFile, locks...)
	var pathErr *fs.PathError
	if err != nil && !errors.As(err, &pathErr) {
		return err
	}
	p.Lock, p.LockError = l, nil
	if err != nil {
		return unwrittenLock{err}
	}
	return nil
}

// unwrittenLock is a folder that cannot be written.
type unwrittenLock struct{ error }

func (e unwrittenLock) Unwrap() error { return e.error }
