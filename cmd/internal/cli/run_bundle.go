package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"crun.dev/crun/internal/shellword"
	"crun.dev/crun/run/bundle"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/precheck"
)

// writeBundle is crun run --oci-bundle: what would be started is written.
func (app *App) writeBundle(ctx context.Context, j *job) (err error) {
	dir := app.abs(j.options.bundle)
	if err := bundle.Check(j.plan); err != nil {
		return err
	}
	for _, w := range append(j.warnings, bundle.Warnings(j.plan)...) {
		app.warn(w)
	}
	for _, f := range j.found {
		app.warn(f.Warning())
	}
	if place, ok := precheck.PlaceAt("", dir); ok && place.Free < j.imageSize && !slices.Contains(j.options.skipChecks, precheck.Disk) {
		return fmt.Errorf("%s: %s free, and the image has %s: name a folder with more; --skip-check %s writes it all the same",
			filepath.Dir(dir), plan.FormatBytes(place.Free), plan.FormatBytes(j.imageSize), precheck.Disk)
	}
	exporter, ok := j.engine.(engine.Exporter)
	if !ok {
		return errors.New("this engine cannot give an image's files")
	}
	if j.home != "" {
		if err := os.MkdirAll(j.home, 0o700); err != nil {
			return fmt.Errorf("making the runs' home: %w", err)
		}
	}
	files, err := initFiles(j.plan, j.arch)
	if err != nil {
		return err
	}
	app.note("run %s: writing the files of %s", j.plan.Name, shortImage(j.plan.Image))
	content, err := exporter.Export(ctx, j.plan, files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	if err := bundle.Write(dir, j.plan, j.cgroups, content); err != nil {
		return err
	}
	app.note("written to %s; start it with: runc run --bundle %s %s", dir, shellword.Quote(dir), j.plan.Name)
	return nil
}
