package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"crun.dev/crun"
	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/profiles"
)

// profileFiles reads the files that count, the nearest first: --profiles
// alone, or all that there are.
func (app *App) profileFiles() ([]profiles.File, error) {
	if app.ProfilesFile != "" {
		return app.givenProfiles()
	}
	files, err := profiles.Discover(app.Dir, config.UserDir(app.Getenv), config.SystemDir)
	return append(files, profiles.Catalogue(crun.ProfilesYAML)), err
}

// givenProfiles reads the file of --profiles.
func (app *App) givenProfiles() ([]profiles.File, error) {
	file, err := app.readProfiles(app.ProfilesFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("--profiles %w: name a profiles.yaml, or a profile of those there are with --profile", err)
	}
	return []profiles.File{file}, err
}

// filesBehind gives the file called name and those farther than it: its own
// where it lies in one of crun's places, else the system's.
func (app *App) filesBehind(name string) ([]profiles.File, error) {
	file, err := app.readProfiles(name)
	if err != nil {
		return nil, err
	}
	all, err := profiles.Discover(app.Dir, config.UserDir(app.Getenv), config.SystemDir)
	if err != nil {
		return nil, err
	}
	place := slices.IndexFunc(all, func(f profiles.File) bool { return app.abs(f.Name) == app.abs(name) })
	if place >= 0 {
		file.Layer = all[place].Layer
	} else {
		place = slices.IndexFunc(all, func(f profiles.File) bool { return f.Layer == profiles.System }) - 1
		if place < 0 {
			place = len(all) - 1
		}
	}
	files := append([]profiles.File{file}, all[place+1:]...)
	return append(files, profiles.Catalogue(crun.ProfilesYAML)), nil
}

// readProfiles reads a file that the command line names, which messages call
// as it does.
func (app *App) readProfiles(name string) (profiles.File, error) {
	file, err := profiles.ReadFile(app.abs(name), profiles.Given)
	file.Name = name
	var path *fs.PathError
	if errors.As(err, &path) {
		err = fmt.Errorf("%s: %w", name, path.Err)
	}
	return file, err
}

func (app *App) abs(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(app.Dir, name)
}

// loadProfiles gives the profiles that count for the working directory.
func (app *App) loadProfiles() (*profiles.Set, []profiles.Warning, error) {
	files, err := app.profileFiles()
	if err != nil {
		return nil, nil, err
	}
	return profiles.Load(files)
}

// buildSection gives what the profiles files say of builds: those from the
// environment file's folder up to its repository's root, the user's and the
// system's; or --profiles alone.
func (app *App) buildSection(file string) (profiles.Build, []profiles.Warning, error) {
	files, err := app.buildFiles(filepath.Dir(app.abs(file)))
	if err != nil {
		return profiles.Build{}, nil, err
	}
	section, warnings, err := profiles.LoadBuild(files)
	// Those about whole files are for commands that want a profile.
	warnings = slices.DeleteFunc(warnings, func(w profiles.Warning) bool { return w.Source.Line == 0 })
	return section, warnings, err
}

func (app *App) buildFiles(dir string) ([]profiles.File, error) {
	if app.ProfilesFile != "" {
		return app.givenProfiles()
	}
	files, err := profiles.Discover(dir, config.UserDir(app.Getenv), config.SystemDir)
	for i, file := range files {
		// Messages name it from where crun is called.
		if path := filepath.Join(dir, file.Name); file.Layer == profiles.Project && !filepath.IsAbs(file.Name) {
			files[i].Name = path
			if rel, err := filepath.Rel(app.Dir, path); err == nil {
				files[i].Name = rel
			}
		}
	}
	return files, err
}

// completeProfiles completes the name of a profile, with its description.
func (app *App) completeProfiles(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	set, _, err := app.loadProfiles()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, name := range set.Names() {
		profile, err := set.Resolve(name)
		if err == nil && strings.HasPrefix(name, toComplete) {
			names = append(names, cobra.CompletionWithDesc(name, profile.Description))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// warnProfiles prints the warnings about files and about the profile name.
func (app *App) warnProfiles(warnings []profiles.Warning, name string) {
	for _, w := range warnings {
		if w.Profile == "" || w.Profile == name {
			app.warnProfile(w)
		}
	}
}

func (app *App) warnProfile(w profiles.Warning) { fmt.Fprintf(app.Err, "crun: warning: %v\n", w) }
