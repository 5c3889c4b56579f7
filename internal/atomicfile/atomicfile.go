// Package atomicfile writes files so that a reader finds the old content or the
// new one and nothing between, also after a crash.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace puts data at path with exactly the permissions of mode, in the place
// of what is there. A link stays, and what it names is replaced. The error
// names path; nothing else is left behind.
func Replace(path string, data []byte, mode fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return put(path, data, mode, os.Rename)
}

// Create is Replace for a path where nothing is, not even a link: else the
// error is an fs.ErrExist.
func Create(path string, data []byte, mode fs.FileMode) error {
	return put(path, data, mode, func(temp, path string) error {
		err := os.Link(temp, path)
		if err == nil {
			return os.Remove(temp)
		}
		if errors.Is(err, fs.ErrExist) {
			return fs.ErrExist
		}
		// A file system without hard links.
		if _, err := os.Lstat(path); err == nil {
			return fs.ErrExist
		}
		return os.Rename(temp, path)
	})
}

func put(path string, data []byte, mode fs.FileMode, publish func(temp, path string) error) (err error) {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			temp.Close()
			os.Remove(temp.Name())
			err = fmt.Errorf("writing %s: %w", path, err)
		}
	}()
	if _, err := temp.Write(data); err != nil {
		return err
	}
	if err := temp.Chmod(mode.Perm()); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if err := publish(temp.Name(), path); err != nil {
		return err
	}
	// Makes the rename last. Some network file systems cannot sync a folder;
	// the file itself is safe there as well.
	if folder, err := os.Open(dir); err == nil {
		_ = folder.Sync()
		folder.Close()
	}
	return nil
}
