package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
)

const (
	// maxReadFile bounds ReadFile, in bytes: what it reads are init's reports
	// and the files of accounts, which in an odd image may have 100,000 lines.
	maxReadFile = 16 << 20
	// maxLinks bounds how many symbolic links ReadFile follows.
	maxLinks = 10
)

// archive packs files into a tar to be unpacked at the container's root. Parent
// folders that the image lacks are made by the engine, as root's and open to
// all for reading; init's folder alone is the run's user's, who writes there.
func archive(files []engine.File, p *plan.Plan) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	madeInside := false
	for _, f := range files {
		name := path.Clean(f.Path)
		if !path.IsAbs(name) || name == "/" {
			return nil, fmt.Errorf("file %q cannot be put into a container: its path must be absolute", f.Path)
		}
		if path.Dir(name) == inside.Dir && !madeInside {
			madeInside = true
			user := p.Spec.Process.User
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: tarName(inside.Dir) + "/", Mode: 0o755,
				Uid: int(user.UID), Gid: int(user.GID), ModTime: time.Unix(0, 0)}); err != nil {
				return nil, fmt.Errorf("packing %s: %w", inside.Dir, err)
			}
		}
		data, err := f.Content()
		if err != nil {
			return nil, err
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: tarName(name), Mode: f.Mode & 0o7777,
			Uid: f.UID, Gid: f.GID, Size: int64(len(data)), ModTime: time.Unix(0, 0)}); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.Path, err)
		}
		if _, err := w.Write(data); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing a container's files: %w", err)
	}
	return buf.Bytes(), nil
}

func tarName(name string) string { return strings.TrimPrefix(name, "/") }

// putFiles puts files into a container that has not started.
func (e *Engine) putFiles(ctx context.Context, id string, p *plan.Plan, files []engine.File) error {
	if len(files) == 0 {
		return nil
	}
	data, err := archive(files, p)
	if err != nil {
		return err
	}
	return e.api.CopyToContainer(ctx, id, "/", bytes.NewReader(data), container.CopyToContainerOptions{})
}

// ReadFile reads a file of the container, which need not run, and follows
// symbolic links. It refuses a file of more than 16 MiB, and gives
// engine.ErrNotFound where there is no such file or no such container. What
// lies in a mount of the container's own (a tmpfs) cannot be read.
func (e *Engine) ReadFile(ctx context.Context, id, file string) ([]byte, error) {
	if err := e.connect(ctx); err != nil {
		return nil, err
	}
	for range maxLinks {
		data, target, err := e.readFile(ctx, id, file)
		if err != nil || target == "" {
			return data, err
		}
		file = target
	}
	return nil, fmt.Errorf("reading %s in the container: too many symbolic links", file)
}

// readFile reads a file, or gives the file that it is a link to.
func (e *Engine) readFile(ctx context.Context, id, file string) (data []byte, target string, err error) {
	content, stat, err := e.api.CopyFromContainer(ctx, id, file)
	if err != nil {
		return nil, "", e.explain(err, subject{container: id, file: file})
	}
	defer content.Close()
	switch {
	case stat.Mode&fs.ModeSymlink != 0:
		if stat.LinkTarget == "" {
			return nil, "", fmt.Errorf("reading %s in the container: it is a symbolic link to nowhere", file)
		}
		// Docker resolves the target, Podman gives it as the link has it.
		if !path.IsAbs(stat.LinkTarget) {
			return nil, path.Join(path.Dir(file), stat.LinkTarget), nil
		}
		return nil, stat.LinkTarget, nil
	case !stat.Mode.IsRegular():
		return nil, "", fmt.Errorf("reading %s in the container: it is no file", file)
	case stat.Size > maxReadFile:
		return nil, "", fmt.Errorf("reading %s in the container: it has %d bytes, more than the %d that are allowed", file, stat.Size, maxReadFile)
	}
	t := tar.NewReader(content)
	if _, err := t.Next(); err != nil {
		return nil, "", e.explainRead(err, file)
	}
	data, err = io.ReadAll(io.LimitReader(t, maxReadFile+1))
	switch {
	case err != nil:
		return nil, "", e.explainRead(err, file)
	case len(data) > maxReadFile:
		return nil, "", fmt.Errorf("reading %s in the container: it is larger than the %d bytes that are allowed", file, maxReadFile)
	}
	return data, "", nil
}

func (e *Engine) explainRead(err error, file string) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("reading %s in the container: %w", file, e.explain(err, subject{}))
}
