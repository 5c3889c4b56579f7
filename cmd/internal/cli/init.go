package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"crun.dev/crun/build/condaprefix"
	"crun.dev/crun/build/environment"
	"crun.dev/crun/internal/atomicfile"
)

// initOptions are the flags of crun init.
type initOptions struct {
	fromConda string
	file      string // as it was given, or ""
	dryRun    bool
	force     bool
}

func newInitCmd(app *App) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write environment.yml, profiles.yaml and crun.mk, from a conda environment or as a start",
		Long: `Write what a project needs: environment.yml (packages), profiles.yaml (limits of
its runs) and crun.mk (targets for make: image, train, shell, why, clean).

With --from-conda: what a person would write for a conda environment that is on
this machine. It asks for what conda and pip were asked for and for what nothing
else requires, in the versions that are installed, and leaves out what comes
along with it, build strings and the folder. Neither conda nor an engine is
needed.

Without it: the few lines that an image with PyTorch starts from.

A file that is there stays as it is. --force writes over it: with --from-conda or
-f over the environment file alone, without them over all three. -f FILE of
another name than environment.yml writes that file alone.`,
		Example: `  crun init --from-conda train
  crun init --from-conda ~/miniconda3/envs/train --dry-run
  crun init --from-conda train -f gpu.yml
  crun init`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("from-conda") && o.fromConda == "" {
				return usagef(cmd, "--from-conda is empty; name an environment or its folder")
			}
			return app.init(o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.fromConda, "from-conda", "", "read the conda environment of this `NAME`, or in this folder")
	flags.StringVarP(&o.file, "file", "f", "", "write this `FILE`, or environment.yml in this folder")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print the files, and write nothing")
	flags.BoolVar(&o.force, "force", false, "write over what is there")
	_ = cmd.RegisterFlagCompletionFunc("from-conda", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, found := range app.condaMachine().List() {
			names = append(names, found.Name)
		}
		return names, cobra.ShellCompDirectiveDefault
	})
	return cmd
}

func (app *App) condaMachine() condaprefix.Machine {
	return condaprefix.Machine{Getenv: app.Getenv, Dir: app.Dir, Roots: condaprefix.SystemRoots}
}

func (app *App) init(o initOptions) error {
	file, err := app.initFile(o)
	// Without a word about the environment the one that is there is what the
	// others are for.
	plain := o.fromConda == "" && o.file == ""
	var exists *existsError
	others := app.companions(file)
	if errors.As(err, &exists) && plain && slices.ContainsFunc(others, func(c companion) bool { return !c.there }) {
		app.note("%s stays as it is", exists.file)
		return app.writeCompanions(filepath.Dir(file), others, false)
	}
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(filepath.Dir(app.rel(file)))
	if err != nil {
		return err
	}
	var data []byte
	var said string
	var notes []string
	if o.fromConda != "" {
		data, said, notes, err = app.fromConda(o.fromConda, folder)
	} else {
		data, said, notes = app.starter(folder)
	}
	if err != nil {
		return err
	}
	if o.dryRun {
		if _, err := app.Out.Write(data); err != nil {
			return err
		}
		if plain {
			if err := app.printCompanions(others, o.force); err != nil {
				return err
			}
		}
		app.note("%s; nothing is written", said)
	} else {
		write := atomicfile.Create
		if o.force {
			write = atomicfile.Replace
		}
		if err := write(app.rel(file), data, 0o644); errors.Is(err, fs.ErrExist) {
			return &existsError{file}
		} else if err != nil {
			return err
		}
		app.note("%s; written to %s", said, file)
		if err := app.writeCompanions(filepath.Dir(file), others, o.force && plain); err != nil {
			return err
		}
	}
	for _, note := range notes {
		app.note("%s", note)
	}
	// What was installed may be what no image can have; the file is a start.
	if _, _, err := environment.Parse(data, environment.Options{File: file}); err != nil {
		return fmt.Errorf("the file needs a change before it can be built:\n%w", err)
	}
	return nil
}

// existsError says that a file is there already.
type existsError struct{ file string }

func (e *existsError) Error() string {
	return e.file + " is there already and stays as it is; name another file with -f, or write over it with --force"
}

// initFile gives the file to write, and refuses one that is there, or a second
// environment file beside one that crun build would take.
func (app *App) initFile(o initOptions) (string, error) {
	file := o.file
	switch info, err := os.Stat(app.rel(file)); {
	case file == "":
		file = environment.Names[0]
	case err == nil && info.IsDir():
		file = filepath.Join(file, environment.Names[0])
	case strings.HasSuffix(file, "/"):
		return "", fmt.Errorf("%s: there is no such folder", file)
	}
	if o.dryRun || o.force {
		return file, nil
	}
	if _, err := os.Lstat(app.rel(file)); err == nil {
		return file, &existsError{file}
	}
	dir := filepath.Dir(file)
	there, err := environment.Find(app.rel(dir))
	if err == nil && slices.Contains(environment.Names, filepath.Base(file)) && slices.Contains(environment.Names, filepath.Base(there)) {
		return file, &existsError{filepath.Join(dir, filepath.Base(there))}
	}
	return file, nil
}

// fromConda reads the conda environment and gives its file.
func (app *App) fromConda(name, folder string) (data []byte, said string, notes []string, err error) {
	found, err := app.condaMachine().Find(name)
	if err != nil {
		return nil, "", nil, err
	}
	prefix, err := condaprefix.Read(os.DirFS(found.Path))
	if err != nil {
		return nil, "", nil, fmt.Errorf("reading %s: %w", found.Path, err)
	}
	request := prefix.Request(folder, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
	file := found.Name
	if file == "base" {
		// The file's own base would be the image's conda.
		file = filepath.Base(folder)
	}
	said = fmt.Sprintf("%s: %d packages -> %d requests", found.Path, request.Packages, request.Count())
	return request.YAML(environment.NameOfFolder(file)), said, request.Notes, nil
}

// starter gives the file that an image with PyTorch starts from.
func (app *App) starter(folder string) (data []byte, said string, notes []string) {
	var b strings.Builder
	fmt.Fprintf(&b, `# What this project needs. "crun build" makes an image of it and notes the exact
# versions in crun.lock.
name: %s
channels:
  - conda-forge
dependencies:
  - python=%s
  - pytorch
  - numpy
`, environment.NameOfFolder(filepath.Base(folder)), environment.DefaultPython)
	said = "a start with Python " + environment.DefaultPython + " and PyTorch"
	if _, err := os.Stat(filepath.Join(folder, "requirements.txt")); err == nil {
		b.WriteString("  - pip\n  - pip:\n      - -r requirements.txt\n")
		said += ", and what requirements.txt lists"
	} else {
		b.WriteString("  # Packages of PyPI come last:\n  # - pip\n  # - pip:\n  #     - einops==0.8.0\n")
	}
	if name := app.Getenv("CONDA_DEFAULT_ENV"); name != "" && name != "base" {
		notes = append(notes, fmt.Sprintf("the conda environment %s is active; crun init --from-conda %s writes what it holds", name, name))
	}
	return []byte(b.String()), said, notes
}
