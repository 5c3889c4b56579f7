package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/record"
)

// attachOptions are the flags of crun attach.
type attachOptions struct {
	run        string
	detachKeys string
	noStdin    bool
}

// defaultDetachKeys are those of the docker command.
const defaultDetachKeys = "ctrl-p,ctrl-q"

func addDetachKeys(flags *pflag.FlagSet, to *string) {
	flags.StringVar(to, "detach-keys", "", "`KEYS` that leave a run with a terminal as it is (default "+defaultDetachKeys+")")
}

func newAttachCmd(app *App, runF func(*attachOptions) error) *cobra.Command {
	o := &attachOptions{}
	cmd := &cobra.Command{
		Use:   "attach [flags] RUN",
		Short: "Connect this terminal to a run",
		Long: `Connect to a run that goes on, as the command that started it was: its output
from now on, its input where it has one, and its signals. Ctrl-C is the run's,
as with crun run; the detach keys and a closed terminal leave it as it is. To
look only, crun logs -f shows what was written before too.`,
		Example: `  crun attach train-7k2q
  crun attach --detach-keys ctrl-a,d notebook`,
		Args:              runArgs(1),
		ValidArgsFunction: app.completeRuns(isActive),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.run = args[0]
			if err := launch.ParseDetachKeys(firstOf(o.detachKeys, defaultDetachKeys)); err != nil {
				return &usageError{command: cmd.CommandPath(), err: err}
			}
			if runF != nil {
				return runF(o)
			}
			return runError(app.attach(cmd.Context(), o))
		},
	}
	addDetachKeys(cmd.Flags(), &o.detachKeys)
	cmd.Flags().BoolVar(&o.noStdin, "no-stdin", false, "send no input")
	return cmd
}

// activeRun gives a run that goes on, with its state.
func (app *App) activeRun(name string) (*record.Record, record.State, error) {
	_, runs, err := app.namedRuns(name)
	if err != nil {
		return nil, record.State{}, err
	}
	r := runs[0]
	state, err := r.State()
	switch {
	case err != nil:
		return nil, state, err
	case state.Phase.Over():
		return nil, state, fmt.Errorf("run %s has ended (%s): crun logs %s shows what it wrote, crun restart %s runs it again", name, stateText(&state), name, name)
	case state.Phase != record.Running:
		return nil, state, fmt.Errorf("run %s has not started yet: try again in a moment", name)
	}
	return r, state, nil
}

func (app *App) attach(ctx context.Context, o *attachOptions) error {
	r, state, err := app.activeRun(o.run)
	if err != nil {
		return err
	}
	p, err := r.Plan()
	if err != nil {
		return err
	}
	e, err := app.engineAt(ctx, state.Engine)
	if err != nil {
		return err
	}
	defer e.Close()
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, append(launch.Signals(), syscall.SIGWINCH, syscall.SIGPIPE)...)
	defer signal.Stop(signals)
	f := &foreground{
		app: app, record: r, signals: signals, warned: len(state.Warnings),
		job: &job{options: &runOptions{detachKeys: o.detachKeys}, plan: p, engine: e},
	}
	if o.noStdin {
		copied := *p
		copied.Interactive = false
		f.job.plan = &copied
	}
	if err := f.attach(ctx, state.Container); err != nil {
		return err
	}
	defer f.session.Close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if p.Spec.Process.Terminal {
		app.note("attached to run %s; %s leaves it", p.Name, firstOf(o.detachKeys, defaultDetachKeys))
	} else {
		app.note("attached to run %s; Ctrl-C is the run's own", p.Name)
	}
	if err := f.session.Begin(); err != nil {
		return fmt.Errorf("taking the terminal: %w", err)
	}
	ctx = context.WithoutCancel(ctx)
	f.session.Resize(ctx)
	err = f.follow(ctx, state.Container)
	if errors.Is(err, record.ErrGone) {
		return nil // somebody has removed it behind its end
	}
	return err
}
