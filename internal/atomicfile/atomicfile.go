// Package atomicfile writes files so that a reader finds the old content or the
// new one and nothing between, also after a crash.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace puts data at path with exactly the permissions of mode, in the place
// of what is there. A link stays, and what it names is replaced. What is no file
// (a pipe, a device) is written into: something else in its place would be its
// end. The error names path; nothing else is left behind.
func Replace(path string, data []byte, mode fs.FileMode) error {
	return Fill(path, mode, all(data))
}

// Fill is Replace for what write gives, which may be large.
func Fill(path string, mode fs.FileMode, write func(io.Writer) error) error {
	path = followed(path)
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return fmt.Errorf("writing %s: it is a folder", path)
	case err == nil && !info.Mode().IsRegular():
		return into(path, write)
	}
	return put(path, mode, write, os.Rename)
}

// followed is where the links at path lead, whether something is there or not.
// Links that go round in a circle lead nowhere: path itself.
func followed(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	place := path
	for range 40 { // as many as the kernel follows
		target, err := os.Readlink(place)
		if err != nil {
			return place
		}
		if !filepath.IsAbs(target) {
			target = filepath.Dir(place) + string(filepath.Separator) + target
		}
		folder, base := filepath.Split(target)
		if folder, err = filepath.EvalSymlinks(folder); err != nil {
			return target // the write says what is not there
		}
		place = filepath.Join(folder, base)
	}
	return path
}

// all writes data.
func all(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// into writes into what lies at path.
func into(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		err = errors.Join(write(f), f.Close())
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// Create is Replace for a path where nothing is, not even a link: else the
// error is an fs.ErrExist.
func Create(path string, data []byte, mode fs.FileMode) error {
	return put(path, mode, all(data), func(temp, path string) error {
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

func put(path string, mode fs.FileMode, write func(io.Writer) error, publish func(temp, path string) error) (err error) {
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
	if err := write(temp); err != nil {
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
