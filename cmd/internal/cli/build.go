package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/spf13/cobra"

	"crun.dev/crun/build"
	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

// buildOptions are the flags of crun build.
type buildOptions struct {
	file     string // an environment file or a folder
	names    []string
	base     string
	python   string
	lists    projectLists
	dryRun   bool
	noCache  bool
	locked   bool
	secrets  []string
	progress string
	output   string

	cuda             string
	gpus             bool // for a run with GPUs: CUDA is auto where nobody says otherwise
	checkMode        string
	warningsAsErrors bool
	skipChecks       []string // names of precheck, of which disk is looked at

	cacheFrom, cacheTo []string
	push               []string
	platform           string
	exports            []imageExport
}

func newBuildCmd(app *App) *cobra.Command {
	var o buildOptions
	cmd := &cobra.Command{
		Use:   "build [FILE | DIR]",
		Short: "Build the image of an environment.yml",
		Long: `Build the image of an environment file: conda packages, then pip packages, on a
base image, and a check that what was asked for can be imported. The exact packages go to
crun.lock beside the file; it belongs in git. Where the engine has the image of
that lock already, nothing is built.

A requirements.txt, a pyproject.toml with [project], a conda-lock.yml and an
explicit list of conda (conda list --explicit) are built too; - reads an
environment from standard input, which has no crun.lock.

On stdout: a line for each name of the image, the name and the image's id with a
tab between. Everything else goes to stderr.

The image ends in the engine, whichever BuildKit builds it. --push sends it on
from there with your docker login, and --output writes it to a file or a folder.
--cache-to and --cache-from carry the build's steps between machines; which
places the builder can use is asked first.`,
		Example: `  crun build
  crun build environment.yml -t lab/train:v1
  crun build requirements.txt --python 3.11
  crun build conda-linux-64.lock
  crun build --base nvidia/cuda:12.4.1-base-ubuntu22.04
  crun build --cuda auto
  crun build --locked
  crun build --secret id=netrc,env=CI_NETRC
  crun build --warnings-as-errors --check full
  crun build --push registry.lab:5000/train:v1 --cache-to type=inline
  crun build pyproject.toml --extra plots --group dev
  crun build --output type=oci,dest=train.tar
  crun build --dry-run`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := o.takeFile(cmd, args); err != nil {
				return err
			}
			return o.check(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.build(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.file, "file", "f", "", "the environment `FILE`, or a folder that holds one (default: the working directory)")
	flags.StringArrayVarP(&o.names, "tag", "t", nil, "give the image this further `NAME`")
	addSolveFlags(cmd, &o)
	flags.BoolVar(&o.dryRun, "dry-run", false, "print the Dockerfile and the names of its files, and build nothing")
	flags.BoolVar(&o.noCache, "no-cache", false, "choose the packages anew and run every step")
	flags.BoolVar(&o.locked, "locked", false, "take the packages from crun.lock, or fail where it is not the lock of the files")
	addCheckFlag(cmd, &o.checkMode)
	flags.BoolVar(&o.warningsAsErrors, "warnings-as-errors", false, "make no image where the file or the check of its packages gives a warning")
	flags.StringSliceVar(&o.skipChecks, "skip-check", nil, "build also where this check, `NAME`, speaks against it: disk")
	addExportFlags(cmd, app, &o)
	return cmd
}

// takeFile takes the environment file of the arguments.
func (o *buildOptions) takeFile(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return usagef(cmd, "%s takes one environment file or folder, not %d", cmd.CommandPath(), len(args))
	case len(args) == 1 && o.file != "":
		return usagef(cmd, "%q and --file %q both name an environment file; leave one out", args[0], o.file)
	case len(args) == 1:
		o.file = args[0]
	}
	return nil
}

var pythonVersion = lazyregexp.New(`^[23]\.\d+(\.\d+)?$`)

// check refuses values that no build can be made with.
func (o *buildOptions) check(cmd *cobra.Command) error {
	if err := checkOutput(cmd, o.output); err != nil {
		return err
	}
	if err := checkSecrets(cmd, o.secrets); err != nil {
		return err
	}
	if err := o.lists.check(cmd); err != nil {
		return err
	}
	if err := checkSkips(cmd, o.skipChecks); err != nil {
		return err
	}
	if !slices.Contains(buildkit.Modes, o.progress) {
		return usagef(cmd, "--progress is %q; allowed are %s", o.progress, strings.Join(buildkit.Modes, ", "))
	}
	if !slices.Contains(append(build.CheckModes, ""), o.checkMode) {
		return usagef(cmd, "--check is %q; allowed are %s", o.checkMode, strings.Join(build.CheckModes, ", "))
	}
	if o.cuda != "" {
		if err := build.CheckCUDA(o.cuda); err != nil {
			return usagef(cmd, "--cuda: %v", err)
		}
	}
	if o.python != "" && !pythonVersion.MatchString(o.python) {
		return usagef(cmd, `--python is %q; allowed is a version such as "3.9" or "3.11.4"`, o.python)
	}
	if o.base != "" {
		if _, err := reference.ParseNormalizedNamed(o.base); err != nil {
			return usagef(cmd, "--base is %q, which is no name of an image: %v", o.base, err)
		}
	}
	for i, name := range o.names {
		named, err := reference.ParseNormalizedNamed(name)
		if err != nil {
			return usagef(cmd, "--tag is %q, which is no name for an image: %v", name, err)
		}
		if _, digested := named.(reference.Digested); digested {
			return usagef(cmd, "--tag is %q; a name with a digest cannot be given, leave the @ and what follows out", name)
		}
		o.names[i] = reference.FamiliarString(reference.TagNameOnly(named))
	}
	return o.checkExports(cmd)
}

func (app *App) build(ctx context.Context, o buildOptions) error {
	b, err := app.openBuild(ctx, o)
	if err != nil {
		return err
	}
	if err := app.printFindings(b.request.Project.Findings, o.warningsAsErrors); err != nil {
		return errors.Join(err, b.engine.Close())
	}
	if o.dryRun {
		return app.dryRunBuild(b.request.Project, o.output)
	}
	result, err := b.run(ctx)
	if err != nil {
		return err
	}
	app.noteUse(result)
	if err := app.export(ctx, b, result, o); err != nil {
		return err
	}
	if o.output == "json" {
		return app.printJSON(result)
	}
	if o.toStdout() {
		return nil
	}
	for _, name := range result.Names {
		fmt.Fprintf(app.Out, "%s\t%s\n", name, result.ID)
	}
	return nil
}

// dryRunBuild prints what would be built.
func (app *App) dryRunBuild(project *build.Project, output string) error {
	context, next, err := project.Dockerfile()
	if err != nil {
		return err
	}
	if next != "" {
		app.note("%s", next)
	}
	if output == "json" {
		files := make(map[string]string, len(context.Files))
		for name, content := range context.Files {
			files[name] = string(content)
		}
		return app.printJSON(map[string]any{"dockerfile": context.Dockerfile, "files": files})
	}
	fmt.Fprint(app.Out, context.Dockerfile)
	fmt.Fprintf(app.Out, "\n# Files of the build context:\n")
	for _, name := range context.FileNames() {
		fmt.Fprintf(app.Out, "#   %s\n", yamlfile.Printable(name))
	}
	return nil
}

// ensureImage gives the image of the environment file that path names, or of
// the one in the folder path, and builds it where the engine has none; then it
// says in one line why. With locked it only builds what crun.lock names.
// gpus says that it is for a run with GPUs.
// skip names checks of precheck that are left out.
func (app *App) ensureImage(ctx context.Context, path string, lists projectLists, locked, gpus bool, skip []string) (build.Result, error) {
	b, err := app.openBuild(ctx, buildOptions{file: path, lists: lists, progress: "auto", locked: locked, gpus: gpus, skipChecks: skip})
	if err != nil {
		return build.Result{}, err
	}
	result, reason, err := build.Use(ctx, b.engine, b.request.Project)
	if err != nil || result.ID != "" {
		if err == nil {
			app.noteUse(result)
		}
		return result, errors.Join(err, b.engine.Close())
	}
	if locked {
		if err := build.CheckLock(b.request.Project); err != nil {
			return build.Result{}, errors.Join(err, b.engine.Close())
		}
	}
	for _, finding := range b.request.Project.Findings {
		fmt.Fprintln(app.Err, finding)
	}
	app.note("building the image of %s: %s", b.request.Project.File, reason)
	b.request.Said = reason
	if result, err = b.run(ctx); err == nil {
		app.noteUse(result)
	}
	return result, err
}

// rel gives path as it was written where that works from the process's own
// folder, else below app's.
func (app *App) rel(path string) string {
	if dir, err := os.Getwd(); filepath.IsAbs(path) || err == nil && dir == app.Dir {
		return path
	}
	return filepath.Join(app.Dir, path)
}

func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

// note prints a line that is worth a person's attention, and no error.
func (app *App) note(format string, args ...any) {
	if !app.Quiet {
		fmt.Fprintf(app.Err, "crun: %s\n", yamlfile.PrintableText(fmt.Sprintf(format, args...)))
	}
}
