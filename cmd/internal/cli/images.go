package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"crun.dev/crun/build"
	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/projects"
	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/internal/yamlfile"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// imageRow is an image as crun images -o json prints it. Times are UTC, sizes
// bytes.
type imageRow struct {
	ID          string    `json:"id"`
	Names       []string  `json:"names"`
	Environment string    `json:"environment"`
	Python      string    `json:"python"`
	Torch       string    `json:"torch,omitempty"`
	CUDA        string    `json:"cuda,omitempty"`
	Platform    string    `json:"platform"`
	Lock        string    `json:"lock"`
	Size        int64     `json:"size"`
	Created     time.Time `json:"created"`
	LastUsed    time.Time `json:"last_used"`
	// UsedBy are runs and containers, LockedBy the lock files that name the
	// image now.
	UsedBy   []string `json:"used_by"`
	LockedBy []string `json:"locked_by"`
}

func newImagesCmd(app *App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "images [flags]",
		Short: "List the images that crun has built",
		Long: `List the images that crun has built on the engine, newest first: the environment
and what is in it, the size (layers that images share count for each), when it
was made, and what uses it: runs, other containers, and the crun.lock files of
your projects that name it now.`,
		Example: `  crun images
  crun images -o json | jq -r '.[] | select(.used_by == []) | .id'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(cmd, output); err != nil {
				return err
			}
			return app.images(cmd.Context(), output)
		},
	}
	addOutputFlag(cmd, &output)
	return cmd
}

func (app *App) images(ctx context.Context, output string) error {
	cfg, err := config.Load(app.Getenv)
	if err != nil {
		return err
	}
	engine, err := app.buildEngine(cfg)
	if err != nil {
		return err
	}
	defer engine.Close()
	stored, err := engine.Stored(ctx, build.LabelLock)
	if err != nil {
		return err
	}
	prune := &build.Prune{Now: time.Now()}
	app.remember(prune)
	rows := []imageRow{}
	for _, img := range stored {
		rows = append(rows, rowOfImage(img, prune))
	}
	if output == "json" {
		return app.printJSON(rows)
	}
	table := tabwriter.NewWriter(app.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ENVIRONMENT\tIMAGE\tTORCH\tPYTHON\tCUDA\tSIZE\tAGE\tUSED BY")
	for _, r := range rows {
		age := strings.TrimSuffix(build.Ago(prune.Now.Sub(r.Created)), " ago")
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", dash(r.Environment), dash(nameOf(r.Names, r.ID)), dash(r.Torch), dash(r.Python), dash(r.CUDA),
			plan.FormatBytes(r.Size), age, dash(strings.Join(slices.Concat(r.UsedBy, r.LockedBy), ", ")))
	}
	return table.Flush()
}

func rowOfImage(img buildkit.Stored, prune *build.Prune) imageRow {
	row := imageRow{
		ID: img.ID, Names: img.Tags, Environment: img.Labels[build.LabelEnv], Python: img.Labels[build.LabelPython],
		Torch: img.Labels[build.LabelTorch], CUDA: img.Labels["dev.crun.cuda"], Platform: img.Labels[build.LabelPlatform], Lock: img.Labels[build.LabelLock],
		Size: img.Size, Created: img.Created, LastUsed: prune.LastUsed(img), UsedBy: []string{}, LockedBy: prune.Locked(img),
	}
	if row.Names == nil {
		row.Names = []string{}
	}
	if row.LockedBy == nil {
		row.LockedBy = []string{}
	}
	row.UsedBy = append(row.UsedBy, build.Users(img)...)
	return row
}

// nameOf is the shortest name of an image, or the start of its id.
func nameOf(names []string, id string) string {
	if len(names) == 0 {
		id = strings.TrimPrefix(id, "sha256:")
		return id[:min(12, len(id))]
	}
	return slices.MinFunc(names, func(a, b string) int { return len(a) - len(b) })
}

// dash is text as a table has it: labels may be anybody's.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return yamlfile.Printable(text)
}

// projectsDir is where it is remembered which projects' images were built.
func (app *App) projectsDir() (string, error) {
	runs, err := record.DefaultDir(app.Getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(runs), "projects"), nil
}

// remember tells prune what the caller's projects use.
func (app *App) remember(prune *build.Prune) []projects.Project {
	dir, err := app.projectsDir()
	if err != nil {
		app.warn(err.Error())
		return nil
	}
	known, err := projects.List(dir)
	if err != nil {
		app.warn(err.Error())
	}
	for _, err := range prune.Remember(known) {
		app.warn(err.Error())
	}
	return known
}

// noteUse remembers that the image of a project was built or taken.
func (app *App) noteUse(result build.Result) {
	if result.LockFile == "" || result.Lock == "" {
		return // nothing on disk to go by
	}
	dir, err := app.projectsDir()
	if err == nil {
		err = projects.Note(dir, result.LockFile, result.Lock, time.Now())
	}
	if err != nil {
		app.warn(fmt.Sprintf("%v: crun prune may take the image for one that nobody needs", err))
	}
}
