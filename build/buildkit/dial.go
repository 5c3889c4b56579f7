package buildkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"

	"github.com/docker/docker/api/types/versions"
	"github.com/moby/buildkit/client"
	_ "github.com/moby/buildkit/client/connhelper/dockercontainer" // docker-container://
	_ "github.com/moby/buildkit/client/connhelper/podmancontainer" // podman-container://
	_ "github.com/moby/buildkit/client/connhelper/ssh"             // ssh://
	"github.com/moby/buildkit/util/bklog"
)

// apiOfEngine23 is the API of Docker Engine 23.0. The BuildKit of those before
// it can end the whole engine, and all its containers, where two builds at once
// share steps ("panic: failed to get edge", moby/moby issue 42414).
const apiOfEngine23 = "1.42"

// Options says which BuildKit to use and how to show what it does.
type Options struct {
	// Address is a buildkitd's (unix://, tcp://, ssh://, docker-container://),
	// as BUILDKIT_HOST has it; "" is the one within the engine.
	Address string
	// Progress is auto, tty, plain, rawjson or quiet; "" is auto.
	Progress string
	// Out is where progress is shown.
	Out io.Writer
	// Notes gets single lines that are worth a person's attention.
	Notes func(string)
	// CacheFrom are places whose caches builds may take steps from, CacheTo those
	// that the cache of an image's build is brought to. See Check.
	CacheFrom, CacheTo []CacheSpec
}

// Builder builds Jobs. It connects when the first one comes.
type Builder struct {
	engine  *Engine
	options Options

	mu     sync.Mutex
	client *client.Client // nil before the first Job
	// alone tells that the engine's BuildKit is too old for two builds at once.
	alone bool
}

// New makes a Builder whose images end in engine.
func New(engine *Engine, options Options) *Builder {
	if options.Notes == nil {
		options.Notes = func(string) {}
	}
	return &Builder{engine: engine, options: options}
}

func (b *Builder) connect(ctx context.Context) (*client.Client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client == nil {
		c, err := b.dial(ctx)
		if err != nil {
			return nil, err
		}
		b.client = c
	}
	return b.client, nil
}

// Close ends the connection, if there is one.
func (b *Builder) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client == nil {
		return nil
	}
	return b.client.Close()
}

// embedded tells whether the engine's own BuildKit is used.
func (b *Builder) embedded() bool { return b.options.Address == "" }

// where names the BuildKit in messages.
func (b *Builder) where() string {
	if b.embedded() {
		return "the BuildKit of the engine at " + b.engine.endpoint.Host
	}
	return "buildkitd at " + b.options.Address
}

// silence keeps what libraries log off the terminal: it would be a line in
// the middle of the progress that nobody can act on. What matters comes as an
// error.
var silence = sync.OnceFunc(func() {
	log.SetOutput(io.Discard)
	bklog.L.Logger.SetOutput(io.Discard)
})

func (b *Builder) dial(ctx context.Context) (*client.Client, error) {
	silence()
	var options []client.ClientOpt
	if b.embedded() {
		options = append(options,
			client.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				return b.engine.client.DialHijack(ctx, "/grpc", "h2c", nil)
			}),
			client.WithSessionDialer(func(ctx context.Context, proto string, meta map[string][]string) (net.Conn, error) {
				return b.engine.client.DialHijack(ctx, "/session", proto, meta)
			}))
		// A dialer's error would be retried and then hidden behind gRPC's own
		// words, so the engine is asked before.
		ping, err := b.engine.client.Ping(ctx)
		if err != nil {
			return nil, b.engine.failure(ctx, "asking the engine", err)
		}
		b.alone = versions.LessThan(ping.APIVersion, apiOfEngine23)
	} else if !strings.Contains(b.options.Address, "://") {
		return nil, fmt.Errorf("BUILDKIT_HOST is %q; an address starts with unix://, tcp://, ssh:// or docker-container://", b.options.Address)
	}
	c, err := client.New(ctx, b.options.Address, options...)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", b.where(), err)
	}
	if _, err := c.ListWorkers(ctx); err != nil {
		return nil, errors.Join(b.unreachable(ctx, err), c.Close())
	}
	return c, nil
}

func (b *Builder) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if b.embedded() {
		return fmt.Errorf("%s does not answer: %w; crun needs Docker Engine 20.10 or newer, or a buildkitd (BUILDKIT_HOST)", b.where(), err)
	}
	return fmt.Errorf("%s does not answer: %w; start it, or unset BUILDKIT_HOST to build with the engine's own", b.where(), err)
}
