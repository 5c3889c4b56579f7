// Package turn lets processes work one after another.
package turn

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Take waits until no other process has taken its turn at folder, and calls
// waiting once where it has to. The folder itself is locked (flock), so no file
// is left behind, whoever may read the folder can take part, and the kernel ends
// the lock with the process. Where a folder cannot be locked (a network file
// system) processes go on side by side. The error is the context's.
func Take(ctx context.Context, folder string, waiting func()) (leave func(), err error) {
	opened, err := os.Open(folder)
	if err != nil {
		return func() {}, nil
	}
	for told := false; ; {
		err := unix.Flock(int(opened.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return func() { _ = opened.Close() }, nil
		}
		if !told {
			told = true
			waiting()
		}
		select {
		case <-ctx.Done():
			_ = opened.Close()
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
