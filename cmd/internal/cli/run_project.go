package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crun.dev/crun/build"
	"crun.dev/crun/build/environment"
)

// noProject is the value of --project that mounts nothing.
const noProject = "none"

// isScript tells whether the command is a script of the caller's and not a
// command of the image.
func isScript(command string) bool {
	return strings.HasSuffix(command, ".py")
}

// checkCommand refuses a script that is not there.
func (app *App) checkCommand(o *runOptions) error {
	command := o.command[0]
	// ./train.sh is the caller's file too; an absolute path may be the image's.
	if !isScript(command) && (filepath.IsAbs(command) || !strings.Contains(command, "/")) {
		return nil
	}
	path := app.abs(command)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("script %s does not exist (in %s)%s", command, filepath.Dir(path), similarScripts(path))
	case err != nil:
		return fmt.Errorf("script %s cannot be read: %w", command, err)
	case info.IsDir():
		return fmt.Errorf("script %s is a folder: name a file in it", command)
	case isScript(command):
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("script %s cannot be read: %w", command, errors.Unwrap(err))
		}
		file.Close()
	}
	return nil
}

// similarScripts names the scripts that are there.
func similarScripts(path string) string {
	entries, _ := os.ReadDir(filepath.Dir(path))
	var names []string
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == filepath.Ext(path) && !entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > 5:
		names = append(names[:5], "...")
	}
	return "; there is " + strings.Join(names, ", ")
}

// findProject gives the folder to mount, or "" for none: the folder of the
// nearest environment file above the script, else the repository's root, else
// the working directory. The whole of a home folder or of the machine is
// mounted for nobody who has not asked.
func (app *App) findProject(o *runOptions) (string, error) {
	if o.project == noProject {
		return "", nil
	}
	if o.project != "" {
		project := app.abs(o.project)
		if project == "/" {
			return "", fmt.Errorf("--project %s is the whole machine: name a folder below it, or none (--data and -v show others)", o.project)
		}
		info, err := os.Stat(project)
		if err != nil {
			return "", fmt.Errorf("--project %s: %w", o.project, errors.Unwrap(err))
		}
		if !info.IsDir() {
			return "", fmt.Errorf("--project %s is not a folder: name the project's, or none", o.project)
		}
		return project, app.checkInside(o, project)
	}
	from := app.Dir
	if command := o.command[0]; isScript(command) {
		from = filepath.Dir(app.abs(command))
	}
	project := app.Dir
	if folder, ok := above(from, hasEnvironment); ok {
		project = folder
		app.noteNearer(o, from, folder)
	} else if folder, ok := aboveInRepository(from, hasPackages); ok {
		project = folder
	} else if folder, ok := above(from, isRepository); ok {
		project = folder
	} else if isScript(o.command[0]) && !within(from, app.Dir) {
		project = from
	}
	home := app.Getenv("HOME")
	if project == "/" || home != "" && project == filepath.Clean(home) {
		return "", fmt.Errorf("the project would be %s, all of it: run crun in the project's folder, or name that with --project FOLDER (--project none mounts nothing)", project)
	}
	return project, app.checkInside(o, project)
}

// noteNearer tells of packages that are asked for between the script's folder and
// the project: the run is in the environment of the project, which may lack them.
func (app *App) noteNearer(o *runOptions, from, project string) {
	if o.file != "" || o.image != "" {
		return
	}
	folder, ok := above(from, func(folder string) bool { return folder == project || hasPackages(folder) })
	if !ok || folder == project {
		return
	}
	nearer, err := build.FindFile(folder)
	if err != nil {
		return
	}
	used, err := build.FindFile(project)
	if err != nil {
		return
	}
	inProject, err := filepath.Rel(project, nearer)
	if text, readErr := build.ReadEnvironment(used); err != nil || readErr != nil || strings.Contains(string(text), inProject) {
		return // "-r exp/requirements.txt": its packages are there
	}
	app.note("the run is in the environment of %s, not in that of %s, which lies nearer to it: take that one with -f %s, or with --project %s also as the project",
		app.shown(used), app.shown(nearer), app.shown(nearer), app.shown(folder))
}

// shown is path from the working directory, where that is no longer.
func (app *App) shown(path string) string {
	if short, err := filepath.Rel(app.Dir, path); err == nil && len(short) < len(path) {
		return short
	}
	return path
}

// checkInside refuses a script that the run could not see.
func (app *App) checkInside(o *runOptions, project string) error {
	command := o.command[0]
	if !isScript(command) && (filepath.IsAbs(command) || !strings.Contains(command, "/")) {
		return nil
	}
	if path := app.abs(command); !within(path, project) {
		return fmt.Errorf("script %s is not in the project %s, which is all that the run sees: name a folder that holds both with --project", command, project)
	}
	return nil
}

// above looks in folder and those above it.
func above(folder string, has func(string) bool) (string, bool) {
	for {
		if has(folder) {
			return folder, true
		}
		up := filepath.Dir(folder)
		if up == folder {
			return "", false
		}
		folder = up
	}
}

// aboveInRepository is above that ends at the repository's root.
func aboveInRepository(folder string, has func(string) bool) (string, bool) {
	found, _ := above(folder, func(folder string) bool { return has(folder) || isRepository(folder) })
	return found, has(found)
}

// hasEnvironment tells whether a folder has an environment file that was
// written as one; the requirements.txt of a folder below it do not hide it.
func hasEnvironment(folder string) bool {
	file, err := build.FindFile(folder)
	return err == nil && slices.Contains(environment.Names, filepath.Base(file))
}

func hasPackages(folder string) bool {
	_, err := build.FindFile(folder)
	return err == nil
}

func isRepository(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, ".git"))
	return err == nil
}

// within tells whether path is folder or lies in it. Both are clean.
func within(path, folder string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}
