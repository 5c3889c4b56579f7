package profiles

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"crun.dev/crun/internal/yamlfile"
)

// FileName is what a profiles file is called in every place but --profiles.
const FileName = "profiles.yaml"

// Discover finds and reads the profiles files for the working directory dir,
// the nearest first: those in dir and the folders above it up to the
// repository's root (the first folder with a .git; without one, up to /), the
// one in the user's folder userDir and the one in systemDir. "" leaves a
// folder out. A folder that everybody may write, such as /tmp, counts only
// with a file of the caller's own or of root's. The error is about a file that
// is there and cannot be read.
func Discover(dir, userDir, systemDir string) ([]File, error) {
	var files []File
	add := func(folder string, layer Layer) error {
		path := filepath.Join(folder, FileName)
		for _, have := range files {
			if same(have.Name, path, dir) {
				return nil
			}
		}
		file, err := ReadFile(path, layer)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return nil
		case layer == Project && errors.Is(err, fs.ErrPermission) && folder != dir:
			return nil // a folder above that is not the caller's to see
		case err != nil:
			return err
		}
		if layer == Project {
			file.Name = shorten(path, dir)
		}
		files = append(files, file)
		return nil
	}
	for folder := dir; folder != ""; folder = parent(folder) {
		if trusted(folder) {
			if err := add(folder, Project); err != nil {
				return nil, err
			}
		}
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			break
		}
	}
	for _, place := range []struct {
		folder string
		layer  Layer
	}{{userDir, User}, {systemDir, System}} {
		if place.folder != "" {
			if err := add(place.folder, place.layer); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// same tells whether a found file, named as messages name it, is path: the
// user's folder may lie above the working directory.
func same(name, path, dir string) bool {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return name == path
}

// parent is the folder above, or "" above the root.
func parent(folder string) string {
	up := filepath.Dir(folder)
	if up == folder {
		return ""
	}
	return up
}

// shorten names a file in or below dir by its path from there, others whole.
func shorten(path, dir string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// trusted tells whether a profiles file in folder was put there by somebody
// who may: in /tmp anybody could leave one for those who work below.
func trusted(folder string) bool {
	info, err := os.Stat(folder)
	if err != nil || info.Mode().Perm()&0o002 == 0 {
		return err == nil
	}
	if info, err = os.Lstat(filepath.Join(folder, FileName)); err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}

// ReadFile reads one profiles file, which messages name by path. A pipe is
// read for the Given layer alone. The error names the file.
func ReadFile(path string, layer Layer) (File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return File{}, err
	case info.IsDir() && layer == Project:
		// A folder of that name is somebody else's, not a file with a mistake.
		return File{}, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	case !info.Mode().IsRegular() && layer != Given, info.IsDir():
		return File{}, &fs.PathError{Op: "read", Path: path, Err: errors.New("is not a file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	// One byte past the limit is enough for the parser to refuse it.
	data, err := io.ReadAll(io.LimitReader(f, yamlfile.MaxSize+1))
	if err != nil {
		return File{}, err
	}
	return File{Name: path, Layer: layer, Data: data}, nil
}
