package buildkit

import (
	"context"

	"github.com/containerd/containerd/v2/core/content"
)

// handed are images of the engine that a buildkitd is given with a build.
type handed struct {
	stores     map[string]content.Store
	attributes map[string]string
	remove     func()
}

func (b *Builder) handOver(ctx context.Context, names []string) (*handed, error) {
	return &handed{remove: func() {}}, nil
}
