package docker

import (
	"context"
	"errors"
	"io"

	"github.com/opencontainers/runtime-spec/specs-go"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

var _ engine.Exporter = (*Engine)(nil)

// Export gives the image of p as a tar, with files put into it and lines for
// the plan's account: the container that it takes is removed when the reader
// is closed.
func (e *Engine) Export(ctx context.Context, p *plan.Plan, files []engine.File) (io.ReadCloser, error) {
	bare := *p
	process := *p.Spec.Process
	// The files alone are wanted: what a start would need may not be there.
	bare.Spec = specs.Spec{Version: p.Spec.Version, Process: &process, Annotations: p.Spec.Annotations}
	bare.SecretEnv, bare.GPUs, bare.Ports, bare.Network = nil, nil, nil, plan.NetworkNone
	id, _, err := e.Create(ctx, &bare, nil, files)
	if err != nil {
		return nil, err
	}
	content, err := e.api.ContainerExport(ctx, id)
	if err != nil {
		return nil, errors.Join(e.explain(err, subject{container: id}), e.discard(ctx, id))
	}
	return &exported{ReadCloser: content, remove: func() error { return e.discard(ctx, id) }}, nil
}

type exported struct {
	io.ReadCloser
	remove func() error
}

func (x *exported) Close() error { return errors.Join(x.ReadCloser.Close(), x.remove()) }
