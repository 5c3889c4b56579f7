package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/record"
)

// execOptions are the flags of crun exec and crun shell.
type execOptions struct {
	run         string
	command     []string
	env         []string
	dir         string
	interactive bool
	tty, noTTY  bool
}

func newExecCmd(app *App, runF func(*execOptions) error) *cobra.Command {
	o := &execOptions{}
	cmd := &cobra.Command{
		Use:   "exec [flags] RUN COMMAND [ARG...]",
		Short: "Run one more command in a run",
		Long: `Run a command in the container of a run that goes on, beside its own: with the
same user, variables, folders and limits, which the two share. The exit code is
the command's; 125 means that crun or the engine failed. Ctrl-C sends SIGINT to
the command, a second one SIGTERM, a third one SIGKILL.`,
		Example: `  crun exec train-7k2q nvidia-smi
  crun exec train-7k2q py-spy dump --pid 7
  crun exec -it train-7k2q python`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef(cmd, "%s needs the name of a run and a command (crun ps lists runs; crun shell RUN opens a shell)", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: app.completeRuns(isActive),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.run, o.command = args[0], args[1:]
			return app.checkedExec(cmd, o, runF)
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.StringArrayVarP(&o.env, "env", "e", nil, "set a variable besides the run's: `NAME=VALUE`, or NAME to pass your own on")
	flags.StringVarP(&o.dir, "workdir", "w", "", "start in this `FOLDER` of the container (default: the run's)")
	flags.BoolVarP(&o.interactive, "interactive", "i", false, "attach stdin also when it is a terminal without -t")
	flags.BoolVarP(&o.tty, "tty", "t", false, "give the command a terminal")
	flags.BoolVarP(&o.noTTY, "no-tty", "T", false, "give the command no terminal")
	return cmd
}

// shellCommand opens the better shell of the two that an image may have.
var shellCommand = []string{"sh", "-c", "command -v bash >/dev/null && exec bash; exec sh"}

func newShellCmd(app *App, runF func(*execOptions) error) *cobra.Command {
	o := &execOptions{}
	cmd := &cobra.Command{
		Use:   "shell [flags] RUN",
		Short: "Open a shell in a run",
		Long: `Open a shell in the container of a run that goes on, to look around: the same
files, user, variables and limits. What it takes of memory is the run's.`,
		Example: `  crun shell train-7k2q
  echo 'free -h; ls -l $TMPDIR' | crun shell train-7k2q`,
		Args:              runArgs(1),
		ValidArgsFunction: app.completeRuns(isActive),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.run, o.command = args[0], shellCommand
			return app.checkedExec(cmd, o, runF)
		},
	}
	cmd.Flags().StringVarP(&o.dir, "workdir", "w", "", "start in this `FOLDER` of the container (default: the run's)")
	return cmd
}

// signalTime bounds the wait for an engine that is to send a signal: one that
// hangs must not keep whoever presses Ctrl-C.
const signalTime = 5 * time.Second

func (app *App) checkedExec(cmd *cobra.Command, o *execOptions, runF func(*execOptions) error) error {
	switch {
	case o.tty && o.noTTY:
		return usagef(cmd, "-t and -T contradict each other")
	case o.command[0] == "":
		return usagef(cmd, "the command is an empty word: name one")
	case o.dir != "" && !strings.HasPrefix(o.dir, "/"):
		return usagef(cmd, "--workdir is %q; it has to begin with /", o.dir)
	}
	for i, v := range o.env {
		name, _, set := strings.Cut(v, "=")
		if name == "" || strings.ContainsRune(v, 0) {
			return usagef(cmd, "-e is %q; allowed are NAME=VALUE and NAME", v)
		}
		if !set {
			o.env[i] = name + "=" + app.Getenv(name)
		}
	}
	if runF != nil {
		return runF(o)
	}
	return runError(app.exec(cmd.Context(), o))
}

func (app *App) exec(ctx context.Context, o *execOptions) error {
	r, state, err := app.activeRun(o.run)
	if err != nil {
		return err
	}
	if state.Paused {
		return fmt.Errorf("run %s is paused: docker unpause crun-%s lets it run on", o.run, r.ID)
	}
	e, err := app.engineAt(ctx, state.Engine)
	if err != nil {
		return err
	}
	defer e.Close()
	tty, stdin := app.streams(&runOptions{interactive: o.interactive, tty: o.tty, noTTY: o.noTTY})
	opts := engine.ExecOptions{Args: o.command, Env: o.env, Dir: o.dir, Stdin: stdin, TTY: tty}
	if tty {
		opts.Env = append([]string{"TERM=" + firstOf(app.Getenv("TERM"), "xterm")}, opts.Env...)
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, launch.Signals()...)
	defer signal.Stop(signals)
	x, err := e.Exec(ctx, state.Container, opts)
	if err != nil {
		return err
	}
	defer x.Close()
	ended := ctx
	ctx = context.WithoutCancel(ctx)                                                                                          // signals are the command's from here on
	_ = r.AddEvent(record.Event{By: "crun exec", What: "exec", Attrs: map[string]string{"command": shortCommand(o.command)}}) // for the reader alone
	restore, err := app.execTerminal(ctx, x, tty)
	if err != nil {
		return err
	}
	defer restore()
	if stdin {
		go func() {
			io.Copy(x, app.In)
			if tty && terminal(app.In) == nil {
				io.WriteString(x, "\x04")
			} else if !tty {
				x.CloseWrite()
			}
		}()
	}
	done := make(chan error, 1)
	go func() { done <- x.Demux(app.Out, app.Err) }()
	var interrupts launch.Interrupts
	for open := true; open; {
		select {
		case s := <-signals:
			action := interrupts.Next(s)
			if action.Detach {
				action.Signal = "SIGHUP"
			}
			asked, cancel := context.WithTimeout(ctx, signalTime)
			err := x.Signal(asked, action.Signal)
			cancel()
			switch {
			case errors.Is(err, engine.ErrNotRunning):
			case errors.Is(err, context.DeadlineExceeded), err != nil && ended.Err() != nil:
				restore()
				app.note("the command goes on in run %s (%v)", o.run, err)
				return interrupted(nil)
			case err != nil:
				app.warn(err.Error())
			case action.Detach: // nobody sees the rest
				return interrupted(nil)
			}
		case err := <-done:
			if err != nil {
				return fmt.Errorf("reading the output: %w", err)
			}
			open = false
		}
	}
	code, err := x.Exit(ctx)
	if err == nil && code != 0 {
		err = &exitError{code: code}
	}
	return err
}

// execTerminal puts the terminal into raw mode and passes its size on.
func (app *App) execTerminal(ctx context.Context, x engine.Execution, tty bool) (restore func(), err error) {
	in := terminal(app.In)
	if !tty || in == nil || !inForeground(in) {
		return func() {}, nil
	}
	fd := int(in.Fd())
	old, err := term.MakeRaw(fd)
	if err != nil {
		return nil, fmt.Errorf("taking the terminal: %w", err)
	}
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGWINCH)
	changes <- syscall.SIGWINCH
	go func() {
		for range changes {
			if width, height, err := term.GetSize(fd); err == nil && width > 0 && height > 0 {
				_ = x.Resize(ctx, uint(width), uint(height)) // the next change comes
			}
		}
	}()
	return func() {
		signal.Stop(changes)
		term.Restore(fd, old)
	}, nil
}
