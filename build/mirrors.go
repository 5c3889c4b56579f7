package build

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/distribution/reference"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/internal/lazyregexp"
)

// MirrorOf is the name by which the image called name is fetched here, "" where
// no mirror is meant for it.
func (s Sources) MirrorOf(name string) string {
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil || len(s.Registries) == 0 {
		return ""
	}
	registries := make(map[string]string, len(s.Registries))
	for registry, mirror := range s.Registries {
		if registry == DockerHub {
			registry = hub()
		}
		registries[registry] = mirror
	}
	mirror, rest, ok := longest(registries, named.Name())
	if !ok {
		return ""
	}
	suffix := strings.TrimPrefix(reference.TagNameOnly(named).String(), named.Name())
	return strings.TrimRight(mirror, "/") + rest + suffix
}

// normalName is name with its registry, without tag and digest.
func normalName(name string) string {
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return name
	}
	return named.Name()
}

// hub is the registry of names without a host.
func hub() string {
	named, err := reference.ParseNormalizedNamed("image")
	if err != nil {
		panic(err) // a constant
	}
	return reference.Domain(named)
}

// prepare finds out which images the engine has, before anything is built, and
// says whose settings are followed.
func (b *builder) prepare(ctx context.Context) error {
	o := b.project.Options
	var err error
	if b.local, err = b.localImages(ctx, o.Base, o.ToolboxBase); err != nil {
		return err
	}
	names := []string{o.Base, o.ToolboxBase}
	if b.project.Lock != nil {
		names = append(names, from(b.project.Lock.Base)) // may be older than the name's
	}
	for _, name := range names {
		if _, err := b.images.Image(ctx, name); errors.Is(err, buildkit.ErrNoImage) {
			b.missing = append(b.missing, familiar(repository(name)))
		} else if err != nil {
			return err
		}
	}
	for _, note := range b.request.Sources.taken(b.project.Environment) {
		b.request.Notes(note)
	}
	return nil
}

var fromLine = lazyregexp.New(`(?m)^FROM (\S+)`)

// mirrors has what to fetch in the place of the images that a Dockerfile starts
// from, where the engine does not have them.
func (b *builder) mirrors(dockerfile string) map[string]string {
	mirrors := map[string]string{}
	for _, line := range fromLine.FindAllString(dockerfile, -1) {
		name := strings.TrimPrefix(line, "FROM ")
		if mirror := b.request.Sources.MirrorOf(name); mirror != "" && slices.Contains(b.missing, familiar(repository(name))) {
			mirrors[name] = mirror
		}
	}
	return mirrors
}
