package buildkit

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/moby/buildkit/client"
)

// CacheSpec names a place that a build's cache is brought to or from.
type CacheSpec struct {
	// Type is registry, local or inline.
	Type string
	// Attributes are the type's own: ref, mode, src, dest.
	Attributes map[string]string
	// text is how it was written.
	text string
}

// The types of places, and what each takes beside its own address.
var cacheAttributes = map[string][]string{
	"registry": {"ref", "mode", "compression", "image-manifest", "oci-mediatypes", "ignore-error"},
	"local":    {"src", "dest", "mode", "tag", "digest", "compression", "ignore-error"},
	"inline":   {},
}

// ParseCacheSpec reads type=TYPE,KEY=VALUE,... or, for a registry, a reference
// alone. to tells that the cache is brought there, else from there. Relative
// folders are below dir.
func ParseCacheSpec(text, dir string, to bool) (CacheSpec, error) {
	spec := CacheSpec{Attributes: map[string]string{}, text: text}
	fields, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return spec, errors.New("write it as type=registry,ref=NAME or type=local,dest=FOLDER")
	}
	if len(fields) == 1 && !strings.Contains(fields[0], "=") {
		fields = []string{"type=registry", "ref=" + fields[0]}
	}
	for _, field := range fields {
		name, value, ok := strings.Cut(field, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case !ok || value == "":
			return spec, fmt.Errorf("%q is not KEY=VALUE", field)
		case name == "type":
			spec.Type = value
		default:
			spec.Attributes[name] = value
		}
	}
	known, ok := cacheAttributes[spec.Type]
	if !ok {
		return spec, fmt.Errorf("the type %q is not one of %s", spec.Type, strings.Join(slices.Sorted(maps.Keys(cacheAttributes)), ", "))
	}
	for name := range spec.Attributes {
		if !slices.Contains(known, name) {
			return spec, fmt.Errorf("type=%s takes no %s", spec.Type, name)
		}
	}
	switch spec.Type {
	case "registry":
		named, err := reference.ParseNormalizedNamed(spec.Attributes["ref"])
		if err != nil {
			return spec, fmt.Errorf("ref is %q, which is no name of an image", spec.Attributes["ref"])
		}
		spec.Attributes["ref"] = reference.TagNameOnly(named).String()
	case "local":
		key := "src"
		if to {
			key = "dest"
		}
		folder := spec.Attributes[key]
		if folder == "" {
			return spec, fmt.Errorf("type=local needs %s=FOLDER", key)
		}
		if !filepath.IsAbs(folder) {
			spec.Attributes[key] = filepath.Join(dir, folder)
		}
	case "inline":
		if !to {
			return spec, errors.New("a cache within an image is brought from where the image is: name it by type=registry,ref=NAME")
		}
	}
	if mode := spec.Attributes["mode"]; mode != "" && mode != "min" && mode != "max" {
		return spec, fmt.Errorf("mode is %q; allowed are min and max", mode)
	}
	return spec, nil
}

// Check asks the builder what it can do, before it is asked to do it: to bring
// caches to and from these places, and to build for platform (linux/amd64,
// linux/arm64, or "" for its own).
func (b *Builder) Check(ctx context.Context, from, to []CacheSpec, platform string) error {
	if len(from)+len(to) == 0 && platform == "" {
		return nil
	}
	c, err := b.connect(ctx)
	if err != nil {
		return err
	}
	if platform != "" {
		if err := b.checkPlatform(ctx, c, platform); err != nil {
			return err
		}
	}
	if len(from)+len(to) == 0 || !b.embedded() {
		return nil
	}
	info, err := b.engine.client.Info(ctx)
	if err != nil {
		return b.engine.failure(ctx, "asking the engine for its image store", err)
	}
	if slices.Contains(info.DriverStatus, [2]string{"driver-type", "io.containerd.snapshotter.v1"}) {
		return nil // it can what a buildkitd can
	}
	const remedy = "a buildkitd can (BUILDKIT_HOST=unix:///run/buildkit/buildkitd.sock), and so can an engine with the containerd image store"
	for _, spec := range to {
		if spec.Type != "inline" {
			return fmt.Errorf("%s cannot write a cache of type %s: with its image store it can only put one into the image (--cache-to type=inline, with --push); %s",
				b.where(), spec.Type, remedy)
		}
	}
	for _, spec := range from {
		if spec.Type != "registry" {
			return fmt.Errorf("%s cannot read a cache of type %s: with its image store it can only take one from an image in a registry (--cache-from type=registry,ref=NAME); %s",
				b.where(), spec.Type, remedy)
		}
	}
	return nil
}

func (b *Builder) checkPlatform(ctx context.Context, c *client.Client, platform string) error {
	os, arch, _ := strings.Cut(platform, "/")
	workers, err := c.ListWorkers(ctx)
	if err != nil {
		return fmt.Errorf("asking %s for its platforms: %w", b.where(), err)
	}
	var have []string
	for _, worker := range workers {
		for _, p := range worker.Platforms {
			if p.OS == os && p.Architecture == arch {
				return nil
			}
			if name := p.OS + "/" + p.Architecture; !slices.Contains(have, name) {
				have = append(have, name)
			}
		}
	}
	return fmt.Errorf("%s cannot run programs of %s, which a build for it does; it runs %s. Have the kernel of its machine emulate it "+
		"(on Debian: apt install qemu-user-static binfmt-support, then restart the builder), or build on a machine of that kind (--host, BUILDKIT_HOST)",
		b.where(), platform, strings.Join(have, ", "))
}

// cacheEntries are specs as BuildKit takes them.
func cacheEntries(specs []CacheSpec) []client.CacheOptionsEntry {
	var entries []client.CacheOptionsEntry
	for _, spec := range specs {
		entries = append(entries, client.CacheOptionsEntry{Type: spec.Type, Attrs: maps.Clone(spec.Attributes)})
	}
	return entries
}
