package launch

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/opencontainers/runtime-spec/specs-go"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
)

// shareName is the record's folder that stands as inside.Dir in the container.
const shareName = "inside"

// ShareDir is the folder of a record that its container writes to, where the
// engine is on this machine.
func ShareDir(recordDir string) string { return filepath.Join(recordDir, shareName) }

// share gives the container its files by a folder of the record, mounted as
// inside.Dir. Every copy into a container or out of it costs an engine a tenth
// of a second, and what init has written is still there when the container is
// not. It gives the plan to create the container by, which is not the one of
// the record.
func (o *Owner) share(files []engine.File) (*plan.Plan, error) {
	dir := ShareDir(o.Record.Dir())
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return nil, fmt.Errorf("making the folder that the run shares with its record: %w", err)
	}
	// Whoever the run is inside may write here. Nobody else gets this far: the
	// record's folder is the caller's alone.
	if err := os.Chmod(dir, 0o777); err != nil {
		return nil, err
	}
	mounts := []specs.Mount{{Destination: inside.Dir, Source: dir, Type: "bind", Options: []string{"rbind", "rprivate", "rw"}}}
	for _, file := range files {
		name, ok := strings.CutPrefix(path.Clean(file.Path), inside.Dir+"/")
		if !ok || strings.Contains(name, "/") {
			return nil, fmt.Errorf("file %s is not in %s", file.Path, inside.Dir)
		}
		at := filepath.Join(dir, name)
		if file.Name != "" && o.Record.Link(file.Name, file.Load, at) == nil {
			// The file is that of other runs too.
			mounts = append(mounts, specs.Mount{Destination: file.Path, Source: at, Type: "bind", Options: []string{"rbind", "rprivate", "ro"}})
			continue
		}
		data, err := file.Content()
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(at, data, os.FileMode(file.Mode)); err != nil {
			return nil, err
		}
		if err := os.Chmod(at, os.FileMode(file.Mode)); err != nil {
			return nil, err
		}
	}
	p := *o.plan
	process := *p.Spec.Process
	process.Args = inside.Command(process.Args)
	p.Spec.Process = &process
	p.Spec.Mounts = slices.Concat(p.Spec.Mounts, mounts)
	return &p, nil
}

// maxShared bounds what is read of a file that the run could have written, in
// bytes. Init's are a few KiB.
const maxShared = 1 << 20

func (o *Owner) shared(name string) []byte { return ReadShared(o.Record.Dir(), name) }

// ReadShared reads a file of inside.Dir from the folder of a record; nil where
// there is none. What is no plain file is none: the run could have put a link
// to any file of the caller's there.
func ReadShared(recordDir, name string) []byte {
	root, err := os.OpenRoot(ShareDir(recordDir))
	if err != nil {
		return nil
	}
	defer root.Close()
	// Without O_NONBLOCK a pipe of that name would hold the monitor for ever.
	file, err := root.OpenFile(path.Base(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxShared {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(file, maxShared))
	if err != nil {
		return nil
	}
	return data
}

// unshare removes the folder; its files are in the record.
func (o *Owner) unshare() {
	os.RemoveAll(ShareDir(o.Record.Dir()))
}

// shares tells whether the container has a folder of the record.
func (o *Owner) shares() bool {
	_, err := os.Lstat(ShareDir(o.Record.Dir()))
	return err == nil
}
