package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"crun.dev/crun/internal/atomicfile"
)

// keptName is the folder of a store that has files which many runs are given.
// Each run has names of its own for them (hard links), so that they can be
// removed from here at any time.
const keptName = ".kept"

// Link puts the file called name at path, on the store's own disk, where nobody
// may write to it. Load gives what is in it, where no run before has had it. A
// file system without hard links gives an error, and path is not there then.
func (r *Record) Link(name string, load func() ([]byte, error), path string) error {
	kept := filepath.Join(r.store.dir, keptName, name)
	err := os.Link(kept, path)
	if !gone(err) {
		return err
	}
	if err := r.store.keep(kept, load); err != nil {
		return err
	}
	return os.Link(kept, path)
}

// keep puts a file into the folder, and removes those of other programs, which
// were there before an update.
func (s *Store) keep(path string, load func() ([]byte, error)) error {
	data, err := load()
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	if err := atomicfile.Replace(path, data, 0o555); err != nil {
		return fmt.Errorf("keeping what runs are given: %w", err)
	}
	kind, _, _ := strings.Cut(filepath.Base(path), "-")
	others, _ := filepath.Glob(filepath.Join(dir, kind+"-*")) // the patterns are fixed: no error
	torn, _ := filepath.Glob(filepath.Join(dir, ".*"))
	for _, other := range append(others, torn...) {
		if other != path && !justMade(other) {
			os.Remove(other)
		}
	}
	return nil
}

// justMade tells of a file that another command may be about to use.
func justMade(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && time.Since(info.ModTime()) < time.Minute
}
