// Package cli is crun's command line: one file a command, holding its flags,
// its messages and its exit codes. What the commands do lies in build, run and
// profiles, which meet here and nowhere else.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"crun.dev/crun/internal/yamlfile"
)

// App is what every command is given: the streams, the environment and the
// values of the flags that all commands share. Tests make their own.
type App struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	// Name is what crun is installed as; empty means crun. Help and
	// completions go by it.
	Name string

	// Getenv reads an environment variable, as os.Getenv does.
	Getenv func(string) string
	// Dir is the working directory, absolute.
	Dir string

	// ProfilesFile is --profiles: the one profiles file to read, or "".
	ProfilesFile string
	// Context and Host are --context and --host: which engine to use.
	Context string
	Host    string
	// Quiet is -q/--quiet: no line at the start and the end of a run.
	Quiet bool
}

// Exit codes that crun itself gives; a run's own code passes through.
const (
	exitFailure = 1   // the command could not do what was asked
	exitUsage   = 2   // the command line itself is wrong
	exitEngine  = 125 // crun or the engine failed before the command ran
	exitNotExec = 126 // the command is not executable
	exitMissing = 127 // the command does not exist
	exitSIGINT  = 130 // ended by Ctrl-C before the run started; by another signal 128 and its number
)

// exitError carries an exit code to Main. With a nil err nothing is printed:
// the run has said itself what went wrong.
type exitError struct {
	code        int
	err         error
	interrupted bool // by a signal, of which code is a guess
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// withCode gives err the exit code that Main ends with. A nil err stays nil.
func withCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: code, err: err}
}

// usageError is a mistake on the command line; Main adds where help is.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// Main runs crun with the process's own arguments and streams and gives the
// exit code.
func Main() int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "crun: the working directory is gone: %v\n", err)
		return exitFailure
	}
	// Most commands are over before a collector is worth its time: the first
	// round comes at 16 MiB, not at 4.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	app := &App{Name: filepath.Base(os.Args[0]), In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Dir: dir}
	return app.Run(context.Background(), os.Args[1:])
}

// Run runs one command line and gives the exit code.
func (app *App) Run(ctx context.Context, args []string) int {
	// A closed pipe behind stdout (crun ps | head) ends crun as it ends any
	// filter; everything else that ends a process cancels ctx, and each
	// command cleans up behind itself. SIGHUP means detaching to crun run,
	// which takes that signal over while a run is attached.
	ctx, stop := interruptible(ctx)
	defer stop()

	if meantForOCIRuntime(args) {
		return app.exitCode(withCode(exitEngine, errOCIRuntime))
	}
	root := newRootCmd(app)
	root.SetArgs(args)
	root.SetIn(app.In)
	root.SetOut(app.Out)
	root.SetErr(app.Err)
	err := root.ExecuteContext(ctx)
	code := app.exitCode(err)
	if sent := signalOf(ctx); sent != 0 && code == exitSIGINT && wasInterrupted(err) {
		return 128 + int(sent)
	}
	return code
}

// bySignal is why a context ended.
type bySignal syscall.Signal

func (s bySignal) Error() string { return "interrupted by " + syscall.Signal(s).String() }

// Is makes it what it replaces: net/http gives the cause of a context's end in
// the place of context.Canceled.
func (s bySignal) Is(target error) bool { return target == context.Canceled }

// interruptible gives a context that a signal ends, with the signal as cause.
func interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-signals:
			if number, ok := s.(syscall.Signal); ok {
				cancel(bySignal(number))
			}
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// signalOf gives the signal that has ended ctx, or 0.
func signalOf(ctx context.Context) syscall.Signal {
	var by bySignal
	if errors.As(context.Cause(ctx), &by) {
		return syscall.Signal(by)
	}
	return 0
}

// wasInterrupted tells whether err is crun's own end by a signal, and not the
// code of a run.
func wasInterrupted(err error) bool {
	var coded *exitError
	return errors.Is(err, context.Canceled) || errors.As(err, &coded) && coded.interrupted
}

// interrupted is the error of a command that a signal has ended; why may be
// nil. The exit code follows the signal.
func interrupted(why error) error {
	return &exitError{code: exitSIGINT, err: why, interrupted: true}
}

// exitCode is the one place where an error becomes a message and a code.
func (app *App) exitCode(err error) int {
	if err == nil {
		return 0
	}
	var usage *usageError
	if errors.As(err, &usage) {
		app.printError(err)
		fmt.Fprintf(app.Err, "See '%s --help'.\n", usage.command)
		return exitUsage
	}
	var coded *exitError
	if errors.As(err, &coded) {
		if coded.err != nil {
			app.printError(coded.err)
		}
		return coded.code
	}
	app.printError(err)
	if errors.Is(err, context.Canceled) {
		return exitSIGINT
	}
	return exitFailure
}

// printError prints each of the joined errors on a line of its own.
func (app *App) printError(err error) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) && err.Error() == errors.Join(joined.Unwrap()...).Error() {
		for _, one := range joined.Unwrap() {
			app.printError(one)
		}
		return
	}
	fmt.Fprintf(app.Err, "crun: %s\n", yamlfile.PrintableText(err.Error()))
}

// newRootCmd puts the commands together.
func newRootCmd(app *App) *cobra.Command {
	root := &cobra.Command{
		Use:   cmp.Or(app.Name, "crun"),
		Short: "Build PyTorch images and run trainings under limits that hold",
		Long: `crun builds a PyTorch image from an environment.yml and runs training scripts
in it under the limits of a named profile: memory, cpus, GPUs, /dev/shm, /tmp,
descriptors and threads. It proves from the kernel that the limits hold.`,
		Example: `  crun build environment.yml
  crun run --profile small train.py --epochs 10`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       Version(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usagef(cmd, "unknown command %q%s", args[0], didYouMean(cmd, args[0]))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return cmd.Help()
		},
	}
	root.SetVersionTemplate("crun {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return checkGlobalFlags(cmd) }
	flags := root.PersistentFlags()
	flags.StringVar(&app.ProfilesFile, "profiles", "", "read profiles from `FILE` alone")
	flags.StringVar(&app.Context, "context", "", "use the engine of this Docker `CONTEXT`")
	flags.StringVarP(&app.Host, "host", "H", "", "use the engine at `URL` (unix://, tcp:// or ssh://)")
	flags.BoolVarP(&app.Quiet, "quiet", "q", false, "print nothing but results and errors")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(commands(app)...)
	return root
}
