package condaprefix

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"crun.dev/crun/internal/yamlfile"
)

// Machine is where to look for environments by name.
type Machine struct {
	// Getenv reads an environment variable; HOME and conda's own are looked at.
	Getenv func(string) string
	// Dir is the working directory, absolute.
	Dir string
	// Roots are further folders of whole installations, such as /opt/conda.
	Roots []string
}

// SystemRoots are where administrators put conda.
var SystemRoots = []string{"/opt/conda", "/opt/miniconda3", "/opt/anaconda3", "/opt/miniforge3", "/usr/local/miniconda3", "/usr/local/anaconda3"}

// homeRoots are where the installers of conda and mamba put them, below HOME.
var homeRoots = []string{
	"miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".local/share/mamba",
	"miniconda", "anaconda", "opt/miniconda3", "opt/anaconda3", "miniforge-pypy3",
}

// Found is an environment on this machine.
type Found struct {
	// Name is conda's for it: the folder's, or base for an installation's own.
	Name string
	// Path is its folder, absolute.
	Path string
}

// NotFoundError says that no environment has a name.
type NotFoundError struct {
	Name string
	// There are the environments that were found.
	There []Found
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no conda environment is called %q", e.Name)
	if len(e.There) == 0 {
		return text + ", and none was found at all; name its folder instead (conda env list shows it)"
	}
	all := make([]string, len(e.There))
	names := make([]string, len(e.There))
	for i, f := range e.There {
		all[i] = fmt.Sprintf("%s (%s)", f.Name, f.Path)
		names[i] = f.Name
	}
	return text + yamlfile.DidYouMean(e.Name, names) + "; there are " + strings.Join(all, ", ")
}

// Unwrap gives fs.ErrNotExist.
func (e *NotFoundError) Unwrap() error { return fs.ErrNotExist }

// Find gives the environment that a person means by a name, as conda looks it
// up, or by a folder. The error is a *NotFoundError, an ErrNoPrefix, or says
// that several have the name.
func (m Machine) Find(nameOrFolder string) (Found, error) {
	if strings.ContainsRune(nameOrFolder, filepath.Separator) || strings.HasPrefix(nameOrFolder, ".") || strings.HasPrefix(nameOrFolder, "~") {
		return m.folder(nameOrFolder)
	}
	name := nameOrFolder
	if name == "root" {
		name = "base"
	}
	all := m.List()
	var found []Found
	for _, f := range all {
		if f.Name == name {
			found = append(found, f)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && isPrefix(filepath.Join(m.Dir, nameOrFolder)):
		return m.folder(nameOrFolder)
	case len(found) == 0:
		return Found{}, &NotFoundError{Name: nameOrFolder, There: all}
	}
	// base is the one of the conda that is used.
	if name == "base" && found[0].Path == m.ownRoot() {
		return found[0], nil
	}
	paths := make([]string, len(found))
	for i, f := range found {
		paths[i] = f.Path
	}
	return Found{}, fmt.Errorf("several environments are called %q; name the folder of the one that is meant: %s", nameOrFolder, strings.Join(paths, " or "))
}

// folder gives the environment in a folder.
func (m Machine) folder(folder string) (Found, error) {
	path := folder
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		path = m.Getenv("HOME") + rest
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.Dir, path)
	}
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Found{}, fmt.Errorf("%s: there is no such folder", folder)
	case err != nil:
		return Found{}, err
	case !info.IsDir():
		return Found{}, fmt.Errorf("%s is a file; name a conda environment or its folder", folder)
	case isPrefix(path):
		return found(path), nil
	}
	if _, err := os.Stat(filepath.Join(path, "pyvenv.cfg")); err == nil {
		return Found{}, fmt.Errorf(`%s is a venv, not a conda environment; "%s/bin/pip freeze > requirements.txt" lists its packages`, folder, folder)
	}
	return Found{}, fmt.Errorf("%s %w", folder, ErrNoPrefix)
}

// found names the environment of a folder.
func found(path string) Found {
	if isRoot(path) {
		return Found{Name: "base", Path: path}
	}
	return Found{Name: filepath.Base(path), Path: path}
}

// isPrefix tells whether a folder is a conda environment.
func isPrefix(path string) bool {
	records, err := filepath.Glob(filepath.Join(path, "conda-meta", "*.json"))
	return err == nil && len(records) > 0
}

// isRoot tells whether a prefix is an installation of conda, whose environments
// are below it.
func isRoot(path string) bool {
	_, err := os.Stat(filepath.Join(path, "condabin"))
	return err == nil
}
