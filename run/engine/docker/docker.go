package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"crun.dev/crun/internal/endpoint"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

var (
	_ engine.Engine = (*Engine)(nil)
	_ api           = (*client.Client)(nil)
)

// api is what we use of the Docker client.
type api interface {
	Ping(ctx context.Context) (types.Ping, error)
	NegotiateAPIVersionPing(types.Ping)
	ClientVersion() string
	Info(ctx context.Context) (system.Info, error)
	ServerVersion(ctx context.Context) (types.Version, error)
	Events(ctx context.Context, options events.ListOptions) (<-chan events.Message, <-chan error)

	ImageInspect(ctx context.Context, ref string, options ...client.ImageInspectOption) (image.InspectResponse, error)

	ContainerCreate(ctx context.Context, config *container.Config, host *container.HostConfig, net *network.NetworkingConfig, platform *ocispec.Platform, name string) (container.CreateResponse, error)
	ContainerAttach(ctx context.Context, id string, options container.AttachOptions) (types.HijackedResponse, error)
	ContainerWait(ctx context.Context, id string, condition container.WaitCondition) (<-chan container.WaitResponse, <-chan error)
	ContainerStart(ctx context.Context, id string, options container.StartOptions) error
	ContainerKill(ctx context.Context, id, signal string) error
	ContainerUnpause(ctx context.Context, id string) error
	ContainerResize(ctx context.Context, id string, options container.ResizeOptions) error
	ContainerInspect(ctx context.Context, id string) (container.InspectResponse, error)
	ContainerStatsOneShot(ctx context.Context, id string) (container.StatsResponseReader, error)
	ContainerExecCreate(ctx context.Context, id string, options container.ExecOptions) (container.ExecCreateResponse, error)
	ContainerExecAttach(ctx context.Context, id string, options container.ExecAttachOptions) (types.HijackedResponse, error)
	ContainerExecInspect(ctx context.Context, id string) (container.ExecInspect, error)
	ContainerExecResize(ctx context.Context, id string, options container.ResizeOptions) error
	ContainerLogs(ctx context.Context, id string, options container.LogsOptions) (io.ReadCloser, error)
	ContainerRemove(ctx context.Context, id string, options container.RemoveOptions) error
	ContainerList(ctx context.Context, options container.ListOptions) ([]container.Summary, error)
	CopyToContainer(ctx context.Context, id, folder string, content io.Reader, options container.CopyToContainerOptions) error
	ContainerExport(ctx context.Context, id string) (io.ReadCloser, error)
	CopyFromContainer(ctx context.Context, id, path string) (io.ReadCloser, container.PathStat, error)

	Close() error
}

// Options is what Open can be told.
type Options struct {
	// CacheDir is a folder of the caller's where what was read of an image
	// (its passwd and group files) is kept, by image id; "" keeps it in memory.
	CacheDir string
}

// Engine is a Docker Engine. Make one with Open.
type Engine struct {
	ep    endpoint.Endpoint
	api   api
	cache accountCache

	mu    sync.Mutex // guards ready
	ready bool       // the engine has answered and the API version is settled

	factsMu sync.Mutex // guards facts
	facts   *engine.Facts

	rootless atomic.Bool // as facts have it, for messages

	// made holds the plans of the containers that this Engine has created:
	// messages name their values, and streams need to know of a terminal.
	made sync.Map // container id to *plan.Plan
}

const (
	// minAPI is that of Docker 20.10, the oldest engine that crun is tried on.
	minAPI = "1.41"
	// answerTimeout bounds the first answer. An engine that is busy with a
	// hundred containers takes a second; one that hangs takes for ever.
	answerTimeout = 30 * time.Second
	// cleanupTimeout bounds the removal of what a failed call leaves behind.
	cleanupTimeout = 30 * time.Second
)

// Open makes an Engine for the endpoint. It connects to nothing: the first
// call that needs the engine does, and fails with engine.ErrUnreachable where
// none answers. The error is about files of TLS that cannot be read.
func Open(_ context.Context, ep endpoint.Endpoint, opts Options) (*Engine, error) {
	hc, err := ep.HTTPClient()
	if err != nil {
		return nil, err
	}
	transport := hc.Transport.(*http.Transport)
	// WithHost replaces our dialer. WithVersion keeps to DOCKER_API_VERSION,
	// and does nothing for "".
	api, err := client.NewClientWithOpts(client.WithHTTPClient(hc), client.WithHost(ep.APIHost()), client.WithDialContext(ep.DialContext),
		client.WithVersion(ep.APIVersion), client.WithAPIVersionNegotiation(), client.WithUserAgent("crun"))
	if err != nil {
		return nil, fmt.Errorf("the engine's address %s cannot be used: %w", ep, err)
	}
	transport.Proxy = nil // which WithHost sets too; see endpoint.HTTPClient
	return &Engine{ep: ep, api: api, cache: accountCache{dir: opts.CacheDir}}, nil
}

// Close closes the connections that are not in use.
func (e *Engine) Close() error { return e.api.Close() }

// connect asks the engine for its API version, once. Every method begins with
// it, so that one place tells an engine that is not there from one that
// refuses.
func (e *Engine) connect(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ready {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	ping, err := e.api.Ping(limited)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return e.explain(e.ep.NoAnswer(err), subject{})
	case err != nil:
		return e.explain(err, subject{})
	case ping.OSType == "windows":
		return fmt.Errorf("the engine at %s runs Windows containers, and crun needs Linux ones: switch it over, or name another with --host, --context or DOCKER_HOST", e.ep)
	}
	e.api.NegotiateAPIVersionPing(ping)
	if got := e.api.ClientVersion(); versions.LessThan(got, minAPI) {
		if e.ep.APIVersion != "" {
			return fmt.Errorf("DOCKER_API_VERSION is %s, and crun needs %s or later: unset it", got, minAPI)
		}
		return fmt.Errorf("the engine at %s is too old: its API is %s, and crun needs %s, which Docker 20.10 has; update it", e.ep, got, minAPI)
	}
	e.ready = true
	return nil
}

// UseAPI takes a version for settled. An engine that is not there any more is
// told by the first call all the same.
func (e *Engine) UseAPI(version string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if version == "" || e.ready || versions.LessThan(version, minAPI) {
		return
	}
	e.api.NegotiateAPIVersionPing(types.Ping{APIVersion: version})
	e.ready = true
}

// planOf is the plan of a container that this Engine has created, or nil.
func (e *Engine) planOf(id string) *plan.Plan {
	if p, ok := e.made.Load(id); ok {
		return p.(*plan.Plan)
	}
	return nil
}
