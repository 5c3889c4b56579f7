package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/record"
)

// exitTimeout is the code of timeout(1) for what took too long.
const exitTimeout = 124

// waitOptions are the flags of crun wait.
type waitOptions struct {
	runs    []string
	timeout time.Duration // 0: none
}

func newWaitCmd(app *App, runF func(*waitOptions) error) *cobra.Command {
	o := &waitOptions{}
	cmd := &cobra.Command{
		Use:   "wait [flags] RUN...",
		Short: "Wait until runs have ended, and end with their exit code",
		Long: `Wait until runs have ended. The exit code is the run's own, of several the first
that is not 0, in the order in which they are named. A run that is lost, or that
crun could not start, counts as 125.`,
		Example: `  crun wait train-7k2q && crun run eval.py
  crun wait --timeout 2h train-7k2q || echo "exit code $?"`,
		Args:              runArgs(0),
		ValidArgsFunction: app.completeRuns(isActive),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.runs = args
			if runF != nil {
				return runF(o)
			}
			return app.wait(cmd.Context(), o)
		},
	}
	cmd.Flags().Var((*timeFlag)(&o.timeout), "timeout", "give up after this `TIME`, with exit code 124")
	return cmd
}

func (app *App) wait(ctx context.Context, o *waitOptions) error {
	store, runs, err := app.namedRuns(o.runs...)
	if err != nil {
		return err
	}
	waiting := ctx
	if o.timeout > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	code := 0
	for i, r := range runs {
		state, err := app.waitOver(waiting, store, r)
		switch {
		case ctx.Err() != nil:
			return interrupted(nil)
		case errors.Is(err, context.DeadlineExceeded):
			return withCode(exitTimeout, fmt.Errorf("run %s has not ended within %s; it goes on", o.runs[i], o.timeout))
		case errors.Is(err, record.ErrGone):
			return fmt.Errorf("the record of run %s was removed while it was waited for", o.runs[i])
		case err != nil:
			return err
		}
		if code == 0 {
			code = exitCodeOf(&state)
		}
	}
	if code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// waitOnce is how long a run is waited for between two looks at its monitor.
const waitOnce = 2 * time.Second

// waitOver waits until a run is over, and gives it another monitor where its
// own has died.
func (app *App) waitOver(ctx context.Context, store *record.Store, r *record.Record) (record.State, error) {
	for {
		_, err := launch.WaitOver(ctx, r, waitOnce)
		state, stateErr := r.State()
		switch {
		case err != nil:
			return state, err
		case stateErr != nil:
			return state, stateErr
		case state.Phase.Over():
			return state, nil
		case !r.Owned():
			app.sweep(store)
		}
	}
}
