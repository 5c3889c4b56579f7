package record

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Kinds of network file systems, where flock and rename are not what a record
// needs and a week's log would go over the wire.
const (
	nfsMagic    = 0x6969
	smbMagic    = 0x517b
	cifsMagic   = 0xff534d42
	smb2Magic   = 0xfe534d42
	afsMagic    = 0x5346414f
	lustreMagic = 0x0bd00bd0
	gpfsMagic   = 0x47504653
)

// DefaultDir is where the caller's records are: $XDG_STATE_HOME/crun/runs, by
// default ~/.local/state/crun/runs. Where that lies on a network file system
// it is /var/tmp/crun-UID/runs.
func DefaultDir(getenv func(string) string) (string, error) {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the XDG specification has relative ones ignored
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("no place for run records: HOME is %q; set XDG_STATE_HOME to a folder", home)
		}
		state = filepath.Join(home, ".local", "state")
	}
	if onNetwork(state) {
		local := fmt.Sprintf("/var/tmp/crun-%d", os.Getuid())
		if err := ownFolder(local); err != nil {
			return "", err
		}
		state = local
		return filepath.Join(state, "runs"), nil
	}
	return filepath.Join(state, "crun", "runs"), nil
}

// onNetwork looks at the nearest folder that is there.
func onNetwork(path string) bool {
	var fs syscall.Statfs_t
	for {
		err := syscall.Statfs(path, &fs)
		if err == nil {
			break
		}
		parent := filepath.Dir(path)
		if parent == path {
			return false
		}
		path = parent
	}
	switch uint32(fs.Type) {
	case nfsMagic, smbMagic, cifsMagic, smb2Magic, afsMagic, lustreMagic, gpfsMagic:
		return true
	}
	return false
}

// ownFolder makes path for the caller alone. /var/tmp is everyone's, so one
// that is there already must be ours.
func ownFolder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return fmt.Errorf("making a local folder for run records: %w", err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a folder of yours alone: set XDG_STATE_HOME to a folder on a local disk", path)
	}
	return nil
}
