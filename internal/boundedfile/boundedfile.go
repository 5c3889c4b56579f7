// Package boundedfile reads files that somebody else may have made. Opening a
// named pipe waits for a writer, deaf to signals, and a device may have no end:
// both are refused, and so is a file that is larger than any of its kind.
package boundedfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Read gives the content of the regular file at path, or of the one that a link
// there names: at most limit bytes. The error is an *fs.PathError.
func Read(path string, limit int64) ([]byte, error) {
	return read(path, limit, os.Stat, func(name string) (fs.File, error) { return os.Open(name) })
}

// ReadFS is Read for a file of fsys.
func ReadFS(fsys fs.FS, name string, limit int64) ([]byte, error) {
	return read(name, limit, func(name string) (fs.FileInfo, error) { return fs.Stat(fsys, name) }, fsys.Open)
}

func read(name string, limit int64, stat func(string) (fs.FileInfo, error), open func(string) (fs.File, error)) ([]byte, error) {
	info, err := stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is no regular file")}
	}
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// It may grow while it is read.
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("is larger than %d KiB", limit>>10)}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
