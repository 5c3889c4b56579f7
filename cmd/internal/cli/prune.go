package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"crun.dev/crun/build"
	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/projects"
	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// pruneOptions are the flags of crun prune.
type pruneOptions struct {
	olderThan              dayFlag
	dryRun, yes            bool
	others, allCache       bool
	installTimer, dropTime bool
	output                 string
}

// pruneAge is how long something has to lie unused, where nobody says
// otherwise: longer than a holiday.
const pruneAge = 30 * 24 * time.Hour

func newPruneCmd(app *App) *cobra.Command {
	o := pruneOptions{olderThan: dayFlag(pruneAge)}
	cmd := &cobra.Command{
		Use:   "prune [flags]",
		Short: "Remove what crun has left behind and nobody needs",
		Long: `Remove images, records of the build cache, folders of dead runs and records of
ended runs that nobody has used for 30 days. What goes, what it frees and why the
rest stays is said first; on a terminal you are asked, in scripts --yes answers.

An image stays while a container or run is made of it, while the crun.lock of a
project of yours names it, while it has a name that you gave it, or where nobody
knows that it is yours (--others takes those too: for administrators). Of the
build cache only what steps of crun made is removed, without --all-cache. What
crun did not make stays.

The locks that count are those of projects whose images were built or run under
this account on this machine: the engine itself knows no projects.`,
		Example: `  crun prune --dry-run
  crun prune --older-than 7d --yes
  crun prune --install-timer
  sudo crun prune --others --all-cache`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.installTimer && o.dropTime:
				return usagef(cmd, "--install-timer and --remove-timer contradict each other; leave one out")
			case o.output != "" && !o.dryRun && !o.yes:
				return usagef(cmd, "-o json asks nothing: add --dry-run to look, or --yes to remove")
			}
			if err := checkOutput(cmd, o.output); err != nil {
				return err
			}
			return noArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.installTimer:
				return app.installTimer(cmd.Context(), o)
			case o.dropTime:
				return app.removeTimer(cmd.Context(), o)
			}
			return app.prune(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.Var(&o.olderThan, "older-than", "remove only what has not been used for this long: 30d, 12h, 0s")
	flags.BoolVar(&o.dryRun, "dry-run", false, "say what would be removed, and remove nothing")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.others, "others", false, "remove images that nobody knows to be yours too")
	flags.BoolVar(&o.allCache, "all-cache", false, "remove records of the build cache that may not be crun's too")
	flags.BoolVar(&o.installTimer, "install-timer", false, "have it run once a week, by systemd or cron")
	flags.BoolVar(&o.dropTime, "remove-timer", false, "undo --install-timer")
	addOutputFlag(cmd, &o.output)
	return cmd
}

// dayFlag is a time on the command line that may be given in days.
type dayFlag time.Duration

func (t *dayFlag) Type() string { return "TIME" }

func (t *dayFlag) String() string {
	d := time.Duration(*t)
	if day := 24 * time.Hour; d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return d.String()
}

func (t *dayFlag) Set(text string) error {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		if _, err := fmt.Sscanf(days+"\n", "%d\n", &n); err != nil || n < 0 || n > 36500 || fmt.Sprint(n) != days {
			return errors.New("write it as 30d, 12h or 0s")
		}
		*t = dayFlag(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("write it as 30d, 12h or 0s")
	}
	*t = dayFlag(d)
	return nil
}

// garbage is what prune has found. Sizes are bytes.
type garbage struct {
	Images  []imageFate  `json:"images"`
	Cache   cacheFate    `json:"build_cache"`
	Tmpdirs []folderFate `json:"tmpdirs"`
	Records []recordFate `json:"records"`
	Frees   int64        `json:"frees"`
	all     []buildkit.CacheRecord
	prune   *build.Prune
}

type imageFate struct {
	imageRow
	// Keep says why it stays, "" where it goes.
	Keep string `json:"keep,omitempty"`
	img  buildkit.Stored
}

type cacheFate struct {
	Records int   `json:"records"`
	Bytes   int64 `json:"bytes"`
	ids     []string
	mounts  int64
}

func (app *App) prune(ctx context.Context, o pruneOptions) (err error) {
	cfg, err := config.Load(app.Getenv)
	if err != nil {
		return err
	}
	engine, err := app.buildEngine(cfg)
	if err != nil {
		return err
	}
	solver := buildkit.New(engine, buildkit.Options{Address: app.Getenv("BUILDKIT_HOST"), Progress: "quiet", Out: app.Err})
	defer func() { _, _ = solver.Close(), engine.Close() }()
	store, err := app.openStore()
	if err != nil {
		return err
	}
	app.sweep(store)
	g, known, err := app.findGarbage(ctx, o, cfg, engine, solver, store)
	if err != nil {
		return err
	}
	if o.output == "json" && o.dryRun {
		return app.printJSON(g)
	}
	if o.output == "" {
		app.showGarbage(g)
	}
	if o.dryRun || g.empty() {
		if o.output == "json" {
			return app.printJSON(g)
		}
		return nil
	}
	if err := app.confirm(ctx, "Remove this?", "nothing was removed", o.yes); err != nil {
		return err
	}
	freed, err := app.collect(ctx, g, engine, solver, store)
	app.forgetProjects(known)
	if o.output == "json" {
		g.Frees = freed
		return errors.Join(err, app.printJSON(g))
	}
	app.note("freed about %s", plan.FormatBytes(freed))
	return err
}

