package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"crun.dev/crun/profiles"
)

func newProfilesCmd(app *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profiles",
		Short: "List, show and check the limits profiles",
		Long: `A limits profile is a named set of limits for runs: memory, cpus, GPUs and so
on. Profiles come from the catalogue in crun, /etc/crun/profiles.yaml,
~/.config/crun/profiles.yaml and the profiles.yaml files from the working
directory up to the repository's root; the nearest file that has a name wins.`,
		Example: `  crun profiles list
  crun profiles show medium`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usagef(cmd, "%s has no command %q%s; it has list, show and validate", cmd.CommandPath(), args[0], didYouMean(cmd, args[0]))
		},
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newProfilesListCmd(app), newProfilesShowCmd(app), newProfilesValidateCmd(app))
	return cmd
}

func newProfilesListCmd(app *App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the profiles and where they come from",
		Example: `  crun profiles list
  crun profiles list -o json | jq -r '.profiles[].name'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(cmd, output); err != nil {
				return err
			}
			set, warnings, err := app.loadProfiles()
			if err != nil {
				return err
			}
			app.warnProfiles(warnings, "")
			if output == "json" {
				return writeProfileListJSON(app.Out, set)
			}
			return writeProfileList(app.Out, set)
		},
	}
	addOutputFlag(cmd, &output)
	return cmd
}

func newProfilesShowCmd(app *App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show one profile, with the file and line of every value",
		Long: `Show the profile NAME, or the default one, as it counts after extends: what is
printed can be pasted into a profiles.yaml. Behind each value stands its place.`,
		Example: `  crun profiles show
  crun profiles show gpu
  crun profiles show small -o json | jq .fields.memory.value`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef(cmd, "%s takes one name, not %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return app.completeProfiles(cmd, args, toComplete)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(cmd, output); err != nil {
				return err
			}
			set, warnings, err := app.loadProfiles()
			if err != nil {
				return err
			}
			name, _ := set.Default()
			if len(args) == 1 {
				name = args[0]
			}
			if name == "" {
				return usagef(cmd, "no profiles file has a default; name one of %s", strings.Join(set.Names(), ", "))
			}
			profile, err := set.Resolve(name)
			if err != nil {
				return err
			}
			app.warnProfiles(warnings, name)
			if output == "json" {
				return writeProfileJSON(app.Out, set, profile)
			}
			return writeProfile(app.Out, profile)
		},
	}
	addOutputFlag(cmd, &output)
	return cmd
}

func newProfilesValidateCmd(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "validate [FILE...]",
		Short: "Check profiles files and print every mistake in them",
		Long: `Check the profiles files that count here, or each FILE before it is put in its
place: together with /etc/crun/profiles.yaml and the catalogue in crun, which
it may extend. Every mistake is printed with its place; the exit code is 1 if
there is one. Whether a host has what a profile asks for is checked by crun run.`,
		Example: `  crun profiles validate
  crun profiles validate profiles.yaml
  crun profiles validate new.yaml && sudo install -m 644 new.yaml /etc/crun/profiles.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				files, err := app.profileFiles()
				if err != nil {
					return err
				}
				return app.validateProfiles(files, len(files))
			}
			var errs []error
			for _, name := range args {
				files, err := app.filesBehind(name)
				if err == nil {
					err = app.validateProfiles(files, 1)
				}
				if err != nil {
					errs = append(errs, err)
				}
			}
			return joinFlat(errs)
		},
	}
}

// validateProfiles checks files, the nearest first, and says what is good
// about the first n of them.
func (app *App) validateProfiles(files []profiles.File, n int) error {
	set, warnings, err := profiles.Load(files)
	said := make(map[string]bool)
	for _, w := range warnings {
		// A profile inherits the warnings of the one that it extends.
		if text := w.String(); !said[text] {
			said[text] = true
			app.warnProfile(w)
		}
	}
	if err != nil {
		return err
	}
	for _, file := range set.Files() {
		if slices.ContainsFunc(files[:n], func(f profiles.File) bool { return f.Name == file.Name }) {
			noun := "profiles"
			if len(file.Profiles) == 1 {
				noun = "profile"
			}
			if file.Build {
				noun += " and build"
			}
			if _, err := fmt.Fprintf(app.Out, "ok: %s (%d %s)\n", file.Name, len(file.Profiles), noun); err != nil {
				return err
			}
		}
	}
	return nil
}

// joinFlat joins errors that may themselves be joined, so that each is printed
// on a line of its own.
func joinFlat(errs []error) error {
	var flat []error
	for _, err := range errs {
		var joined interface{ Unwrap() []error }
		if errors.As(err, &joined) {
			flat = append(flat, joined.Unwrap()...)
		} else {
			flat = append(flat, err)
		}
	}
	return errors.Join(flat...)
}
