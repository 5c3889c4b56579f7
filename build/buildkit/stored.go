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
// ErrImageUsed.
func (e *Engine) RemoveImage(ctx context.Context, img Image) error {
	names := img.Tags
	if len(names) == 0 {
		names = []string{img.ID}
	}
	for _, name := range names {
		_, err := e.client.ImageRemove(ctx, name, image.RemoveOptions{PruneChildren: true})
		switch {
		case cerrdefs.IsNotFound(err):
		case cerrdefs.IsConflict(err):
			return fmt.Errorf("%w: %s", ErrImageUsed, strings.TrimPrefix(err.Error(), "Error response from daemon: "))
		case err != nil:
			return e.failure(ctx, "removing the image "+name, err)
		}
	}
	return nil
}