// confirm asks question on a terminal. Elsewhere yes has to have been said.
func (app *App) confirm(ctx context.Context, question, otherwise string, yes bool) error {
	if yes {
		return nil
	}
	if terminal(app.In) == nil {
		return withCode(exitUsage, fmt.Errorf("%s: --yes does it without asking", otherwise))
	}
	fmt.Fprintf(app.Err, "%s [y/N] ", question)
	answer, err := fromInput(ctx, func() (string, error) { return bufio.NewReader(app.In).ReadString('\n') })
	if ctx.Err() != nil {
		fmt.Fprintln(app.Err) // behind the question
		return interrupted(errors.New("interrupted: " + otherwise))
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); err == nil && (answer == "y" || answer == "yes") {
		return nil
	}
	return withCode(exitFailure, errors.New(otherwise))
}

func (app *App) findGarbage(ctx context.Context, o pruneOptions, cfg *config.Config, engine *buildkit.Engine, solver *buildkit.Builder, store *record.Store) (*garbage, []projects.Project, error) {
	g := &garbage{prune: &build.Prune{
		Now: time.Now(), OlderThan: time.Duration(o.olderThan), Others: o.others, AllCache: o.allCache,
	}}
	known := app.remember(g.prune)
	stored, err := engine.Stored(ctx, build.LabelLock)
	if err != nil {
		return nil, nil, err
	}
	g.Images, g.Tmpdirs, g.Records = []imageFate{}, []folderFate{}, []recordFate{}
	for _, img := range stored {
		fate := imageFate{imageRow: rowOfImage(img, g.prune), Keep: g.prune.Keep(img), img: img}
		g.Images = append(g.Images, fate)
		if fate.Keep == "" {
			g.Frees += img.Size
		}
	}
	if g.all, err = solver.Cache(ctx); err != nil {
		return nil, nil, err
	}
	for _, r := range g.prune.StaleCache(g.all) {
		g.Cache.ids = append(g.Cache.ids, r.ID)
		g.Cache.Bytes += r.Size
		if r.Mount {
			g.Cache.mounts += r.Size
		}
	}
	g.Cache.Records = len(g.Cache.ids)
	g.Frees += g.Cache.Bytes
	if err := app.findOldRuns(ctx, g, cfg, store); err != nil {
		return nil, nil, err
	}
	return g, known, nil
}

func (g *garbage) empty() bool {
	for _, img := range g.Images {
		if img.Keep == "" {
			return false
		}
	}
	return g.Cache.Records+len(g.Tmpdirs)+len(g.Records) == 0
}

// showGarbage says what goes, and why the rest stays.
func (app *App) showGarbage(g *garbage) {
	table := tabwriter.NewWriter(app.Out, 0, 0, 2, ' ', 0)
	for _, img := range g.Images {
		what := fmt.Sprintf("image\t%s\t%s\tlast used %s", nameOf(img.Names, img.ID), plan.FormatBytes(img.Size), build.Ago(g.prune.Now.Sub(img.LastUsed)))
		if img.Keep != "" {
			fmt.Fprintf(table, "keep\timage\t%s\t%s\t%s\n", nameOf(img.Names, img.ID), plan.FormatBytes(img.Size), img.Keep)
			continue
		}
		fmt.Fprintf(table, "remove\t%s\n", what)
	}
	if g.Cache.Records > 0 {
		why := "not used since"
		if g.Cache.mounts > 0 {
			why += ", " + plan.FormatBytes(g.Cache.mounts) + " of downloads"
		}
		fmt.Fprintf(table, "remove\tbuild cache\t%d records\t%s\t%s\n", g.Cache.Records, plan.FormatBytes(g.Cache.Bytes), why)
	}
	for _, f := range g.Tmpdirs {
		fmt.Fprintf(table, "remove\ttmpdir\t%s\t%s\t%s\n", f.Path, plan.FormatBytes(f.Bytes), f.Why)
	}
	for _, r := range g.Records {
		fmt.Fprintf(table, "remove\trecord\t%s\t%s\tended %s\n", r.Name, plan.FormatBytes(r.Bytes), build.Ago(g.prune.Now.Sub(r.Finished)))
	}
	_ = table.Flush()
	if g.empty() {
		app.note("there is nothing to remove")
		return
	}
	fmt.Fprintf(app.Out, "frees about %s (what images share counts for each)\n", plan.FormatBytes(g.Frees))
}

// collect removes what was found and gives the bytes that it freed, about.
func (app *App) collect(ctx context.Context, g *garbage, engine *buildkit.Engine, solver *buildkit.Builder, store *record.Store) (freed int64, err error) {
	var errs []error
	removed := false
	for _, img := range g.Images {
		if img.Keep != "" {
			continue
		}
		switch err := engine.RemoveImage(ctx, img.img.Image); {
		case errors.Is(err, buildkit.ErrImageUsed):
			app.warn(err.Error()) // since it was looked at
		case err != nil:
			errs = append(errs, err)
		default:
			removed = true
		}
	}
	ids := g.Cache.ids
	if removed {
		// The layers of images stay in the build cache until that gives them up.
		now, err := solver.Cache(ctx)
		errs = append(errs, err)
		for _, r := range g.prune.Freed(g.all, now) {
			ids = append(ids, r.ID)
		}
	}
	n, err := solver.PruneCache(ctx, ids)
	freed += n
	errs = append(errs, err)
	n, err = app.removeOldRuns(g, store)
	return freed + n, errors.Join(append(errs, err)...)
}

// forgetProjects drops what is remembered of projects that are gone.
func (app *App) forgetProjects(known []projects.Project) {
	dir, err := app.projectsDir()
	if err != nil {
		return
	}
	for _, p := range known {
		newest := time.Time{}
		for _, used := range p.Images {
			if used.After(newest) {
				newest = used
			}
		}
		if locked, err := p.Locked(); err == nil && len(locked) == 0 && time.Since(newest) > pruneAge {
			if err := projects.Forget(dir, p); err != nil && !errors.Is(err, fs.ErrNotExist) {
				app.warn(err.Error())
			}
		}
	}
}
