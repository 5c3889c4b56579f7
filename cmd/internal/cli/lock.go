package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"crun.dev/crun/build"
	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/build/toolfiles"
)

// lockOptions are the flags of crun lock.
type lockOptions struct {
	buildOptions
	update    bool
	packages  []string
	check     bool
	export    string
	platforms []string // of platformNames, or allPlatforms
}

// allPlatforms is what --platform takes for those that the lock has packages for.
const allPlatforms = "all"

func newLockCmd(app *App) *cobra.Command {
	var o lockOptions
	cmd := &cobra.Command{
		Use:   "lock [FILE | DIR] | lock --update [PACKAGE...]",
		Short: "Choose the exact packages of an environment.yml, and build nothing",
		Long: `Bring crun.lock up to date with its environment file, without building an image.
Whatever is locked and still fits stays as it is: an edit of one line changes
what that line needs. --update chooses packages anew: those that are named, and
what has to move with them; without names all of them, on the newest base image.

On stdout: a table of what has changed against the old lock.

crun.lock can hold packages for several platforms. --platform names those whose
packages are chosen, "all" stands for those that the lock has already; the
others' packages stay as they are. The packages for a platform are chosen on it,
so the builder has to be able to run its programs.

--export writes the lock as it is in another tool's form to stdout:
explicit (conda create --file), pixi (pixi.lock), conda-lock (conda-lock.yml)
or pip (a requirements file with hashes).`,
		Example: `  crun lock
  crun lock --update
  crun lock --update numpy tqdm
  crun lock gpu.yml
  crun lock pyproject.toml --extra plots
  crun lock --platform linux/amd64 --platform linux/arm64
  crun lock --platform all --check
  crun lock --check
  crun lock --export explicit >spec.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.export != "" && !slices.Contains(lock.Formats, o.export):
				return usagef(cmd, "--export is %q; allowed are %s", o.export, strings.Join(lock.Formats, ", "))
			case o.export != "" && (o.check || o.update || o.output != ""):
				return usagef(cmd, "--export writes the lock as it is: leave out --check, --update and -o")
			case o.export != "" && (len(o.platforms) > 1 || slices.Contains(o.platforms, allPlatforms)):
				return usagef(cmd, "--export writes the lock of one platform: name one with --platform")
			case o.check && o.update:
				return usagef(cmd, "--check and --update contradict each other")
			case o.update:
				for _, name := range args {
					if info, err := os.Stat(app.rel(name)); err == nil && (info.IsDir() || strings.Contains(name, ".")) {
						return usagef(cmd, "with --update the arguments are packages; name the environment file with -f %s", name)
					}
				}
				o.packages = args
			default:
				if err := o.takeFile(cmd, args); err != nil {
					return err
				}
			}
			for _, platform := range o.platforms {
				if platform != allPlatforms && !slices.Contains(platformNames, platform) {
					return usagef(cmd, "--platform is %q; allowed are %s, %s", platform, strings.Join(platformNames, ", "), allPlatforms)
				}
			}
			return o.buildOptions.check(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.export != "" {
				return app.lockExport(o)
			}
			return app.lockPlatforms(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.file, "file", "f", "", "the environment `FILE`, or a folder that holds one (default: the working directory)")
	flags.BoolVar(&o.update, "update", false, "choose the packages that are named anew, or all of them")
	flags.BoolVar(&o.check, "check", false, "ask nobody and choose nothing; fail where crun.lock is not the lock of the files")
	flags.StringVar(&o.export, "export", "", "write the lock to stdout as `FORMAT`: "+strings.Join(lock.Formats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("export", cobra.FixedCompletions(lock.Formats, cobra.ShellCompDirectiveNoFileComp))
	flags.StringSliceVar(&o.platforms, "platform", nil, "choose the packages for this `PLATFORM`: "+strings.Join(platformNames, ", ")+"; several times, or all: those that crun.lock has (default: the engine's)")
	_ = cmd.RegisterFlagCompletionFunc("platform", cobra.FixedCompletions(append(slices.Clone(platformNames), allPlatforms), cobra.ShellCompDirectiveNoFileComp))
	addSolveFlags(cmd, &o.buildOptions)
	addOutputFlag(cmd, &o.output)
	cmd.AddCommand(newLockDiffCmd(app))
	return cmd
}

// addSolveFlags adds the flags that decide about a lock.
func addSolveFlags(cmd *cobra.Command, o *buildOptions) {
	flags := cmd.Flags()
	flags.StringVar(&o.base, "base", "", "start from this `IMAGE` (default: the one in config.yaml, or "+build.DefaultBase+")")
	flags.StringVar(&o.cuda, "cuda", "", "choose packages for this `VERSION` of CUDA (\"12.4\"), for none, or for auto: what the driver of the engine's host is made for (default: what crun.lock has, else none)")
	flags.StringVar(&o.python, "python", "", "use this `VERSION` of Python where the file names none (default 3.9)")
	o.lists.addFlags(flags)
	flags.StringArrayVar(&o.secrets, "secret", nil, "`id=NAME,src=FILE` or id=NAME,env=VARIABLE: read this in the place of your own "+strings.Join(toolfiles.Names, ", "))
	flags.StringVar(&o.progress, "progress", "auto", "how to show what is done: "+strings.Join(buildkit.Modes, ", "))
	_ = cmd.RegisterFlagCompletionFunc("cuda", cobra.FixedCompletions([]string{build.CUDANone, build.CUDAAuto}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("progress", cobra.FixedCompletions(buildkit.Modes, cobra.ShellCompDirectiveNoFileComp))
}

// lockResult is what crun lock -o json prints.
type lockResult struct {
	LockFile string        `json:"lock_file"`
	Platform string        `json:"platform"`
	Lock     string        `json:"lock"`
	Reason   string        `json:"reason"`
	Changes  []lock.Change `json:"changes"`
	// first tells that there was none before.
	first bool
}

// lockPlatforms brings the lock up to date for each platform that o names.
func (app *App) lockPlatforms(ctx context.Context, o lockOptions) error {
	asked := o.platforms
	if slices.Contains(asked, allPlatforms) {
		there, err := app.lockedPlatforms(o.file)
		if err != nil {
			return err
		}
		asked = slices.Concat(slices.DeleteFunc(slices.Clone(asked), func(name string) bool { return name == allPlatforms }), there)
	}
	if len(asked) == 0 {
		asked = []string{""} // the engine's
	}
	asked = slices.Compact(slices.Sorted(slices.Values(asked)))
	results := []lockResult{}
	var failed []error
	for _, platform := range asked {
		o.buildOptions.platform = platform
		result, err := app.lock(ctx, o)
		switch {
		case err != nil && !o.check:
			return err // what is locked before stays
		case err != nil:
			failed = append(failed, err)
		case len(asked) > 1:
			for i := range result.Changes {
				result.Changes[i].Platform = result.Platform
			}
		}
		results = append(results, result)
	}
	if len(failed) > 0 || o.check {
		return errors.Join(failed...)
	}
	if o.output == "json" {
		if len(asked) > 1 {
			return app.printJSON(results)
		}
		return app.printJSON(results[0])
	}
	var changes []lock.Change
	for _, result := range results {
		if !result.first { // else all would be added
			changes = append(changes, result.Changes...)
		}
	}
	return writeChanges(app.Out, changes)
}

// lockedPlatforms are the platforms of an environment's lock, by Docker's names.
func (app *App) lockedPlatforms(file string) ([]string, error) {
	found, err := build.FindFile(app.rel(firstOf(file, ".")))
	if err != nil {
		return nil, err
	}
	locks, err := build.ReadLocks(build.LockFile(found))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, platform := range lock.PlatformsOf(locks) {
		names = append(names, build.DockerPlatform(platform))
	}
	return names, nil
}

// lock brings the lock up to date for the platform of o.
func (app *App) lock(ctx context.Context, o lockOptions) (lockResult, error) {
	none := lockResult{}
	b, err := app.openBuild(ctx, o.buildOptions)
	if err != nil {
		return none, err
	}
	project := b.request.Project
	if project.LockFile == "" {
		_ = b.engine.Close()
		return none, errors.New("an environment from standard input has no place for its lock: write it into a file, and name that")
	}
	for _, finding := range project.Findings {
		fmt.Fprintln(app.Err, finding)
	}
	if o.check {
		err := errors.Join(build.CheckLock(project), b.engine.Close())
		if err == nil {
			app.note("%s is the lock of %s", project.LockFile, project.File)
		}
		return none, err
	}
	b.warn()
	solver := buildkit.New(b.engine, b.options)
	var result build.Relocked
	if err = solver.Check(ctx, nil, nil, b.platform); err == nil {
		result, err = build.Relock(ctx, solver, b.engine, b.request, build.Update{All: o.update && len(o.packages) == 0, Names: o.packages})
	}
	_, _ = solver.Close(), b.engine.Close()
	if errors.Is(err, context.Canceled) {
		return none, interruptedBuild{err}
	} else if err != nil {
		return none, err
	}
	changes := lock.Diff(result.Old, result.New)
	if changes == nil {
		changes = []lock.Change{}
	}
	if o.output != "json" {
		on := ""
		if b.platform != "" {
			on = " for " + b.platform
		}
		switch {
		case result.Reason == "":
			app.note("%s is up to date%s", project.LockFile, on)
		case len(changes) == 0:
			app.note("%s%s: %s; no package has changed", project.LockFile, on, result.Reason)
		default:
			why := " (" + result.Reason + ")"
			if result.Reason == "there is no "+project.LockFile {
				why = "" // it is written now
			}
			app.note("wrote %s%s: %d conda and %d pip packages%s", project.LockFile, on, len(result.New.Conda), len(result.New.Pip), why)
		}
	}
	return lockResult{
		LockFile: project.LockFile, Platform: result.New.Platform, Lock: result.New.Digest(), Reason: result.Reason, Changes: changes, first: result.Old == nil,
	}, nil
}

// lockExport writes the lock in another tool's form.
func (app *App) lockExport(o lockOptions) error {
	path := app.rel(firstOf(o.file, "."))
	if !strings.HasSuffix(path, ".lock") {
		file, err := build.FindFile(path)
		if err != nil {
			return err
		}
		path = build.LockFile(file)
	}
	locks, err := build.ReadLocks(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no %s: crun lock makes it", path)
	} else if err != nil {
		return err
	}
	l, err := onePlatform(locks, path, o.platforms)
	if err != nil {
		return err
	}
	exported, err := build.Export(l, o.export)
	if err != nil {
		return err
	}
	if len(exported.Missing) > 0 {
		why := "names files by their addresses, which the lock has none of for packages of an index; crun lock --export pip has them"
		switch o.export {
		case "explicit":
			why = "is for conda packages; crun lock --export pip has the others"
		case "pip":
			why = "is checked by hashes, which these have not: they are comments in it"
		}
		app.note("not in it: %s; this form %s", strings.Join(exported.Missing, ", "), why)
	}
	_, err = app.Out.Write(exported.Data)
	return err
}

// onePlatform gives the lock of the platform that was asked for, by Docker's
// name, or of the one that locks has.
func onePlatform(locks []*lock.Lock, path string, asked []string) (*lock.Lock, error) {
	var have []string
	for _, l := range locks {
		have = append(have, build.DockerPlatform(l.Platform))
		if len(asked) == 0 && len(locks) == 1 || slices.Contains(asked, have[len(have)-1]) {
			return l, nil
		}
	}
	if len(asked) > 0 {
		return nil, fmt.Errorf("%s has no packages for %s, only for %s: crun lock --platform %s chooses them", path, asked[0], strings.Join(have, ", "), asked[0])
	}
	return nil, fmt.Errorf("%s has packages for %s: name one of them with --platform", path, strings.Join(have, ", "))
}

// writeChanges prints the table of changes, or nothing.
func writeChanges(w io.Writer, changes []lock.Change) error {
	if len(changes) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head, several := "CHANGE\tFROM\tNAME\tOLD\tNEW", changes[0].Platform != ""
	if several {
		head = "PLATFORM\t" + head
	}
	fmt.Fprintln(table, head)
	for _, c := range changes {
		if several {
			fmt.Fprint(table, c.Platform+"\t")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", c.Action, c.Kind, c.Name, firstOf(c.Old, "-"), firstOf(c.New, "-"))
	}
	return table.Flush()
}
