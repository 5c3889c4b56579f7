package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"crun.dev/crun/build"
	"crun.dev/crun/build/environment"
	"crun.dev/crun/internal/atomicfile"
)

// fixFiles makes the safe fixes of the files, and prints what is left to say
// about them.
func (app *App) fixFiles(o lintOptions) error {
	files := o.files
	if len(files) == 0 {
		files = []string{"."}
	}
	report := lintReport{Files: []string{}, Findings: []findingJSON{}}
	var errs []error
	for _, path := range files {
		file, fixed, err := app.fixFile(path, o)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		report.add(file, fixed.Left, o.warningsAsErrors)
		for _, f := range fixed.Made {
			report.Fixed = append(report.Fixed, newFindingJSON(f))
		}
	}
	switch {
	case o.output == "json":
		errs = append(errs, app.printJSON(report))
	case !o.dryRun:
		errs = append(errs, report.print(app.Out))
	}
	if o.output != "json" && len(report.Files) > 0 {
		app.note("%s", report.summary())
	}
	if err := joinFlat(errs); err != nil {
		return err
	}
	if report.Errors > 0 {
		return &exitError{code: exitFailure} // the findings have said it
	}
	return nil
}

// fixFile makes the safe fixes of the file that path names, or with --dry-run
// prints them, and says what they are.
func (app *App) fixFile(path string, o lintOptions) (string, *environment.Fixed, error) {
	file, err := app.findArgument(path)
	if err != nil {
		return "", nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", nil, err
	}
	if !info.Mode().IsRegular() {
		return "", nil, fmt.Errorf("%s is no file that could be changed", file)
	}
	text, err := build.ReadEnvironment(file)
	if err != nil {
		return "", nil, err
	}
	var extras build.Extras
	if section, _, err := app.buildSection(file); err == nil {
		extras.Apt = section.Apt
	}
	fixed, err := build.FixText(text, file, build.Options{Python: o.python, ProjectExtras: o.lists.extras, Groups: o.lists.groups, Platform: o.platform, Extras: extras})
	if err != nil {
		return "", nil, err
	}
	if bytes.Equal(fixed.Text, text) {
		app.note("%s: nothing to fix", file)
		return file, fixed, nil
	}
	if o.dryRun {
		if o.output != "json" {
			_, err = app.Out.Write(diff.Diff(file, text, file, fixed.Text))
		}
		app.note("%s: %d packages -> %d requests; nothing is written", file, fixed.Before, fixed.After)
	} else {
		var orig string
		if orig, err = replaceKeeping(file, text, fixed.Text, info.Mode()); err == nil {
			app.note("%s: %d packages -> %d requests; as it was: %s", file, fixed.Before, fixed.After, orig)
		}
	}
	if err != nil {
		return "", nil, err
	}
	for _, line := range deeds(fixed.Made) {
		app.note("%s", line)
	}
	if len(fixed.Unknown) > 0 {
		app.note("kept, because crun does not know whether others bring them: %s", strings.Join(fixed.Unknown, ", "))
	}
	return file, fixed, nil
}

// deeds says what the fixes of the findings did, a line a kind.
func deeds(made []environment.Finding) []string {
	var codes []string
	out, changed := map[string]int{}, map[string]int{}
	for _, f := range made {
		if !slices.Contains(codes, f.Code) {
			codes = append(codes, f.Code)
		}
		for _, e := range f.Fix.Edits {
			if e.New == "" {
				out[f.Code]++
			} else {
				changed[f.Code]++
			}
		}
	}
	var lines []string
	for _, code := range codes {
		switch code {
		case "full-export":
			lines = append(lines, fmt.Sprintf("took out %s that others bring, and the builds of the rest", packages(out[code])))
		case "build-pins":
			lines = append(lines, fmt.Sprintf("took its exact build off %s", packages(changed[code])))
		case "other-platform":
			lines = append(lines, fmt.Sprintf("took out %s for another system", packages(out[code])))
		case "prefix-ignored":
			lines = append(lines, "took out prefix")
		default:
			explained, _ := environment.Explain(code)
			lines = append(lines, fmt.Sprintf("mended: %s (%s)", explained.Summary, code))
		}
	}
	return lines
}

func packages(n int) string {
	if n == 1 {
		return "1 package"
	}
	return fmt.Sprintf("%d packages", n)
}

// replaceKeeping writes text into file, which holds old, and keeps old beside
// it: as FILE.orig or, where another content has that name, FILE.orig.2 and so
// on. The first one stays what the person wrote, however often crun fixes.
func replaceKeeping(file string, old, text []byte, mode fs.FileMode) (orig string, err error) {
	if mode.Perm()&0o200 == 0 {
		return "", fmt.Errorf("%s is write-protected; nothing is changed (chmod u+w %s)", file, file)
	}
	for n := 1; ; n++ {
		orig = file + ".orig"
		if n > 1 {
			orig = fmt.Sprintf("%s.orig.%d", file, n)
		}
		err := atomicfile.Create(orig, old, mode)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		if there, err := os.ReadFile(orig); err == nil && bytes.Equal(there, old) {
			return orig, atomicfile.Replace(file, text, mode)
		}
	}
	if err := atomicfile.Replace(file, text, mode); err != nil {
		return "", errors.Join(err, os.Remove(orig))
	}
	return orig, nil
}
