package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/spf13/cobra"

	"crun.dev/crun/build"
	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/environment"
	"crun.dev/crun/cmd/internal/config"
)

// checkOptions are the flags of crun check.
type checkOptions struct {
	mode             string
	progress         string
	warningsAsErrors bool
	output           string
	gpu              bool
}

func newCheckCmd(app *App) *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check IMAGE",
		Short: "Check that an image's packages can be imported",
		Long: `Check the packages of an image as crun build does before an image gets its name:
each module of the packages that were asked for is imported, torch's libraries
are loaded, a tensor is made of a numpy array, and two workers of a DataLoader
load something; all of it without a network and without a GPU. Of an image that
crun did not build, the packages that no other one needs are taken. Nothing is
added to the image.

With --gpu torch is tried on this machine's GPUs instead, in a run: memory, a
product of matrices, a convolution of cuDNN, and with several GPUs a sum by
NCCL. crun run does so by itself the first time that an image meets a driver.

The exit code is 1 where torch, numpy or a module of build.check in
profiles.yaml fails. What fails else is a warning.`,
		Example: `  crun check crun/train:4f2a91c07e3b
  crun check lab/train:v1 --check import
  crun check --gpu crun/train:4f2a91c07e3b
  crun check lab/train:v1 -o json | jq -r '.modules[] | select(.status == "fails").name'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef(cmd, "%s takes one image, not %d", cmd.CommandPath(), len(args))
			}
			if _, err := reference.ParseNormalizedNamed(args[0]); err != nil {
				return usagef(cmd, "%q is no name of an image: %v", args[0], err)
			}
			switch {
			case o.gpu && (cmd.Flags().Changed("check") || o.warningsAsErrors):
				return usagef(cmd, "--gpu tries GPUs and nothing else: leave out --check and --warnings-as-errors")
			case !slices.Contains(build.CheckModes[1:], o.mode):
				return usagef(cmd, "--check is %q; allowed are %s", o.mode, strings.Join(build.CheckModes[1:], ", "))
			case !slices.Contains(buildkit.Modes, o.progress):
				return usagef(cmd, "--progress is %q; allowed are %s", o.progress, strings.Join(buildkit.Modes, ", "))
			}
			return checkOutput(cmd, o.output)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.gpu {
				return app.printGPUCheck(cmd.Context(), args[0], o.output)
			}
			return app.check(cmd.Context(), args[0], o)
		},
	}
	flags := cmd.Flags()
	addCheckFlag(cmd, &o.mode)
	flags.StringVar(&o.progress, "progress", "auto", "how to show what is done: "+strings.Join(buildkit.Modes, ", "))
	flags.BoolVar(&o.warningsAsErrors, "warnings-as-errors", false, "count warnings as errors")
	flags.BoolVar(&o.gpu, "gpu", false, "try torch on this machine's GPUs instead")
	addOutputFlag(cmd, &o.output)
	_ = cmd.RegisterFlagCompletionFunc("progress", cobra.FixedCompletions(buildkit.Modes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// addCheckFlag adds the flag that says how much is checked.
func addCheckFlag(cmd *cobra.Command, mode *string) {
	allowed := "off; import: imports, torch's libraries, a tensor from numpy; full: a DataLoader with two workers as well"
	modes := build.CheckModes
	if cmd.Name() == "check" {
		allowed, modes = strings.TrimPrefix(allowed, "off; "), modes[1:]
	}
	cmd.Flags().StringVar(mode, "check", string(build.CheckFull), "how `MUCH` to try of the packages ("+allowed+")")
	_ = cmd.RegisterFlagCompletionFunc("check", cobra.FixedCompletions(modes, cobra.ShellCompDirectiveNoFileComp))
}

// printFindings prints what lint has found. Where warnings count as errors it
// gives one.
func (app *App) printFindings(findings []environment.Finding, warningsAsErrors bool) error {
	warnings := 0
	for _, finding := range findings {
		fmt.Fprintln(app.Err, finding)
		if finding.Severity == environment.SeverityWarning {
			warnings++
		}
	}
	if warningsAsErrors && warnings > 0 {
		return fmt.Errorf("warnings count as errors here (--warnings-as-errors), and the environment file has %d", warnings)
	}
	return nil
}

// check checks an image and prints what came of it.
func (app *App) check(ctx context.Context, image string, o checkOptions) error {
	cfg, err := config.Load(app.Getenv)
	if err != nil {
		return err
	}
	engine, err := app.buildEngine(cfg)
	if err != nil {
		return err
	}
	defer engine.Close()
	platform, err := app.platform(ctx, engine, "", false)
	if err != nil {
		return err
	}
	sources, err := app.sourcesOf(cfg, nil)
	if err != nil {
		return err
	}
	solver := buildkit.New(engine, app.buildkitOptions(o.progress))
	defer solver.Close()
	report, err := build.CheckImage(ctx, solver, engine, image, firstOf(cfg.ToolboxBase, build.DefaultBase), platform, build.CheckMode(o.mode), sources)
	if err != nil {
		return err
	}
	warnings := report.Warnings()
	if o.output == "json" {
		err = app.printJSON(report)
	} else {
		for _, line := range warnings {
			app.warn(line)
		}
		_, err = fmt.Fprintln(app.Out, report.Summary())
	}
	if o.warningsAsErrors && len(warnings) > 0 {
		return &exitError{code: exitFailure} // the lines have said it
	}
	return err
}
