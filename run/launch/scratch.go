package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// makeScratch makes the run's /tmp on disk: below a folder that is the
// caller's alone one as /tmp is. What is there already was made by somebody
// else: the scratch root may be open to all, and the run's id can be seen by
// then.
func (o *Owner) makeScratch() error {
	if o.plan.Scratch == "" {
		return nil
	}
	tmp := o.plan.ScratchTmp()
	err := os.Mkdir(o.plan.Scratch, 0o700)
	if err == nil {
		if err = os.Mkdir(tmp, 0o700); err == nil {
			err = os.Chmod(tmp, 0o777|fs.ModeSticky)
		}
		if err != nil {
			o.removeScratch()
		}
	}
	if err != nil {
		return fmt.Errorf("making the run's tmpdir: %w; see 'scratch' in /etc/crun/config.yaml, or use --tmpdir SIZE for one in memory", err)
	}
	return nil
}

func (o *Owner) removeScratch() {
	if o.plan.Scratch == "" {
		return
	}
	if err := removeAll(o.plan.Scratch); err != nil {
		o.warn(fmt.Errorf("the run's tmpdir is still there: %w", err))
	}
}

// removeAll removes what is the caller's own, folders without write permission
// too.
func removeAll(folder string) error {
	err := os.RemoveAll(folder)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if entry == nil || !entry.IsDir() {
			return nil
		}
		if err != nil { // read before it was opened
			return nil
		}
		_ = os.Chmod(path, 0o700)
		return nil
	})
	return os.RemoveAll(folder)
}
