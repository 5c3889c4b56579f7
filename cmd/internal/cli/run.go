package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"crun.dev/crun/run/bundle"
	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/plan"

	"crun.dev/crun/run/precheck"
)

// runOptions are the flags and arguments of crun run.
type runOptions struct {
	command []string

	profile string
	limits  []limitFlag // the flags that were given, in the order of limitFlags

	env      []string
	envFiles []string
	publish  []string
	data     []string // PATH[:ro], or noData
	volumes  []string // SOURCE:TARGET[:ro]
	readOnly bool

	name    string
	image   string
	file    string
	lists   projectLists
	project string

	locked      bool
	detach      bool
	interactive bool
	tty, noTTY  bool
	grace       time.Duration
	detachKeys  string
	settle      *time.Duration // nil: defaultSettle
	restarts    int            // after failures

	skipChecks []string // names of precheck
	bundle     string   // a folder to write an OCI bundle to, or ""
	dryRun     bool
	output     string

	isGPUCheck bool // the run that tries GPUs, which are not tried before it
}

// limitFlag is a flag that takes the place of one value of the profile.
type limitFlag struct {
	flag, field string // "shm-size", "shm_size"
	usage       string
	value       string
}

// limitFlags are the flags for values of a profile, as --help groups them.
var limitFlags = []limitFlag{
	{flag: "memory", field: "memory", usage: "memory limit: `SIZE` (4g, 512m) or a share of the host (1/2)"},
	{flag: "memory-swap", field: "memory_swap", usage: "memory and swap together: `SIZE` or -1 for no limit (default: no swap)"},
	{flag: "memory-reservation", field: "memory_reservation", usage: "`SIZE` to shrink to when the host runs short"},
	{flag: "oom-score-adj", field: "oom_score_adj", usage: "`NUMBER` from -999 to 1000: who is ended first when the host is out of memory"},
	{flag: "cpus", field: "cpus", usage: "CPU time per second: a `NUMBER` (1.5) or a share of the host (1/2)"},
	{flag: "cpuset", field: "cpuset", usage: "CPUs that may be used, a `LIST` (0-3,8), or auto for free ones, as many as cpus"},
	{flag: "gpus", field: "gpus", usage: "`GPUS`: a number, all, none, or ids with commas between"},
	{flag: "shm-size", field: "shm_size", usage: "`SIZE` of /dev/shm; counts as memory"},
	{flag: "tmpdir", field: "tmpdir", usage: "`SIZE[,KIND]` of /tmp; KIND is tmpfs (memory) or disk"},
	{flag: "pids", field: "pids", usage: "`NUMBER` of processes and threads"},
	{flag: "nofile", field: "nofile", usage: "`NUMBER` of descriptors that a process may open"},
	{flag: "memlock", field: "memlock", usage: "`SIZE` of memory that a process may lock, or unlimited"},
	{flag: "stack", field: "stack", usage: "`SIZE` of a process's stack, or unlimited"},
	{flag: "core", field: "core", usage: "`SIZE` of a core dump, or unlimited"},
	{flag: "address-space", field: "address_space", usage: "`SIZE` of a process's address space, or unlimited"},
	{flag: "threads", field: "threads", usage: "threads of OpenMP, MKL and such: auto or a `NUMBER`"},
	{flag: "time-limit", field: "time_limit", usage: "`TIME` after which the run is ended (30m, 12h)"},
	{flag: "signal-before-kill", field: "signal_before_kill", usage: "`WHEN` to tell the script that a limit is near: memory=90%,time=95%, SIGUSR2,time=90%, or none"},
	{flag: "network", field: "network", usage: "`NETWORK`: none, default or host"},
	{flag: "home", field: "home", usage: "`HOME` in the run: own (a folder of crun's) or mine"},
}

