package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/record"
)

// stopOptions are the flags of crun stop.
type stopOptions struct {
	runs  []string
	grace time.Duration // negative: the run's own
}

func newStopCmd(app *App, runF func(*stopOptions) error) *cobra.Command {
	o := &stopOptions{}
	cmd := &cobra.Command{
		Use:   "stop [flags] RUN...",
		Short: "End runs",
		Long: `Send SIGTERM to runs, and SIGKILL to those that have not ended after their grace
time. The command returns when they have ended; their records stay.`,
		Example: `  crun stop train-7k2q
  crun stop --grace 2m train-7k2q eval-0q3n`,
		Args:              runArgs(0),
		ValidArgsFunction: app.completeRuns(isActive),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.runs = args
			if !cmd.Flags().Changed("grace") {
				o.grace = -1
			}
			if runF != nil {
				return runF(o)
			}
			return app.stop(cmd.Context(), o)
		},
	}
	cmd.Flags().Var((*timeFlag)(&o.grace), "grace", "`TIME` between SIGTERM and SIGKILL (default: the run's own)")
	return cmd
}

func (app *App) stop(ctx context.Context, o *stopOptions) error {
	_, runs, err := app.namedRuns(o.runs...)
	if err != nil {
		return err
	}
	errs := make([]error, len(runs))
	var all errgroup.Group
	for i, r := range runs {
		all.Go(func() error {
			errs[i] = app.stopRun(ctx, r, "crun stop", o.grace)
			return nil
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// stopRun ends one run; a run that is over is no error, and said.
func (app *App) stopRun(ctx context.Context, r *record.Record, by string, grace time.Duration) error {
	state, err := r.State()
	if err != nil {
		return err
	}
	p, err := r.Plan()
	if err != nil {
		return err
	}
	if state.Phase.Over() {
		app.note("run %s had ended already", p.Name)
		return nil
	}
	if grace < 0 {
		grace = time.Duration(p.Grace)
	}
	e, err := app.engineAt(ctx, state.Engine)
	if err != nil {
		return err
	}
	defer e.Close()
	if err := app.stopOwned(ctx, e, r, by, grace); err != nil {
		return fmt.Errorf("stopping %s: %w", p.Name, err)
	}
	return nil
}

// orphanPause is the time between two looks whether a run's monitor has died
// while somebody waits for it.
const orphanPause = 500 * time.Millisecond

// stopOwned ends a run, and has another monitor take it up where its own dies
// meanwhile: nobody else would write the end.
func (app *App) stopOwned(ctx context.Context, e engine.Engine, r *record.Record, by string, grace time.Duration) error {
	done := make(chan struct{})
	var looks sync.WaitGroup
	looks.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(orphanPause):
			}
			if state, err := r.State(); err != nil || state.Complete || r.Owned() {
				continue
			}
			if store, err := app.openStore(); err == nil {
				app.sweep(store)
			}
		}
	})
	err := launch.Stop(ctx, e, r, by, grace)
	close(done)
	looks.Wait()
	if err == nil || ctx.Err() != nil || r.Owned() {
		return err
	}
	// It died before the first look, and the run with the signal.
	store, openErr := app.openStore()
	if openErr != nil {
		return err
	}
	app.sweep(store)
	for {
		if state, readErr := r.State(); readErr == nil && state.Complete {
			return nil
		}
		if !r.Owned() { // nobody can write it
			return err
		}
		if over, waitErr := launch.WaitOver(ctx, r, orphanPause); over || waitErr != nil {
			return waitErr
		}
	}
}
