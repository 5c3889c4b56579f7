package docker

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/opencontainers/runtime-spec/specs-go"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
)

// mountAccounts makes a container that is read-only know the plan's account:
// nothing can be put into it, so its files of users and groups are mounted,
// from the folder that the run shares with its record.
func (e *Engine) mountAccounts(ctx context.Context, config *container.Config, host *container.HostConfig, p *plan.Plan) error {
	i := slices.IndexFunc(p.Spec.Mounts, func(m specs.Mount) bool { return m.Destination == inside.Dir })
	if i < 0 {
		return nil
	}
	id := ""
	if _, ok := e.cache.get(p.Image.ID); !ok {
		// The files are read from a container, and this one is not there yet.
		open := *host
		open.ReadonlyRootfs = false
		made, err := e.create(ctx, config, &open, containerName(p))
		if err != nil {
			return err
		}
		id = made.ID
	}
	files, err := e.accountFiles(ctx, id, p)
	if id != "" {
		err = errors.Join(err, e.discard(ctx, id))
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		source := filepath.Join(p.Spec.Mounts[i].Source, path.Base(file.Path))
		if err := os.WriteFile(source, file.Data, 0o644); err != nil {
			return err
		}
		if err := os.Chmod(source, 0o644); err != nil { // whatever the umask
			return err
		}
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeBind, Source: source, Target: file.Path, ReadOnly: true})
	}
	return nil
}