func newRunCmd(app *App, runF func(context.Context, *runOptions) error) *cobra.Command {
	o := &runOptions{}
	values := make([]string, len(limitFlags))
	var strict bool
	var restart string
	var settle time.Duration
	cmd := &cobra.Command{
		Use:   "run [flags] {SCRIPT.py | COMMAND} [ARG...]",
		Short: "Run a script in the project's image under the limits of a profile",
		Long: `Run a script or a command in a container of the project's image, under the
limits of a profile. A .py file is run with the environment's python, anything
else is a command of the image. Flags behind it belong to it.

The project is the folder of the nearest environment.yml above the script, else
the repository's root, else the working directory. It is mounted at its own
path. The image is built first if the environment has changed.

The run outlives this command: a closed terminal does not end it. Ctrl-C sends
SIGINT, a second one SIGTERM, a third one SIGKILL. The exit code is the
command's own; 125 means that crun or the engine failed, 126 that the command
cannot be executed, 127 that there is none.`,
		Example: `  crun run train.py --epochs 10
  crun run --profile large --memory 24g train.py
  crun run -d --name night --time-limit 10h train.py
  crun run -d --restart on-failure:3 train.py
  crun run --profile debug python
  crun run --data /archive/imagenet:ro train.py
  crun run --dry-run train.py
  crun run --oci-bundle /srv/bundle train.py && runc run --bundle /srv/bundle train`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef(cmd, "%s needs a script or a command", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault // files
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.command = args
			for i, l := range limitFlags {
				if cmd.Flags().Changed(l.flag) {
					l.value = values[i]
					o.limits = append(o.limits, l)
				}
			}
			if cmd.Flags().Changed("strict") {
				o.limits = append(o.limits, limitFlag{flag: "strict", field: "strict", value: fmt.Sprint(strict)})
			}
			if cmd.Flags().Changed("settle") {
				o.settle = &settle
			}
			var err error
			if o.restarts, err = parseRestart(restart); err != nil {
				return &usageError{command: cmd.CommandPath(), err: err}
			}
			if err := o.check(cmd); err != nil {
				return err
			}
			if runF != nil {
				return runF(cmd.Context(), o)
			}
			return app.run(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.SortFlags = false
	flags.StringVar(&o.profile, "profile", "", "limits profile `NAME` (default: as the profiles files say)")
	for i, l := range limitFlags {
		flags.StringVar(&values[i], l.flag, "", l.usage)
	}
	flags.BoolVar(&strict, "strict", false, "refuse what cannot be had in full, rather than lower it")
	addRunFlags(flags, o)
	flags.Var((*timeFlag)(&settle), "settle", "with -d, wait this `TIME` whether the command stays up (default 5s)")
	flags.StringVar(&restart, "restart", "", "with -d, start a command that fails again: `on-failure:N` at most N times, or no")
	_ = cmd.RegisterFlagCompletionFunc("profile", app.completeProfiles)
	_ = cmd.RegisterFlagCompletionFunc("network", cobra.FixedCompletions([]string{"none", "default", "host"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("skip-check", cobra.FixedCompletions(append(precheck.Names(), precheck.All), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("home", cobra.FixedCompletions([]string{"own", "mine"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func addRunFlags(flags *pflag.FlagSet, o *runOptions) {
	flags.StringArrayVarP(&o.env, "env", "e", nil, "set a variable: `NAME=VALUE`, or NAME to pass your own on, kept out of the record")
	flags.StringArrayVar(&o.envFiles, "env-file", nil, "read variables from `FILE`, kept out of the record")
	flags.StringArrayVarP(&o.publish, "publish", "p", nil, "publish a port: `[[IP:]HOST:]PORT`, on 127.0.0.1 unless IP says otherwise")
	flags.StringArrayVar(&o.data, "data", nil, "show a folder at its own path: `PATH[:ro]`; none leaves out config.yaml's too")
	flags.StringArrayVarP(&o.volumes, "volume", "v", nil, "show a folder at another path: `SOURCE:TARGET[:ro]`")
	flags.BoolVar(&o.readOnly, "read-only", false, "let the run write nowhere but into the project, home, data and tmpdir")
	flags.StringVar(&o.name, "name", "", "`NAME` of the run (default: from the script)")
	flags.StringVar(&o.image, "image", "", "run in this `IMAGE` of the engine rather than the environment's")
	flags.StringVarP(&o.file, "file", "f", "", "environment `FILE` (default: the project's environment.yml)")
	o.lists.addFlags(flags)
	flags.BoolVar(&o.locked, "locked", false, "build the image from crun.lock alone, or fail where it is not the lock of the files")
	flags.StringVar(&o.project, "project", "", "mount this `FOLDER` as the project, or none")
	flags.BoolVarP(&o.detach, "detach", "d", false, "start the run, print its name and leave it")
	flags.BoolVarP(&o.interactive, "interactive", "i", false, "attach stdin also when it is a terminal without -t")
	flags.BoolVarP(&o.tty, "tty", "t", false, "give the run a terminal")
	flags.BoolVarP(&o.noTTY, "no-tty", "T", false, "give the run no terminal")
	addDetachKeys(flags, &o.detachKeys)
	flags.Var((*timeFlag)(&o.grace), "grace", "`TIME` between SIGTERM and SIGKILL (default 10s)")
	flags.StringSliceVar(&o.skipChecks, "skip-check", nil, "start also where this check, `NAME[,NAME]`, speaks against it: disk, memory, runs, shm, gpus or all")
	flags.StringVar(&o.bundle, "oci-bundle", "", "write an OCI bundle to `FOLDER`, for runc run, and start nothing")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print the plan and start nothing")
	flags.StringVarP(&o.output, "output", "o", "", "with --dry-run, print as `FORMAT`: json")
}

// parseRestart reads --restart.
func parseRestart(text string) (int, error) {
	if text == "" || text == "no" {
		return 0, nil
	}
	count, ok := strings.CutPrefix(text, "on-failure:")
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 || n > plan.MaxRestarts {
		return 0, fmt.Errorf("--restart is %q; allowed are no and on-failure:N, with N from 1 to %d", text, plan.MaxRestarts)
	}
	return n, nil
}

// check refuses flags that contradict each other.
func (o *runOptions) check(cmd *cobra.Command) error {
	switch {
	case o.tty && o.noTTY:
		return usagef(cmd, "-t and -T contradict each other")
	case o.detach && (o.interactive || o.tty):
		return usagef(cmd, "-d closes stdin and has no terminal: leave out -i and -t")
	case !o.detach && o.settle != nil:
		return usagef(cmd, "--settle goes with -d: in the foreground the end of a run is seen as it comes; leave it out")
	case !o.detach && o.restarts > 0:
		return usagef(cmd, "--restart goes with -d (what was typed or piped into a run cannot be given to the next attempt): add -d, and crun logs -f NAME shows each attempt here")
	case o.image != "" && o.file != "":
		return usagef(cmd, "--image and -f both say which image to run in: leave one out")
	case o.image != "" && o.locked:
		return usagef(cmd, "--locked is about the environment's image, and --image names another: leave one out")
	case o.image != "" && !o.lists.isEmpty():
		return usagef(cmd, "--extra and --group are about the environment's image, and --image names another: leave one out")
	case o.bundle != "" && (o.dryRun || o.detach):
		return usagef(cmd, "--oci-bundle writes a folder and starts nothing: leave out -d and --dry-run")
	case o.output != "" && !o.dryRun:
		return usagef(cmd, "-o goes with --dry-run; a run's output is its own")
	case o.command[0] == "":
		return usagef(cmd, "the command is an empty word: name a script or a command")
	}
	for _, name := range []string{"profile", "name", "image", "file", "project", "oci-bundle", "restart"} {
		// As a rule a shell's variable that is not set.
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return usagef(cmd, "--%s is empty: name one, or leave the flag out", name)
		}
	}
	if err := o.lists.check(cmd); err != nil {
		return err
	}
	if err := checkSkips(cmd, o.skipChecks); err != nil {
		return err
	}
	if err := launch.ParseDetachKeys(firstOf(o.detachKeys, defaultDetachKeys)); err != nil {
		return &usageError{command: cmd.CommandPath(), err: err}
	}
	return checkOutput(cmd, o.output)
}

// run is crun run.
func (app *App) run(ctx context.Context, o *runOptions) error {
	if o.bundle != "" { // before an image is built for it
		if err := bundle.Empty(app.abs(o.bundle)); err != nil {
			return runError(fmt.Errorf("--oci-bundle %s%w", o.bundle, err))
		}
	}
	j, err := app.prepare(ctx, o)
	if err != nil {
		return runError(err)
	}
	defer j.engine.Close()
	if o.dryRun {
		for _, w := range j.warnings {
			app.warn(w)
		}
		for _, f := range j.found {
			app.warn(f.Warning())
		}
		return app.printPlan(j.plan, o.output)
	}
	if o.bundle != "" {
		return runError(app.writeBundle(ctx, j))
	}
	if err := app.checkGPUsOnce(ctx, j); err != nil {
		j.giveUp()
		return runError(err)
	}
	return runError(app.start(ctx, j))
}

// runError gives an error the exit code of a run that crun or the engine could
// not start or follow, or of one that was interrupted before its start.
func runError(err error) error {
	var coded *exitError
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.Is(err, context.Canceled):
		return interrupted(errors.New("interrupted before the start; nothing is left behind"))
	}
	return withCode(exitEngine, err)
}
