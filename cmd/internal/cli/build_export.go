package cli

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/spf13/cobra"

	"crun.dev/crun/build"
	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/internal/atomicfile"
)

// imageExport is a form in which the image is written, and where to.
type imageExport struct{ form, dest string }

// platformNames are what --platform takes.
var platformNames = []string{"linux/amd64", "linux/arm64"}

// addExportFlags adds the flags about where a build and its cache go.
func addExportFlags(cmd *cobra.Command, app *App, o *buildOptions) {
	flags := cmd.Flags()
	flags.StringArrayVar(&o.cacheFrom, "cache-from", nil, "take steps from the cache at `PLACE`: a name in a registry, type=registry,ref=NAME or type=local,src=FOLDER")
	flags.StringArrayVar(&o.cacheTo, "cache-to", nil, "bring the build's cache to `PLACE`: type=inline, type=registry,ref=NAME,mode=max or type=local,dest=FOLDER")
	flags.StringArrayVar(&o.push, "push", nil, "give the image this `NAME` and push it to the name's registry")
	flags.StringVar(&o.platform, "platform", "", "build for this `PLATFORM`: "+strings.Join(platformNames, ", ")+" (default: the engine's)")
	flags.VarP(&outputsFlag{o}, "output", "o", "print as json, or write the image too: type=docker|oci|tar|local,dest=`PATH` (- is stdout)")
	_ = cmd.RegisterFlagCompletionFunc("platform", cobra.FixedCompletions(platformNames, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "type=docker,dest=", "type=oci,dest=", "type=tar,dest=", "type=local,dest="}, cobra.ShellCompDirectiveNoSpace))
}

// outputsFlag is -o/--output of crun build, which may be given several times.
type outputsFlag struct{ o *buildOptions }

func (f *outputsFlag) Type() string   { return "FORMAT" }
func (f *outputsFlag) String() string { return "" }

func (f *outputsFlag) Set(text string) error {
	if text == "json" {
		f.o.output = text
		return nil
	}
	fields, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil || !strings.Contains(text, "=") {
		return errors.New("write json, or type=oci,dest=FILE")
	}
	var export imageExport
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "type":
			export.form = value
		case "dest":
			export.dest = value
		default:
			return fmt.Errorf("there is no %q; it takes type and dest", name)
		}
	}
	switch {
	case !slices.Contains(buildkit.OutputTypes, export.form):
		return fmt.Errorf("the type %q is not one of %s", export.form, strings.Join(buildkit.OutputTypes, ", "))
	case export.dest == "":
		return fmt.Errorf("it names no place; add dest=PATH, or dest=- for stdout")
	case export.dest == "-" && export.form == "local":
		return errors.New("a folder cannot go to stdout; type=tar can")
	}
	f.o.exports = append(f.o.exports, export)
	return nil
}

// toStdout tells that the image itself goes to stdout.
func (o *buildOptions) toStdout() bool {
	return slices.ContainsFunc(o.exports, func(e imageExport) bool { return e.dest == "-" })
}

func (o *buildOptions) checkExports(cmd *cobra.Command) error {
	if o.platform != "" && !slices.Contains(platformNames, o.platform) {
		return usagef(cmd, "--platform is %q; allowed are %s", o.platform, strings.Join(platformNames, ", "))
	}
	stdout := 0
	for _, export := range o.exports {
		if export.dest == "-" {
			stdout++
		}
	}
	if stdout > 1 || stdout == 1 && o.output == "json" {
		return usagef(cmd, "one thing alone can go to stdout: leave an --output out, or name a file")
	}
	for i, name := range o.push {
		named, err := reference.ParseNormalizedNamed(name)
		if err != nil {
			return usagef(cmd, "--push is %q, which is no name for an image: %v", name, err)
		}
		if _, digested := named.(reference.Digested); digested {
			return usagef(cmd, "--push is %q; a name with a digest cannot be given, leave the @ and what follows out", name)
		}
		o.push[i] = reference.FamiliarString(reference.TagNameOnly(named))
	}
	if _, _, err := o.caches("/"); err != nil {
		return usagef(cmd, "%v", err)
	}
	return nil
}

// caches reads --cache-from and --cache-to; folders are below dir.
func (o *buildOptions) caches(dir string) (from, to []buildkit.CacheSpec, err error) {
	for _, text := range o.cacheFrom {
		spec, err := buildkit.ParseCacheSpec(text, dir, false)
		if err != nil {
			return nil, nil, fmt.Errorf("--cache-from is %q: %w", text, err)
		}
		from = append(from, spec)
	}
	for _, text := range o.cacheTo {
		spec, err := buildkit.ParseCacheSpec(text, dir, true)
		if err != nil {
			return nil, nil, fmt.Errorf("--cache-to is %q: %w", text, err)
		}
		to = append(to, spec)
	}
	return from, to, nil
}

// export pushes and writes a finished image as o says.
func (app *App) export(ctx context.Context, b *pendingBuild, result build.Result, o buildOptions) error {
	if len(o.push)+len(o.exports) == 0 {
		return nil
	}
	engine, err := buildkit.NewEngine(b.engine.Endpoint())
	if err != nil {
		return err
	}
	defer engine.Close()
	for _, export := range o.exports {
		if err := app.writeImage(ctx, engine, result.Tag, export); err != nil {
			return fmt.Errorf("the image is built, but not written: %w", err)
		}
	}
	for _, name := range o.push {
		app.note("pushing %s", name)
		digest, err := engine.Push(ctx, name, nil)
		if err != nil {
			return err
		}
		app.note("pushed %s@%s", name, digest)
	}
	return nil
}

func (app *App) writeImage(ctx context.Context, engine *buildkit.Engine, name string, export imageExport) error {
	if export.dest == "-" {
		if terminal(app.Out) != nil {
			return errors.New("stdout is a terminal; send it into a file or a program")
		}
		out := bufio.NewWriterSize(app.Out, 1<<20)
		if err := engine.WriteImage(ctx, name, export.form, out); err != nil {
			return err
		}
		return out.Flush()
	}
	dest := app.rel(export.dest)
	if export.form == "local" {
		return engine.WriteFiles(ctx, name, dest)
	}
	return atomicfile.Fill(dest, 0o644, func(w io.Writer) error { return engine.WriteImage(ctx, name, export.form, w) })
}
