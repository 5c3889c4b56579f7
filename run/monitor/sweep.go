package monitor

import (
	"errors"
	"time"

	"crun.dev/crun/run/record"
)

// sweepWait bounds the wait for the first word of a monitor that adopts.
const sweepWait = 3 * time.Second

// Sweep starts a monitor for each run of the store whose own is dead before
// its record is complete, and waits a moment for it to find out how the run
// stands. Every command that looks at runs calls it first. The errors say
// which runs could not be seen to.
func Sweep(store *record.Store) []error {
	store.Clean(time.Now())
	all, err := store.List()
	if err != nil {
		return []error{err}
	}
	var errs []error
	var adopters []*Client
	for _, r := range all {
		if r.Complete() {
			continue
		}
		state, err := r.State()
		if err != nil || state.Complete {
			continue // what cannot be read is left for whoever asks for it
		}
		lock, err := r.TryLock()
		if err != nil {
			if !errors.Is(err, record.ErrLocked) && !errors.Is(err, record.ErrGone) {
				errs = append(errs, err)
			}
			continue
		}
		// Between the reading and the locking its monitor may have finished.
		if state, err := r.State(); err != nil || state.Complete {
			lock.Unlock()
			continue
		}
		c, err := Adopt(r, lock)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		adopters = append(adopters, c)
	}
	store.NoteComplete(all)
	deadline := time.After(sweepWait)
	for _, c := range adopters {
		select {
		case m := <-c.Messages():
			if m.What == Failed {
				errs = append(errs, errors.New(m.Error))
			}
		case <-deadline:
			return errs
		}
	}
	return errs
}
