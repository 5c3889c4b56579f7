package docker

import (
	"context"
	"time"

	"crun.dev/crun/run/engine"
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
