package environment

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crun.dev/crun/internal/boundedfile"
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

// Names are the environment files that Find looks for, first one first.
var Names = []string{
	"environment.yml", "environment.yaml",
	"env.yml", "env.yaml",
	"conda.yml", "conda.yaml",
}

// OtherNames are files of other tools that Find takes where there is none of
// Names, first one first: what is locked, then what a person wrote for a
// training, then what describes a package.
var OtherNames = []string{"conda-lock.yml", "requirements.txt", "pyproject.toml"}

// NotFoundError says that a folder holds none of Names. It is an
// fs.ErrNotExist.
type NotFoundError struct {
	Dir string
	// Others are files in Dir that may be environments under other names.
	Others []string
	// Flag is what stands before a file that a person names: "-f ", or nothing
	// where the command takes files as arguments.
	Flag string
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no environment file in %s (looked for %s)", e.Dir, strings.Join(slices.Concat(Names, OtherNames), ", "))
	if len(e.Others) > 0 {
		return text + "; name the one that is meant: " + e.Flag + strings.Join(e.Others, " or "+e.Flag)
	}
	return text + "; crun init writes a first environment.yml, or name another file: " + e.Flag + "FILE"
}

// Unwrap gives fs.ErrNotExist.
func (e *NotFoundError) Unwrap() error { return fs.ErrNotExist }

// Find gives the path of dir's environment file. The error is a
// *NotFoundError, or that of a folder which cannot be read.
func Find(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Concat(Names, OtherNames) {
		path := filepath.Join(dir, name)
		// Stat follows links; a folder of that name is no environment.
		if info, err := os.Stat(path); err == nil && !info.IsDir() && asksForPackages(path) {
			return path, nil
		}
	}
	notFound := &NotFoundError{Dir: dir, Flag: "-f "}
	for _, entry := range entries {
		name := strings.ToLower(entry.Name())
		yml := slices.Contains([]string{".yml", ".yaml"}, filepath.Ext(name))
		if !entry.IsDir() && yml && (strings.Contains(name, "env") || strings.Contains(name, "conda")) {
			notFound.Others = append(notFound.Others, entry.Name())
		}
	}
	return "", notFound
}

var projectTable = lazyregexp.New(`(?m)^\s*\[\s*(?:project|tool\s*\.\s*poetry\s*\.\s*dependencies)\s*\]`)

// asksForPackages is false for a pyproject.toml that has settings of tools
// alone.
func asksForPackages(path string) bool {
	if filepath.Base(path) != "pyproject.toml" {
		return true
	}
	data, err := boundedfile.Read(path, yamlfile.MaxSize)
	return err != nil || projectTable.Match(data)
}
