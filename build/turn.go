package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// takeTurn waits until no other build works on lockFile. The folder is locked,
// so no file is left behind, and the kernel ends the lock with the process.
// Where a folder cannot be locked (a network file system) builds go on side by
// side: the lock is still written in whole, and the last one stays.
func takeTurn(ctx context.Context, lockFile string, waiting func()) (unlock func(), err error) {
	folder, err := os.Open(filepath.Dir(lockFile))
	if err != nil {
		return func() {}, nil
	}
	for told := false; ; {
		err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return func() { _ = folder.Close() }, nil
		}
		if !told {
			told = true
			waiting()
		}
		select {
		case <-ctx.Done():
			_ = folder.Close()
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
