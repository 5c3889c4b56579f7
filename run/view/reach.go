package view

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"crun.dev/crun/internal/mountinfo"
)

// Daemon is what decides which files an engine of this machine can show.
type Daemon struct {
	Rootless bool // it is the caller's own, and not root's
	SELinux  bool // it labels its containers
}

// patience is how long a file system may take to answer: one whose server is
// gone never does.
const patience = 5 * time.Second

// Reach says why a run would not see path, which the caller names, and what
// works instead; nil where nothing speaks against it.
func (d Daemon) Reach(path string) error {
	answer := make(chan error, 1)
	go func() { answer <- d.reach(path) }()
	select {
	case err := <-answer:
		return err
	case <-time.After(patience):
		return fmt.Errorf("%s does not answer for %s: its server may be gone (see with \"mount\" where it comes from)", path, patience)
	}
}

func (d Daemon) reach(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if target, linkErr := os.Readlink(path); linkErr == nil {
			return fmt.Errorf("%s is a link to %s, which does not exist", path, target)
		}
		return fmt.Errorf("there is no %s on this machine", path)
	case errors.Is(err, syscall.ENOTCONN), errors.Is(err, syscall.ESTALE), errors.Is(err, syscall.EIO):
		return fmt.Errorf("%s cannot be read (%w): mount its file system anew", path, cause(err))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s is closed to you: %s", path, closed(filepath.Dir(path)))
	case err != nil:
		return fmt.Errorf("%s cannot be read: %w", path, cause(err))
	}
	mode := uint32(unix.R_OK)
	if info.IsDir() {
		mode |= unix.X_OK
	}
	if err := unix.Access(path, mode); err != nil {
		return fmt.Errorf("%s is closed to you: %s", path, closed(path))
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	if err := d.fuse(real, on(mountPoints(), real)); err != nil {
		return err
	}
	if d.SELinux && enforcing() {
		return labelled(real, label(real))
	}
	return nil
}

// fuse refuses what a daemon of root's may not look into: a FUSE file system is
// its owner's alone, unless it was mounted for others (fuse(8), allow_other).
func (d Daemon) fuse(path string, m mountinfo.Mount) error {
	if d.Rootless || m.Kind != "fuse" && !strings.HasPrefix(m.Kind, "fuse.") ||
		slices.Contains(m.Options, "allow_other") || slices.Contains(m.Options, "user_id=0") {
		return nil
	}
	return fmt.Errorf("%s lies on %s (%s), which its owner alone may look into, and the engine runs as root: mount it with -o allow_root or -o allow_other (user_allow_other in /etc/fuse.conf permits that), copy what the run reads to a disk, or use a rootless engine of your own",
		path, m.Point, m.Kind)
}

// closed names the first folder on the way to path that keeps the caller out.
func closed(path string) string {
	folder := "/"
	for _, name := range append([]string{""}, strings.Split(strings.TrimPrefix(path, "/"), "/")...) {
		folder = filepath.Join(folder, name)
		mode := uint32(unix.X_OK)
		if folder == path {
			mode = unix.R_OK
		}
		if unix.Access(folder, mode) == nil {
			continue
		}
		info, err := os.Stat(folder)
		if err != nil {
			break
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			break
		}
		owner := strconv.FormatUint(uint64(stat.Uid), 10)
		if u, err := user.LookupId(owner); err == nil {
			owner = u.Username
		}
		return fmt.Sprintf("%s is %s's, mode %04o, and a run has your rights; ask %s to open it to you (chmod o+rx, or a group that you are in)",
			folder, owner, info.Mode().Perm(), owner)
	}
	return "permission denied, and a run has your rights"
}

func cause(err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno
	}
	return err
}

func enforcing() bool {
	data, err := os.ReadFile("/sys/fs/selinux/enforce")
	return err == nil && strings.TrimSpace(string(data)) == "1"
}

// label is a file's SELinux label, "" where it has none.
func label(path string) string {
	var buffer [256]byte
	n, err := unix.Getxattr(path, "security.selinux", buffer[:])
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(buffer[:n]), "\x00")
}

// containerTypes are the types of files that containers may read
// (container_selinux(8)); network file systems have theirs from the mount.
var containerTypes = []string{
	"container_file_t", "container_ro_file_t", "container_share_t", "svirt_sandbox_file_t", "nfs_t", "cifs_t", "fusefs_t", "cephfs_t",
}

// labelled refuses a file whose label keeps containers out.
func labelled(path, label string) error {
	parts := strings.Split(label, ":")
	if len(parts) < 3 || slices.Contains(containerTypes, parts[2]) {
		return nil
	}
	return fmt.Errorf("SELinux keeps containers out of %s (it is %s): label it for them with chcon -R -t container_file_t %s, or for good with semanage fcontext and restorecon", path, parts[2], path)
}
