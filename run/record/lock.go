package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLocked says that a living monitor owns the run.
var ErrLocked = errors.New("the run has a monitor")

// Lock is the right to change a record. It belongs to whoever holds the open
// file, which a child process can inherit, and ends with the last of them,
// however that dies.
type Lock struct{ file *os.File }

// TryLock takes the lock of a record. ErrLocked: a monitor has it; ErrGone:
// the record is no longer there.
func (r *Record) TryLock() (*Lock, error) {
	path := filepath.Join(r.dir, "lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if gone(err) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	if err := flock(file); err != nil {
		file.Close()
		return nil, err
	}
	// Between the opening and the locking the record may have been removed.
	mine, err := file.Stat()
	if err == nil {
		var now os.FileInfo
		if now, err = os.Stat(path); err == nil && !os.SameFile(mine, now) {
			err = ErrGone
		}
	}
	if err != nil {
		file.Close()
		if gone(err) {
			err = ErrGone
		}
		return nil, err
	}
	return &Lock{file}, nil
}

// Owned tells whether a living process holds the record's lock.
func (r *Record) Owned() bool {
	lock, err := r.TryLock()
	if err == nil {
		lock.Unlock()
	}
	return errors.Is(err, ErrLocked)
}

// InheritLock takes over the lock that the parent process passed as an open
// file. Children of this process will not have it.
func InheritLock(fd uintptr) (*Lock, error) {
	syscall.CloseOnExec(int(fd))
	file := os.NewFile(fd, "lock")
	if file == nil {
		return nil, fmt.Errorf("inheriting the lock: descriptor %d is not open", fd)
	}
	// The lock is the open file's, so this succeeds at once; with any other
	// file it would say so.
	if err := flock(file); err != nil {
		return nil, fmt.Errorf("inheriting the lock: %w", err)
	}
	return &Lock{file}, nil
}

// File is what to pass to a child process.
func (l *Lock) File() *os.File { return l.file }

// Unlock closes this process's hold on the lock.
func (l *Lock) Unlock() error { return l.file.Close() }

func flock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		case err != nil:
			return fmt.Errorf("locking %s: %w", file.Name(), err)
		default:
			return nil
		}
	}
}
