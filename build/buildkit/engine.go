package buildkit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	docker "github.com/docker/docker/client"

	"crun.dev/crun/internal/endpoint"
)

// Engine is the Docker engine that images end in.
type Engine struct {
	endpoint endpoint.Endpoint
	client   *docker.Client
}

// Image is an image of the engine.
type Image struct {
	ID string
	// Tags are NAME:TAG, Digests NAME@sha256:HEX as a registry has it. Podman
	// gives every image a digest, so there none is said.
	Tags, Digests []string
	// OwnDigests says that the engine has digests of images that no registry
	// has, too, as containerd's image store does.
	OwnDigests bool
	Labels     map[string]string
	// Platform is linux/amd64 or linux/arm64.
	Platform string
	// User is the one that commands run as, "" for root.
	User string
}

// ErrNoImage says that the engine has no such image.
var ErrNoImage = errors.New("no such image")

// NewEngine makes a client of the engine at ep. It connects to nothing yet.
func NewEngine(ep endpoint.Endpoint) (*Engine, error) {
	httpClient, err := ep.HTTPClient()
	if err != nil {
		return nil, err
	}
	options := []docker.Opt{
		docker.WithHTTPClient(httpClient),
		docker.WithHost(ep.APIHost()),
		docker.WithDialContext(ep.DialContext),
		docker.WithAPIVersionNegotiation(),
	}
	if ep.APIVersion != "" {
		options = append(options, docker.WithVersion(ep.APIVersion))
	}
	client, err := docker.NewClientWithOpts(options...)
	if err != nil {
		return nil, fmt.Errorf("making a client of %s: %w", ep, err)
	}
	return &Engine{endpoint: ep, client: client}, nil
}

// Close ends the connections.
func (e *Engine) Close() error { return e.client.Close() }

// Endpoint is where the engine is.
func (e *Engine) Endpoint() endpoint.Endpoint { return e.endpoint }

// Remote tells whether the engine is on another machine.
func (e *Engine) Remote() bool { return e.endpoint.Remote }

// Arch asks for the architecture of the engine's machine, by Go's name: amd64,
// arm64.
func (e *Engine) Arch(ctx context.Context) (string, error) {
	version, err := e.client.ServerVersion(ctx)
	if err != nil {
		return "", e.failure(ctx, "asking the engine for its architecture", err)
	}
	return version.Arch, nil
}

// Image finds an image by name or id. The error is ErrNoImage where there is
// none.
func (e *Engine) Image(ctx context.Context, ref string) (Image, error) {
	found, err := e.client.ImageInspect(ctx, ref)
	switch {
	case cerrdefs.IsNotFound(err):
		return Image{}, ErrNoImage
	case err != nil:
		return Image{}, e.failure(ctx, "looking for image "+ref, err)
	}
	img := Image{
		ID: found.ID, Tags: found.RepoTags, Digests: found.RepoDigests,
		Platform: found.Os + "/" + found.Architecture,
	}
	// There the id is the digest of what a registry would have, and not of the
	// image's configuration.
	img.OwnDigests = slices.ContainsFunc(img.Digests, func(d string) bool { return strings.HasSuffix(d, "@"+found.ID) })
	if len(img.Digests) > 0 && !img.OwnDigests {
		version, err := e.client.ServerVersion(ctx)
		if err != nil {
			return Image{}, e.failure(ctx, "asking the engine for its version", err)
		}
		if isPodman(version) {
			img.Digests = nil
		}
	}
	if found.Config != nil {
		img.Labels, img.User = found.Config.Labels, found.Config.User
	}
	return img, nil
}

func isPodman(version types.Version) bool {
	return slices.ContainsFunc(version.Components, func(c types.ComponentVersion) bool { return strings.HasPrefix(c.Name, "Podman") })
}

// ImagesByLabel finds the images that carry a label, newest first.
func (e *Engine) ImagesByLabel(ctx context.Context, name, value string) ([]Image, error) {
	list, err := e.client.ImageList(ctx, image.ListOptions{
		Filters: filters.NewArgs(filters.Arg("label", name+"="+value)),
	})
	if err != nil {
		return nil, e.failure(ctx, "looking for images", err)
	}
	slices.SortStableFunc(list, func(a, b image.Summary) int { return int(b.Created - a.Created) })
	images := make([]Image, len(list))
	for i, found := range list {
		tags := slices.DeleteFunc(found.RepoTags, func(tag string) bool { return tag == "<none>:<none>" })
		images[i] = Image{ID: found.ID, Tags: tags, Labels: found.Labels}
	}
	return images, nil
}

// Tag gives the image id another name.
func (e *Engine) Tag(ctx context.Context, id, name string) error {
	if err := e.client.ImageTag(ctx, id, name); err != nil {
		return e.failure(ctx, "naming the image "+name, err)
	}
	return nil
}

// load puts the images of a "docker save" archive into the engine.
func (e *Engine) load(ctx context.Context, archive io.Reader) error {
	response, err := e.client.ImageLoad(ctx, archive, docker.ImageLoadWithQuiet(true))
	if err != nil {
		return e.failure(ctx, "loading the image into the engine", err)
	}
	defer response.Body.Close()
	// The engine answers 200 before it has read the archive; what goes wrong
	// then is a line of the answer.
	lines := json.NewDecoder(bufio.NewReader(response.Body))
	for {
		var line struct {
			Error string `json:"error"`
		}
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return e.failure(ctx, "loading the image into the engine", err)
		}
		if line.Error != "" {
			return explain(fmt.Errorf("loading the image into the engine: %s", line.Error))
		}
	}
}

// failure says what was being done when the engine failed, and where it is
// when it cannot be reached.
func (e *Engine) failure(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err = e.endpoint.Explain(err)
	if errors.Is(err, endpoint.ErrUnreachable) {
		return err
	}
	return explain(fmt.Errorf("%s: %w", doing, err))
}
