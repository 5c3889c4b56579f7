package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A disk that is full must not leave a run "running" for ever: its end has to
// be written, and no block is free for it. So a record keeps two files of
// spareSize bytes, whose blocks are there. A state goes into one of them and
// changes places with state.json, which needs no block more. There are two
// because the state that comes back from the first change is a small one.
const spareSize = 16 << 10

var spares = []string{"spare-1", "spare-2"}

// FullWarning is in the state of a run that could be written in a spare place
// alone.
const FullWarning = "the disk of the run's record is full: its log and its counters may not be whole"

// full tells whether err says that there is no room.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// makeSpares makes the spare files in the folder of a record.
func (f *files) makeSpares(dir string) error {
	for _, name := range spares {
		if err := f.step("create " + name); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte(" "), spareSize), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func removeSpares(dir string) {
	for _, name := range spares {
		os.Remove(filepath.Join(dir, name))
	}
}

// setStateFull writes the state where the disk has no room for another file.
func (r *Record) setStateFull(s State) error {
	if !slices.Contains(s.Warnings, FullWarning) {
		s.Warnings = append(slices.Clone(s.Warnings), FullWarning)
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	spare, size := r.largestSpare()
	if int64(len(data)) >= size {
		return syscall.ENOSPC
	}
	// JSON may end in blanks, and a file that is cut gives its blocks away.
	data = append(data, strings.Repeat(" ", int(size)-len(data)-1)...)
	if err := overwrite(spare, append(data, '\n')); err != nil {
		return err
	}
	path := filepath.Join(r.dir, "state.json")
	if err := r.store.files.step("exchange state.json"); err != nil {
		return err
	}
	err = unix.Renameat2(unix.AT_FDCWD, spare, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // not on every file system
		err = os.Rename(spare, path)
	}
	return err
}

func (r *Record) largestSpare() (path string, size int64) {
	for _, name := range spares {
		at := filepath.Join(r.dir, name)
		if info, err := os.Lstat(at); err == nil && info.Mode().IsRegular() && info.Size() > size {
			path, size = at, info.Size()
		}
	}
	return path, size
}

// overwrite writes data over the beginning of a file that is there.
func overwrite(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(data, 0)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
