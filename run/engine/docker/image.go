package docker

import (
	"context"
	"slices"
	"time"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

// Image finds an image by reference or id; engine.ErrNotFound where there is
// none. It pulls nothing.
func (e *Engine) Image(ctx context.Context, ref string) (engine.Image, error) {
	if err := e.connect(ctx); err != nil {
		return engine.Image{}, err
	}
	got, err := e.api.ImageInspect(ctx, ref)
	if err != nil {
		return engine.Image{}, e.explain(err, subject{image: ref})
	}
	img := engine.Image{
		ID:           got.ID,
		Tags:         got.RepoTags,
		Architecture: got.Architecture,
		Size:         got.Size,
	}
	img.Created, _ = time.Parse(time.RFC3339Nano, got.Created) // no time is no time
	if c := got.Config; c != nil {
		img.Labels, img.Env, img.Entrypoint, img.WorkingDir = c.Labels, c.Env, c.Entrypoint, c.WorkingDir
	}
	return img, nil
}

// ImagesByLock finds the images that carry this digest of crun.lock as label
// dev.crun.lock, newest first. Env, Entrypoint, WorkingDir and Architecture
// are left out: Image tells them.
func (e *Engine) ImagesByLock(ctx context.Context, digest string) ([]engine.Image, error) {
	if err := e.connect(ctx); err != nil {
		return nil, err
	}
	list, err := e.api.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", plan.LabelPrefix+"lock="+digest))})
	if err != nil {
		return nil, e.explain(err, subject{})
	}
	images := make([]engine.Image, 0, len(list))
	for _, s := range list {
		images = append(images, engine.Image{ID: s.ID, Tags: s.RepoTags, Labels: s.Labels, Size: s.Size, Created: time.Unix(s.Created, 0)})
	}
	slices.SortStableFunc(images, func(a, b engine.Image) int { return b.Created.Compare(a.Created) })
	return images, nil
}
