package buildkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
)

// Stored is an image with what the engine knows of its use.
type Stored struct {
	Image
	// Size is in bytes, layers that other images share included.
	Size    int64
	Created time.Time
	// Containers are those that were made of it, running or not.
	Containers []Container
}

// Container is a container of an image.
type Container struct {
	ID, Name string
	Labels   map[string]string
	// State is Docker's word: running, exited.
	State string
}

// Stored lists the images that have a label, newest first, with the containers
// of each.
func (e *Engine) Stored(ctx context.Context, label string) ([]Stored, error) {
	list, err := e.client.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
	if err != nil {
		return nil, e.failure(ctx, "listing the images", err)
	}
	containers, err := e.client.ContainerList(ctx, container.ListOptions{All: true})
	if err != nil {
		return nil, e.failure(ctx, "listing the containers", err)
	}
	all := make([]Stored, len(list))
	for i, found := range list {
		tags := slices.DeleteFunc(found.RepoTags, func(tag string) bool { return tag == "<none>:<none>" })
		all[i] = Stored{
			Image:   Image{ID: found.ID, Tags: tags, Digests: found.RepoDigests, Labels: found.Labels},
			Size:    found.Size,
			Created: time.Unix(found.Created, 0).UTC(),
		}
		for _, c := range containers {
			if c.ImageID == found.ID {
				name := c.ID[:min(12, len(c.ID))]
				if len(c.Names) > 0 {
					name = strings.TrimPrefix(c.Names[0], "/")
				}
				all[i].Containers = append(all[i].Containers, Container{ID: c.ID, Name: name, Labels: c.Labels, State: string(c.State)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Stored) int { return b.Created.Compare(a.Created) })
	return all, nil
}

// ErrImageUsed says that an image was not removed because something needs it.
var ErrImageUsed = errors.New("the image is in use")

// RemoveImage takes tags off an image, and removes it when it has no other. It
// removes nothing that a container or another image needs: the error is then
// ErrImageUsed. With any error the image keeps all its tags; one that another
// image has by now stays that image's.
func (e *Engine) RemoveImage(ctx context.Context, img Image) error {
	names := img.Tags
	if len(names) == 0 {
		names = []string{img.ID}
	}
	var taken []string
	for _, name := range names {
		if now, err := e.Image(ctx, name); err == nil && now.ID != img.ID {
			continue // the list that img is from was made before
		}
		_, err := e.client.ImageRemove(ctx, name, image.RemoveOptions{PruneChildren: true})
		switch {
		case err == nil:
			taken = append(taken, name)
			continue
		case cerrdefs.IsNotFound(err):
			continue
		case cerrdefs.IsConflict(err):
			err = fmt.Errorf("%w: %s", ErrImageUsed, strings.TrimPrefix(err.Error(), "Error response from daemon: "))
		default:
			err = e.failure(ctx, "removing the image "+name, err)
		}
		// The engine asks who needs an image when its last tag goes.
		return errors.Join(err, e.giveBack(context.WithoutCancel(ctx), img.ID, taken))
	}
	return nil
}

// giveBack gives an image tags that were taken off it, and that no other image has by now.
func (e *Engine) giveBack(ctx context.Context, id string, tags []string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var errs []error
	for _, tag := range tags {
		if _, err := e.Image(ctx, tag); errors.Is(err, ErrNoImage) {
			errs = append(errs, e.Tag(ctx, id, tag))
		}
	}
	return errors.Join(errs...)
}
