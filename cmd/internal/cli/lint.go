package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"crun.dev/crun/build"
	"crun.dev/crun/build/environment"
	"crun.dev/crun/internal/yamlfile"
)

// lintOptions are the flags of crun lint.
type lintOptions struct {
	files            []string
	explain          string
	platform         string
	python           string
	lists            projectLists
	cuda             string
	warningsAsErrors bool
	fix, dryRun      bool
	output           string
}

func newLintCmd(app *App) *cobra.Command {
	var o lintOptions
	cmd := &cobra.Command{
		Use:   "lint [FILE | DIR | -]...",
		Short: "Check environment files without building them",
		Long: `Check environment files: what is no environment file, what cannot be built, and
what builds but was hardly meant. One line a finding, with its place, what to
write instead and its code. Neither an engine nor a network is needed. Without a
FILE the environment file of the working directory is checked; - is standard
input.

With --fix what has one safe remedy is changed in the file, whose comments and
order stay. Of a full "conda env export" it leaves Python, torch, CUDA, the pip
packages and what nothing else in the file requires. The file as it was is kept
as FILE.orig.

With --cuda the file is also held against the GPUs that it is meant for: a torch
for CPUs, and a CUDA that their driver does not run. Without it counts what
build.cuda in profiles.yaml says.

The exit code is 1 where there is an error, and 0 with warnings and notes alone.`,
		Example: `  crun lint
  crun lint environment.yml envs/*.yml --warnings-as-errors
  crun lint -o json | jq -r '.findings[] | select(.severity != "note").message'
  crun lint --cuda 12.4
  crun lint pyproject.toml --group dev
  crun lint --explain torch-python
  crun lint --fix
  crun lint --fix --dry-run environment.yml`,
		Args: func(cmd *cobra.Command, args []string) error {
			o.files = args
			if cmd.Flags().Changed("explain") && len(args) > 0 {
				return usagef(cmd, "--explain takes one code and no file; leave %q out", args[0])
			}
			if o.dryRun && !o.fix {
				return usagef(cmd, "--dry-run shows what --fix would change; give both")
			}
			if o.fix && slices.Contains(args, "-") {
				return usagef(cmd, "--fix changes files, and - is standard input; name the file")
			}
			return o.check(cmd)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yml", "yaml", "txt", "toml"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("explain") {
				return app.explainCode(cmd, o.explain, o.output)
			}
			if o.fix {
				return app.fixFiles(o)
			}
			return app.lint(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.explain, "explain", "", "explain the findings that have this `CODE`")
	flags.StringVar(&o.platform, "platform", "linux-64", "read selectors such as \"# [linux64]\" for this `PLATFORM`: linux-64 or linux-aarch64")
	flags.StringVar(&o.python, "python", "", "take this `VERSION` of Python where a file names none (default "+environment.DefaultPython+")")
	o.lists.addFlags(flags)
	flags.StringVar(&o.cuda, "cuda", "", "hold the file against this `VERSION` of CUDA (\"12.4\"), against none, or auto: what this machine's driver is made for (default: build.cuda of profiles.yaml)")
	flags.BoolVar(&o.warningsAsErrors, "warnings-as-errors", false, "count warnings as errors")
	flags.BoolVar(&o.fix, "fix", false, "change the files where that is safe, and keep each as FILE.orig")
	flags.BoolVar(&o.dryRun, "dry-run", false, "with --fix: print what would change, and change nothing")
	addOutputFlag(cmd, &o.output)
	_ = cmd.RegisterFlagCompletionFunc("explain", completeCodes)
	_ = cmd.RegisterFlagCompletionFunc("cuda", cobra.FixedCompletions([]string{build.CUDANone, build.CUDAAuto}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("platform", cobra.FixedCompletions(lintPlatforms, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var lintPlatforms = []string{"linux-64", "linux-aarch64"}

func (o *lintOptions) check(cmd *cobra.Command) error {
	if err := checkOutput(cmd, o.output); err != nil {
		return err
	}
	if o.platform != lintPlatforms[0] && o.platform != lintPlatforms[1] {
		return usagef(cmd, "--platform is %q; allowed are %s", o.platform, strings.Join(lintPlatforms, ", "))
	}
	if err := o.lists.check(cmd); err != nil {
		return err
	}
	if o.cuda != "" {
		if err := build.CheckCUDA(o.cuda); err != nil {
			return usagef(cmd, "--cuda: %v", err)
		}
		if o.fix {
			return usagef(cmd, "--fix changes what is wrong on any machine; leave --cuda out")
		}
	}
	if o.python != "" && !pythonVersion.MatchString(o.python) {
		return usagef(cmd, `--python is %q; allowed is a version such as "3.9" or "3.11.4"`, o.python)
	}
	return nil
}

func completeCodes(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, code := range environment.Codes() {
		if strings.HasPrefix(code.Name, toComplete) {
			names = append(names, cobra.CompletionWithDesc(code.Name, code.Summary))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// lint checks the files and prints what there is to say about them.
func (app *App) lint(ctx context.Context, o lintOptions) error {
	files := o.files
	if len(files) == 0 {
		files = []string{"."}
	}
	report := lintReport{Files: []string{}, Findings: []findingJSON{}}
	var errs []error
	for _, path := range files {
		file, findings, err := app.lintFile(ctx, path, build.Options{Python: o.python, ProjectExtras: o.lists.extras, Groups: o.lists.groups, Platform: o.platform, Extras: build.Extras{CUDA: o.cuda}})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		report.add(file, findings, o.warningsAsErrors)
	}
	if o.output == "json" {
		errs = append(errs, app.printJSON(report))
	} else {
		errs = append(errs, report.print(app.Out))
		if len(report.Files) > 0 {
			app.note("%s", report.summary())
		}
	}
	if err := joinFlat(errs); err != nil {
		return err
	}
	if report.Errors > 0 {
		return &exitError{code: exitFailure} // the findings have said it
	}
	return nil
}

// lintFile checks the file that path names, and gives the name that it has in
// messages.
func (app *App) lintFile(ctx context.Context, path string, options build.Options) (string, []environment.Finding, error) {
	if path == "-" {
		text, err := app.readInput(ctx)
		if err != nil {
			return "", nil, err
		}
		if options.CUDA == build.CUDAAuto {
			options.HostCUDA = app.hostCUDA(ctx)
		}
		findings, err := build.LintText(text, environment.Stdin, options)
		return environment.Stdin, findings, err
	}
	file, err := app.findArgument(path)
	if err != nil {
		return "", nil, err
	}
	if section, _, err := app.buildSection(file); err == nil { // a mistake in profiles.yaml is crun profiles validate's
		options.CUDA, options.Apt = firstOf(options.CUDA, section.CUDA), section.Apt
	}
	if options.CUDA == build.CUDAAuto {
		options.HostCUDA = app.hostCUDA(ctx)
	}
	findings, err := build.Lint(file, options)
	return file, findings, err
}

// findArgument finds the file that an argument names.
func (app *App) findArgument(path string) (string, error) {
	file, err := build.FindFile(app.rel(path))
	var notFound *environment.NotFoundError
	if errors.As(err, &notFound) {
		notFound.Flag = "" // files are arguments here
	}
	return file, err
}

// explainCode prints what a code means.
func (app *App) explainCode(cmd *cobra.Command, name, output string) error {
	code, ok := environment.Explain(name)
	if !ok {
		var names []string
		for _, c := range environment.Codes() {
			names = append(names, c.Name)
		}
		return noSuchCode(cmd, "code", name, names)
	}
	if output == "json" {
		return app.printJSON(codeJSON{code.Name, code.Severity, code.Summary, strings.ReplaceAll(code.Text, "\n", " "), code.Source})
	}
	_, err := fmt.Fprintf(app.Out, "%s (%s): %s\n\n%s\n\nSource: %s\n", code.Name, code.Severity, code.Summary, code.Text, code.Source)
	return err
}

// noSuchCode answers one that --explain does not know.
func noSuchCode(cmd *cobra.Command, kind, name string, known []string) error {
	hint := yamlfile.DidYouMean(name, known)
	if hint == "" {
		hint = "; the codes are " + strings.Join(known, ", ")
	}
	return usagef(cmd, "there is no %s %q%s", kind, name, hint)
}
