package record

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// files does the writing of a store. Tests put a fault in the way of each
// step, to see what a crash between any two of them leaves.
type files struct {
	fault func(step string) error
	reads atomic.Int64 // of files, for tests of how much work a list is
}

func (f *files) read(path string) ([]byte, error) {
	f.reads.Add(1)
	return os.ReadFile(path)
}

func (f *files) step(name string) error {
	if f.fault == nil {
		return nil
	}
	return f.fault(name)
}

// replace writes data to path so that a reader, or the next boot, finds the
// old or the new content and nothing between. With durable the new one is on
// the disk when replace returns; without it a power cut may bring the old one
// back.
func (f *files) replace(path string, data []byte, durable bool) error {
	temporary := path + ".tmp"
	if err := f.write(temporary, data); err != nil {
		os.Remove(temporary)
		return err
	}
	if err := f.rename(temporary, path); err != nil {
		os.Remove(temporary)
		return err
	}
	if !durable {
		return nil
	}
	return f.syncDir(filepath.Dir(path))
}

// write makes path anew with data, and syncs it.
func (f *files) write(path string, data []byte) error {
	file, err := f.begin(path, data)
	if err != nil {
		return err
	}
	return errors.Join(f.sync(path, file), file.Close())
}

// writeBoth is write of two files, which go to the disk together.
func (f *files) writeBoth(path string, data []byte, path2 string, data2 []byte) error {
	file, err := f.begin(path, data)
	if err != nil {
		return err
	}
	defer file.Close()
	file2, err := f.begin(path2, data2)
	if err != nil {
		return err
	}
	defer file2.Close()
	if err := f.step("sync " + filepath.Base(path)); err != nil {
		return err
	}
	synced := make(chan error, 1)
	go func() { synced <- file.Sync() }()
	err = f.sync(path2, file2)
	return errors.Join(<-synced, err)
}

// begin makes path anew with data that is not on the disk yet.
func (f *files) begin(path string, data []byte) (*os.File, error) {
	if err := f.step("create " + filepath.Base(path)); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	half := len(data) / 2
	_, err = file.Write(data[:half])
	if err == nil {
		err = f.step("write " + filepath.Base(path))
	}
	if err == nil {
		_, err = file.Write(data[half:])
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func (f *files) sync(path string, file *os.File) error {
	if err := f.step("sync " + filepath.Base(path)); err != nil {
		return err
	}
	return file.Sync()
}

func (f *files) rename(from, to string) error {
	if err := f.step("rename " + filepath.Base(to)); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func (f *files) mkdir(path string) error {
	if err := f.step("mkdir " + filepath.Base(path)); err != nil {
		return err
	}
	return os.Mkdir(path, 0o700)
}

// append adds a line to path with one write, so that those of several
// processes do not mix. A torn line that a crash left at the end is closed
// first.
func (f *files) append(path string, data []byte) error {
	if err := f.step("append " + filepath.Base(path)); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	var last [1]byte
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		if _, err := file.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
			data = append([]byte{'\n'}, data...)
		}
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

func (f *files) syncDir(path string) error {
	if err := f.step("sync folder"); err != nil {
		return err
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// exists tells whether path is there; what cannot be looked at is not.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// gone tells whether err says that a file is not there.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
