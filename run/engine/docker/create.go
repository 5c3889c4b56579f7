package docker

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/docker/docker/api/types/container"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
)

// containerName is the name of a run's container.
func containerName(p *plan.Plan) string { return "crun-" + p.ID }

// Create makes the container of p with the files in it, and lines for the
// plan's account in its /etc/passwd and /etc/group. With inside.InitPath among
// the files, that is the container's first process and starts the command.
//
// secrets must hold a value for every name in p.SecretEnv. The warnings are
// the engine's. When an error returns there is no container.
func (e *Engine) Create(ctx context.Context, p *plan.Plan, secrets map[string]string, files []engine.File) (string, []string, error) {
	var devices []string
	if p.GPUs != nil && p.GPUs.Driver == "cdi" {
		facts, err := e.Facts(ctx)
		if err != nil {
			return "", nil, err
		}
		devices = facts.GPUDevices
	}
	withInit := false
	for _, f := range files {
		withInit = withInit || path.Clean(f.Path) == inside.InitPath
	}
	config, host, err := containerConfig(p, secrets, withInit, devices)
	if err != nil {
		return "", nil, err
	}
	if err := e.connect(ctx); err != nil {
		return "", nil, err
	}
	if p.ReadOnly() {
		if len(files) > 0 {
			return "", nil, fmt.Errorf("files cannot be put into a container that is read-only: --read-only needs an engine on this machine")
		}
		if err := e.mountAccounts(ctx, config, host, p); err != nil {
			return "", nil, e.explain(err, subject{plan: p})
		}
	}
	made, err := e.create(ctx, config, host, containerName(p))
	if err != nil {
		return "", nil, e.explain(err, subject{plan: p})
	}
	e.made.Store(made.ID, p)
	if err := e.fill(ctx, made.ID, p, files); err != nil {
		return "", nil, errors.Join(e.explain(err, subject{plan: p, container: made.ID}), e.discard(ctx, made.ID))
	}
	return made.ID, made.Warnings, nil
}

// create makes a container, or none: an engine finishes what it has begun
// though the one who asked for it hangs up, so the answer is waited for, and a
// container that nobody wants any more is removed.
func (e *Engine) create(ctx context.Context, config *container.Config, host *container.HostConfig, name string) (container.CreateResponse, error) {
	type answer struct {
		made container.CreateResponse
		err  error
	}
	done := make(chan answer, 1)
	asked, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go func() {
		made, err := e.api.ContainerCreate(asked, config, host, nil, nil, name)
		done <- answer{made, err}
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		late, stop := context.WithTimeout(asked, cleanupTimeout)
		defer stop()
		select {
		case a = <-done:
		case <-late.Done():
			return a.made, fmt.Errorf("%w, while the engine was making container %s and did not answer: see later whether it is there, and remove it with \"docker rm %s\"", ctx.Err(), name, name)
		}
	}
	if a.err == nil && ctx.Err() != nil {
		return container.CreateResponse{}, errors.Join(ctx.Err(), e.discard(ctx, a.made.ID))
	}
	return a.made, a.err
}

// fill puts everything into a new container in one go.
func (e *Engine) fill(ctx context.Context, id string, p *plan.Plan, files []engine.File) error {
	if p.ReadOnly() {
		return nil
	}
	extra, err := e.accountFiles(ctx, id, p)
	if err != nil {
		return err
	}
	return e.putFiles(ctx, id, p, append(extra, files...))
}

// discard removes a container although ctx may have ended. Its error says
// what was left behind.
func (e *Engine) discard(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := e.Remove(ctx, id); err != nil {
		return fmt.Errorf("container %.12s could not be removed again (%w): do it with \"docker rm -f %.12s\"", id, err, id)
	}
	return nil
}
