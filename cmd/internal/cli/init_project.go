package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/internal/atomicfile"
	"crun.dev/crun/profiles"
)

// makeFile is what crun init calls the targets for make.
const makeFile = "crun.mk"

//go:embed init_crun.mk
var makeTargets []byte

//go:embed init_profiles.yaml
var starterProfiles []byte

// companion is a file that stands beside a project's environment.yml.
type companion struct {
	name string
	data []byte
	// there says that the folder has it already.
	there bool
}

// companions are the files that belong beside the environment file: none where
// that is a second one (-f gpu.yml).
func (app *App) companions(file string) []companion {
	if !slices.Contains(environment.Names, filepath.Base(file)) {
		return nil
	}
	all := []companion{{name: profiles.FileName, data: starterProfiles}, {name: makeFile, data: makeTargets}}
	for i := range all {
		_, err := os.Lstat(app.rel(filepath.Join(filepath.Dir(file), all[i].name)))
		all[i].there = err == nil
	}
	return all
}

// writeCompanions writes those that are not there, with force all, and says
// which.
func (app *App) writeCompanions(folder string, all []companion, force bool) error {
	var written, kept []string
	for _, c := range all {
		file := filepath.Join(folder, c.name)
		write := atomicfile.Create
		if force {
			write = atomicfile.Replace
		}
		err := write(app.rel(file), c.data, 0o644)
		switch {
		case errors.Is(err, fs.ErrExist):
			kept = append(kept, file)
			continue
		case err != nil:
			return err
		}
		written = append(written, file)
	}
	if len(kept) > 0 {
		app.note("%s stays as it is", strings.Join(kept, ", "))
	}
	if len(written) > 0 {
		app.note("limits and targets for make; written to %s", strings.Join(written, ", "))
	}
	if slices.Contains(written, filepath.Join(folder, makeFile)) {
		app.note(`for "make train" and its like write this line into the Makefile: include %s (or call make -f %s train)`, makeFile, makeFile)
	}
	return nil
}

// printCompanions prints what would be written, for --dry-run.
func (app *App) printCompanions(all []companion, force bool) error {
	for _, c := range all {
		if c.there && !force {
			continue
		}
		if _, err := fmt.Fprintf(app.Out, "\n# %s:\n\n%s", c.name, c.data); err != nil {
			return err
		}
	}
	return nil
}
