package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/record"
)

// killOptions are the flags of crun kill.
type killOptions struct {
	runs   []string
	signal string // "SIGUSR1"
}

func newKillCmd(app *App, runF func(*killOptions) error) *cobra.Command {
	o := &killOptions{}
	cmd := &cobra.Command{
		Use:   "kill [flags] RUN...",
		Short: "Send a signal to runs",
		Long: `Send a signal to the command of runs: SIGKILL, which ends all of a run at once,
or another one. Many scripts save a checkpoint at SIGUSR1 or SIGTERM. To end
runs, crun stop lets them finish first.`,
		Example: `  crun kill -s USR1 train-7k2q
  crun kill train-7k2q`,
		Args:              runArgs(0),
		ValidArgsFunction: app.completeRuns(isActive),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.runs = args
			var err error
			if o.signal, err = signalName(o.signal); err != nil {
				return &usageError{command: cmd.CommandPath(), err: err}
			}
			if runF != nil {
				return runF(o)
			}
			return app.kill(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVarP(&o.signal, "signal", "s", "SIGKILL", "`SIGNAL` to send: a name (USR1, SIGUSR1) or a number")
	return cmd
}

// signalName gives a signal's name as an engine takes it.
func signalName(text string) (string, error) {
	name := strings.ToUpper(text)
	if n, err := strconv.Atoi(text); err == nil {
		name = unix.SignalName(syscall.Signal(n))
	} else if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	switch {
	case name == "" || unix.SignalNum(name) == 0:
		return "", fmt.Errorf("--signal is %q; allowed are the names and numbers of kill -l, as USR1, SIGUSR1 or 10", text)
	case name == "SIGSTOP":
		return "", errors.New("SIGSTOP would stop crun's init and not the command: docker pause crun-ID stops all of a run, and crun kill -s TSTP asks the command to stop")
	}
	return name, nil
}

func (app *App) kill(ctx context.Context, o *killOptions) error {
	_, runs, err := app.namedRuns(o.runs...)
	if err != nil {
		return err
	}
	var errs []error
	for i, r := range runs {
		errs = append(errs, app.killRun(ctx, r, o.runs[i], o.signal))
	}
	return errors.Join(errs...)
}

func (app *App) killRun(ctx context.Context, r *record.Record, name, signal string) error {
	state, err := r.State()
	switch {
	case err != nil:
		return err
	case state.Phase.Over():
		return fmt.Errorf("run %s has ended (%s)", name, stateText(&state))
	case state.Phase != record.Running:
		return fmt.Errorf("run %s has not started yet: try again in a moment", name)
	}
	e, err := app.engineAt(ctx, state.Engine)
	if err != nil {
		return err
	}
	defer e.Close()
	if signal == "SIGKILL" {
		// Its end is in the record when the command returns.
		return app.stopOwned(ctx, e, r, "crun kill", -1)
	}
	return launch.Signal(ctx, e, r, state.Container, "crun kill", signal)
}
