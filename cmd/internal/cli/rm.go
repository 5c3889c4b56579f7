package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"crun.dev/crun/run/record"
)

// rmOptions are the flags of crun rm.
type rmOptions struct {
	runs  []string
	force bool
}

func newRmCmd(app *App, runF func(*rmOptions) error) *cobra.Command {
	o := &rmOptions{}
	cmd := &cobra.Command{
		Use:   "rm [flags] RUN...",
		Short: "Remove the records of runs that have ended",
		Long: `Remove the records of runs that have ended, with their logs. With --force a run
that has not ended is ended first.`,
		Example: `  crun rm train-7k2q
  crun rm --force night`,
		Args:              runArgs(0),
		ValidArgsFunction: app.completeRuns(nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.runs = args
			if runF != nil {
				return runF(o)
			}
			return app.rm(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "end a run that has not ended")
	return cmd
}

func (app *App) rm(ctx context.Context, o *rmOptions) error {
	store, runs, err := app.namedRuns(o.runs...)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range runs {
		errs = append(errs, app.rmRun(ctx, store, r, o.force))
	}
	return errors.Join(errs...)
}

func (app *App) rmRun(ctx context.Context, store *record.Store, r *record.Record, force bool) error {
	state, err := r.State()
	switch {
	case errors.Is(err, record.ErrGone):
		return nil // named twice
	case err != nil && !force:
		return fmt.Errorf("%w (crun rm --force %s removes it all the same)", err, r.ID)
	case err == nil && !state.Phase.Over() && !force:
		name := r.ID
		if p, err := r.Plan(); err == nil {
			name = p.Name
		}
		return fmt.Errorf("run %s has not ended: crun stop %s ends it, crun rm --force %s ends and removes it", name, name, name)
	case err == nil && !state.Phase.Over():
		if err := app.stopRun(ctx, r, "crun rm", -1); err != nil {
			return err
		}
	}
	lock, err := lockSoon(ctx, r)
	if err != nil {
		return fmt.Errorf("removing run %s: %w", r.ID, err)
	}
	// A container that could not be removed before is removed now, or the
	// record stays: without it nobody would know whose it is.
	if state, err := r.State(); err == nil && !state.Removed && state.Container != "" {
		if err := app.removeContainer(ctx, &state); err != nil {
			lock.Unlock()
			return fmt.Errorf("removing the container of run %s: %w", r.ID, err)
		}
	}
	return store.Remove(r, lock)
}

func (app *App) removeContainer(ctx context.Context, s *record.State) error {
	e, err := app.engineAt(ctx, s.Engine)
	if err != nil {
		return err
	}
	defer e.Close()
	return e.Remove(ctx, s.Container)
}

// lockTime bounds the wait for a monitor that compresses the log of a run that
// has just ended.
const lockTime = time.Minute

func lockSoon(ctx context.Context, r *record.Record) (*record.Lock, error) {
	deadline := time.After(lockTime)
	for {
		lock, err := r.TryLock()
		if !errors.Is(err, record.ErrLocked) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline:
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
