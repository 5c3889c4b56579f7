package bundle

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// unpack unpacks the files of an image below folder, with owners, modes, times
// and capabilities. An image may come from anywhere: nothing is written outside
// of folder, through whatever links it has. Devices are left out: a runtime
// makes its own.
func unpack(r io.Reader, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	var folders []*tar.Header // whose times change while they are filled
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if name == "" || name == ".dockerenv" { // which tells programs that they are in Docker
			continue
		}
		if err := put(root, name, h, t); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
		if h.Typeflag == tar.TypeDir {
			folders = append(folders, h)
		}
	}
	for _, h := range folders {
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if err := root.Chtimes(name, h.ModTime, h.ModTime); err != nil {
			return err
		}
	}
	return nil
}

// put makes one file.
func put(root *os.Root, name string, h *tar.Header, data io.Reader) error {
	if parent := path.Dir(name); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	if h.Typeflag != tar.TypeDir {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	case tar.TypeReg:
		return putFile(root, name, h, data)
	case tar.TypeSymlink:
		if err := root.Symlink(h.Linkname, name); err != nil {
			return err
		}
		return root.Lchown(name, h.Uid, h.Gid)
	case tar.TypeLink:
		return root.Link(strings.TrimPrefix(path.Clean("/"+h.Linkname), "/"), name)
	default: // devices and pipes
		return nil
	}
	if err := root.Lchown(name, h.Uid, h.Gid); err != nil {
		return err
	}
	return root.Chmod(name, h.FileInfo().Mode()&modeBits)
}

const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

func putFile(root *os.Root, name string, h *tar.Header, data io.Reader) (err error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, data); err != nil {
		return err
	}
	if err := f.Chown(h.Uid, h.Gid); err != nil {
		return err
	}
	// After the owner, whose change takes these away.
	if err := f.Chmod(h.FileInfo().Mode() & modeBits); err != nil {
		return err
	}
	for key, value := range h.PAXRecords {
		if attr, ok := strings.CutPrefix(key, "SCHILY.xattr."); ok && attr == "security.capability" {
			if err := unix.Fsetxattr(int(f.Fd()), attr, []byte(value), 0); err != nil {
				return fmt.Errorf("setting %s: %w", attr, err)
			}
		}
	}
	return root.Chtimes(name, h.ModTime, h.ModTime)
}
