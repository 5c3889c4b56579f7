package buildkit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/moby/buildkit/util/staticfs"
	"github.com/tonistiigi/fsutil"
	"github.com/tonistiigi/fsutil/types"
)

// memory is a file system that holds files and the folders above them. Scripts
// (without an ending) may be run, so everything may be.
func memory(files map[string][]byte) fsutil.FS {
	m := &memoryFS{staticfs.NewFS()}
	folders := map[string]bool{}
	for name, data := range files {
		for folder := path.Dir(name); folder != "." && !folders[folder]; folder = path.Dir(folder) {
			folders[folder] = true
			m.Add(folder, &types.Stat{Mode: uint32(os.ModeDir | 0o755)}, nil)
		}
		m.Add(name, &types.Stat{Mode: 0o755, ModTime: modTime(data)}, data)
	}
	return m
}

// modTime makes a time of modification from a file's content. BuildKit keeps
// what it was sent and asks anew only for files whose size or time differs: with
// one time for all, an edit that keeps the length would build the old file.
func modTime(data []byte) int64 {
	sum := sha256.Sum256(data)
	return int64(binary.BigEndian.Uint64(sum[:]) >> 2) // nanoseconds, before the year 2117
}

// memoryFS is a staticfs whose folders can be skipped.
type memoryFS struct{ *staticfs.FS }

func (m *memoryFS) Walk(ctx context.Context, target string, fn fs.WalkDirFunc) error {
	skipped := ""
	return m.FS.Walk(ctx, target, func(name string, entry fs.DirEntry, err error) error {
		if skipped != "" && strings.HasPrefix(name, skipped) {
			return nil
		}
		err = fn(name, entry, err)
		if errors.Is(err, fs.SkipDir) && entry.IsDir() {
			skipped, err = name+"/", nil
		}
		return err
	})
}
