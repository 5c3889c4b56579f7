package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"crun.dev/crun/run/plan"
)

// tmpdirPause is the least time between two looks at a tmpdir on disk. One with
// many files is looked at more seldom: a look takes tmpdirShare of the time.
const (
	tmpdirPause = time.Second
	tmpdirShare = 20
)

// tmpdirWatch is what has been seen of a tmpdir. It may be read once done is
// closed.
type tmpdirWatch struct {
	nearly int64 // bytes, at nine tenths of its size; 0 where it never was
	over   int64 // bytes, when the run was ended for it
	done   chan struct{}
}

// watchTmpdir holds a run to the size of its tmpdir on disk, which few file
// systems can do for a user: it measures, and at the ceiling it ends the run.
func (o *Owner) watchTmpdir(ctx context.Context, id string) *tmpdirWatch {
	w := &tmpdirWatch{done: make(chan struct{})}
	size := o.plan.ScratchSize
	if o.plan.Scratch == "" || size <= 0 {
		close(w.done)
		return w
	}
	least := o.Pause
	if least == 0 {
		least = tmpdirPause
	}
	go func() {
		defer close(w.done)
		for pause := least; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			began := time.Now()
			used := DiskUse(ctx, o.plan.Scratch)
			pause = max(least, tmpdirShare*time.Since(began))
			attrs := map[string]string{"used": strconv.FormatInt(used, 10), "size": strconv.FormatInt(size, 10)}
			switch {
			case used > size:
				w.over = used
				o.event("tmpdir full", attrs)
				o.endFor(ctx, id)
				return
			case used >= size/10*9 && w.nearly == 0:
				w.nearly = used
				o.event("tmpdir nearly full", attrs)
				text := o.nearlyFull(used)
				o.log.Gap(0, text)
				if o.Noted != nil {
					o.Noted(text)
				}
			}
		}
	}()
	return w
}

// endFor ends the run: SIGTERM, and SIGKILL after the grace time.
func (o *Owner) endFor(ctx context.Context, id string) {
	for _, signal := range []string{"SIGTERM", "SIGKILL"} {
		if err := Signal(ctx, o.Engine, o.Record, id, "monitor", signal); err != nil && ctx.Err() == nil {
			o.event("signal failed", map[string]string{"message": err.Error()})
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(o.plan.Grace)):
		}
	}
}

// seen puts into the state what was seen of the tmpdir.
func (o *Owner) seen(w *tmpdirWatch) {
	<-w.done
	if w.over > 0 {
		o.state.TmpdirUsed = w.over
	} else if w.nearly > 0 {
		o.warn(errors.New(o.nearlyFull(w.nearly)))
	}
}

// nearlyFull is what is said of a tmpdir while there is time to do something.
func (o *Owner) nearlyFull(used int64) string {
	size := plan.FormatBytes(o.plan.ScratchSize)
	return fmt.Sprintf("the run's tmpdir has %s of its %s on disk; above %s the run is ended: remove what is not needed, more is --tmpdir SIZE,disk",
		plan.FormatBytes(used), size, size)
}

// DiskUse is what the files below folder take of their disk, in bytes, each
// once whatever its names. Files that are open and have no name any more are
// not among them.
func DiskUse(ctx context.Context, folder string) (bytes int64) {
	type inode struct{ device, number uint64 }
	seen := map[inode]bool{}
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil // removed meanwhile, or closed
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		if stat.Nlink > 1 && !entry.IsDir() {
			id := inode{uint64(stat.Dev), stat.Ino}
			if seen[id] {
				return nil
			}
			seen[id] = true
		}
		bytes += stat.Blocks * 512
		return nil
	})
	return bytes
}
