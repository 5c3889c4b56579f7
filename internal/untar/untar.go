// Package untar writes the files of an image to a folder.
package untar

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

// modeBits are what chmod can set.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// Files writes the entries of a tar below root, with modes and times. An image
// may come from anywhere: nothing is written outside of root, through whatever
// links it has. Owners and capabilities are kept for root alone, who may give
// them; devices and pipes are left out. Errors name the entry.
func Files(root *os.Root, archive io.Reader) error {
	w := writer{root: root, owners: os.Geteuid() == 0}
	var folders []*tar.Header
	for entries := tar.NewReader(archive); ; {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name := inside(h.Name)
		if name == "" {
			continue
		}
		if err := w.put(name, h, entries); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		if h.Typeflag == tar.TypeDir {
			folders = append(folders, h)
		}
	}
	// Last of all: some modes let nobody write, and times change while a folder is filled.
	for _, h := range folders {
		name := inside(h.Name)
		if err := root.Chmod(name, h.FileInfo().Mode()&modeBits); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		if err := root.Chtimes(name, h.ModTime, h.ModTime); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}

// inside is an entry's path below the root.
func inside(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

type writer struct {
	root   *os.Root
	owners bool // may be given
}

// put writes one entry; a folder's mode and times come later.
func (w writer) put(name string, h *tar.Header, data io.Reader) error {
	if parent := path.Dir(name); parent != "." {
		if err := w.root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	if h.Typeflag != tar.TypeDir {
		if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if err := w.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return w.chown(name, h)
	case tar.TypeReg:
		return w.putFile(name, h, data)
	case tar.TypeSymlink:
		if err := w.root.Symlink(h.Linkname, name); err != nil {
			return err
		}
		return w.chown(name, h)
	case tar.TypeLink:
		return w.root.Link(inside(h.Linkname), name)
	default: // devices and pipes
		return nil
	}
}

func (w writer) chown(name string, h *tar.Header) error {
	if !w.owners {
		return nil
	}
	return w.root.Lchown(name, h.Uid, h.Gid)
}

func (w writer) putFile(name string, h *tar.Header, data io.Reader) (err error) {
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, data); err != nil {
		return err
	}
	if w.owners {
		if err := f.Chown(h.Uid, h.Gid); err != nil {
			return err
		}
	}
	// After the owner, whose change takes the bits of setuid away.
	if err := f.Chmod(h.FileInfo().Mode() & modeBits); err != nil {
		return err
	}
	if capability := h.PAXRecords["SCHILY.xattr.security.capability"]; w.owners && capability != "" {
		if err := unix.Fsetxattr(int(f.Fd()), "security.capability", []byte(capability), 0); err != nil {
			return fmt.Errorf("setting its capabilities: %w", err)
		}
	}
	return w.root.Chtimes(name, h.ModTime, h.ModTime)
}
