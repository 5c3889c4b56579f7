package buildkit

import (
	"archive/tar"
	"context"
	"fmt"
	"io"

	"github.com/docker/docker/api/types/container"
)

// ReadFile gives a file of an image, of at most limit bytes. The engine reads
// files of containers alone, so one is made, not started, and removed.
func (e *Engine) ReadFile(ctx context.Context, ref, path string, limit int64) (data []byte, err error) {
	doing := "reading " + path + " of the image " + ref
	made, err := e.client.ContainerCreate(ctx, &container.Config{Image: ref, Cmd: []string{"true"}}, nil, nil, nil, "")
	if err != nil {
		return nil, e.failure(ctx, doing, err)
	}
	defer func() {
		// Also after Ctrl-C, or it stays.
		gone := context.WithoutCancel(ctx)
		if removeErr := e.client.ContainerRemove(gone, made.ID, container.RemoveOptions{Force: true}); err == nil && removeErr != nil {
			err = e.failure(gone, doing, removeErr)
		}
	}()
	content, _, err := e.client.CopyFromContainer(ctx, made.ID, path)
	if err != nil {
		return nil, e.failure(ctx, doing, err)
	}
	defer content.Close()
	archive := tar.NewReader(content)
	entry, err := archive.Next()
	switch {
	case err != nil:
		return nil, e.failure(ctx, doing, err)
	case entry.Typeflag != tar.TypeReg || entry.Size > limit:
		return nil, fmt.Errorf("%s: it is no file, or larger than %d bytes", doing, limit)
	}
	return io.ReadAll(archive)
}
