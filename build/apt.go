package build

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
)

// aptLayer is the layer of Debian packages.
func aptLayer(packages []lock.DebianPackage) dockerfiles.Layer {
	var list aptList
	for _, p := range packages {
		list.Packages = append(list.Packages, aptPackage(p))
	}
	return dockerfiles.Layer{Kind: dockerfiles.KindApt, Title: "install the apt packages", File: "apt.json", Content: encode(list)}
}

// solveApt puts the Debian packages that asked names into l, each NAME or
// NAME=VERSION: the old lock's, where they were asked for alike.
func (b *builder) solveApt(ctx context.Context, l *lock.Lock, asked []string, update Update) error {
	p := b.project
	if old := p.Lock; old != nil && !update.any() && old.Base == l.Base && len(old.Apt) > 0 &&
		slices.Equal(sortedSet(p.Options.Apt), sortedSet(old.Request.Apt)) && slices.Equal(sortedSet(namesOf(asked)), aptNames(old)) {
		l.Apt = old.Apt
		return nil
	}
	if len(asked) == 0 {
		l.Apt = nil
		return nil
	}
	context, err := dockerfiles.RenderSolveApt(p.solveInput(from(l.Base), encode(aptRequest{Apt: asked})))
	if err != nil {
		return err
	}
	_, s, err := b.choose(ctx, "choosing the apt packages", context, "")
	if err != nil {
		return err
	}
	l.Apt = nil
	for _, d := range s.Apt {
		l.Apt = append(l.Apt, lock.DebianPackage(d))
	}
	return nil
}

// aptNames are the packages that were asked for when l was made, sorted.
func aptNames(l *lock.Lock) []string {
	var asked []string
	for _, d := range l.Apt {
		if !d.Auto {
			asked = append(asked, d.Name)
		}
	}
	return sortedSet(asked)
}

// namesOf takes the versions off packages.
func namesOf(asked []string) []string {
	var all []string
	for _, a := range asked {
		name, _, _ := strings.Cut(a, "=")
		all = append(all, name)
	}
	return all
}

func sortedSet(values []string) []string { return slices.Compact(slices.Sorted(slices.Values(values))) }

// aptError is about packages that cannot be had.
func (p *Project) aptError(text string) error {
	if len(p.Options.Apt) == 0 {
		// Nobody has asked: the compiler's packages are meant.
		return fmt.Errorf("%s: %s\nconfig.yaml names mirrors and proxies; build.compiler: false in profiles.yaml leaves the C compiler out", p.Options.Base, text)
	}
	return fmt.Errorf("%s: %s\nchange build.apt there, or the base image", p.Options.AptPlace, text)
}

// goneMark begins what the installer says of a version that is no longer to
// be had (dockerfiles/installer/apt.py).
const goneMark = "crun: the package archive no longer has "

// aptGone gives the packages of a lock that a failed build did not find any
// more, or "".
func aptGone(err error) string {
	var step *buildkit.StepError
	if !errors.As(err, &step) {
		return ""
	}
	for _, line := range step.Output {
		if gone, ok := strings.CutPrefix(line, goneMark); ok {
			return gone
		}
	}
	return ""
}

// renewApt chooses the lock's apt packages anew, alone. Debian's archives
// keep the newest version of a package and no other, so each security update
// takes one away that a lock names: whoever builds from that lock gets the
// update, and is told.
func (b *builder) renewApt(ctx context.Context, gone string) error {
	p := b.project
	if b.request.Locked {
		return fmt.Errorf("the archive no longer has %s, which %s names: \"crun lock %s --update %s\" takes the versions of today",
			gone, p.LockFile, p.File, strings.Join(aptNames(p.Lock), " "))
	}
	renewed := *p.Lock
	asked := slices.Clone(p.Options.Apt)
	for _, name := range aptNames(p.Lock) {
		if !slices.Contains(namesOf(asked), name) {
			asked = append(asked, name)
		}
	}
	if err := b.solveApt(ctx, &renewed, asked, Update{All: true}); err != nil {
		return err
	}
	b.request.Notes(fmt.Sprintf("the archive no longer has %s: %s has the versions of today now", gone, p.LockFile))
	return b.writeLock(&renewed)
}
