package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"crun.dev/crun/run/record"
)

// psOptions are the flags of crun ps.
type psOptions struct {
	all    bool
	output string // "", wide, json, or a template
	filter runFilter
	user   string // "": the caller's runs
	watch  bool
	every  time.Duration // 0: defaultEvery
}

// runRow is a run as crun ps -o json prints it, and a template sees it. Times
// are UTC, sizes bytes.
type runRow struct {
	Name        string       `json:"name"`
	ID          string       `json:"id"`
	User        string       `json:"user,omitempty"`
	Profile     string       `json:"profile"`
	Phase       record.Phase `json:"phase"`
	State       string       `json:"state"`
	ExitCode    *int         `json:"exit_code,omitempty"`
	Created     time.Time    `json:"created"`
	Started     time.Time    `json:"started,omitzero"`
	Finished    time.Time    `json:"finished,omitzero"`
	Seconds     float64      `json:"seconds"`
	Memory      int64        `json:"memory,omitempty"` // in use now
	MemoryPeak  int64        `json:"memory_peak,omitempty"`
	MemoryLimit int64        `json:"memory_limit,omitempty"`
	GPUs        string       `json:"gpus,omitempty"`
	Image       string       `json:"image"`
	Project     string       `json:"project,omitempty"`
	Command     []string     `json:"command"`

	container string
}

// rowFields are the names that a template may use.
func rowFields() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[runRow]()) {
		if f.IsExported() {
			names = append(names, f.Name)
		}
	}
	return names
}

func newPsCmd(app *App, runF func(*psOptions) error) *cobra.Command {
	o := &psOptions{}
	cmd := &cobra.Command{
		Use:   "ps [flags]",
		Short: "List runs",
		Long: `List your runs that have not ended, or with -a all that have a record. A
container of crun's on the engine that has no record is named too.

--user lists what other people's runs take on this engine, as far as the engine
tells: those that have ended, and what they wrote, are their own.

A template (-o '{{.Name}} {{.State}}') is Go's, applied to each run; its fields
are those of -o json without underscores: ID, Name, User, Profile, Phase, State,
ExitCode, Created, Started, Finished, Seconds, Memory, MemoryPeak, MemoryLimit,
GPUs, Image, Project, Command.`,
		Example: `  crun ps
  crun ps -a --filter state=failed --project .
  crun ps --watch
  crun ps --user all -o wide
  crun ps -a -o '{{.Name}} {{.State}}'
  crun ps -a -o json | jq -r '.[] | select(.exit_code != 0) | .name'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, app); err != nil {
				return err
			}
			if runF != nil {
				return runF(o)
			}
			return app.ps(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVarP(&o.all, "all", "a", false, "list runs that have ended too")
	flags.StringArrayVar(&o.filter.texts, "filter", nil, "list runs of which `KEY=VALUE` is so: name, id, profile, project, image, state")
	flags.StringVar(&o.filter.name, "name", "", "list runs of this `NAME`; * stands for anything")
	flags.StringVar(&o.filter.profile, "profile", "", "list runs of this `PROFILE`")
	flags.StringVar(&o.filter.project, "project", "", "list runs of this project `FOLDER`")
	flags.StringVar(&o.user, "user", "", "list the runs on this engine of a `USER` (a name or a uid), or of all")
	flags.StringVarP(&o.output, "output", "o", "", "print as `FORMAT`: wide, json or a template")
	flags.BoolVar(&o.watch, "watch", false, "print the list again and again, until Ctrl-C")
	flags.Var((*timeFlag)(&o.every), "every", "`TIME` between two lists of --watch (default 2s)")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"wide", "json"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("profile", app.completeProfiles)
	return cmd
}

// defaultEvery is the time between two lists of --watch.
const defaultEvery = 2 * time.Second

// check refuses what cannot be meant.
func (o *psOptions) check(cmd *cobra.Command, app *App) error {
	if err := o.filter.parse(app); err != nil {
		return &usageError{command: cmd.CommandPath(), err: err}
	}
	switch {
	case strings.Contains(o.output, "{{"):
		if _, err := rowTemplate(o.output); err != nil {
			if _, name, ok := strings.Cut(err.Error(), "can't evaluate field "); ok {
				name, _, _ = strings.Cut(name, " ")
				err = fmt.Errorf("there is no field %s; there are %s", name, strings.Join(rowFields(), ", "))
			}
			if _, why, ok := strings.Cut(err.Error(), "template: -o:"); ok { // and a place within it
				_, why, _ = strings.Cut(why, ": ")
				err = errors.New(why)
			}
			return usagef(cmd, "-o is no template: %w", err)
		}
	case o.output != "" && o.output != "json" && o.output != "wide":
		return usagef(cmd, "-o is %q; allowed are wide, json and a template such as '{{.Name}} {{.State}}'", o.output)
	case o.watch && o.output == "json":
		return usagef(cmd, "--watch is for people: leave out -o json, and ask again")
	case o.every != 0 && o.every < 100*time.Millisecond:
		return usagef(cmd, "--every is %s; the shortest is 100ms", o.every)
	}
	return nil
}

func (app *App) ps(ctx context.Context, o *psOptions) error {
	if o.watch {
		return app.watchRuns(ctx, o)
	}
	rows, err := app.listRuns(ctx, o)
	if err != nil {
		return err
	}
	return app.printRuns(app.Out, rows, o)
}

// listRuns gives the rows that o asks for.
func (app *App) listRuns(ctx context.Context, o *psOptions) ([]runRow, error) {
	store, err := app.openStore()
	if err != nil {
		return nil, err
	}
	// The engine is asked while the records are read.
	asked := make(chan engineView, 1)
	go func() { asked <- app.viewEngine(ctx) }()
	app.sweep(store)
	all, err := store.List()
	if err != nil {
		return nil, err
	}
	rows, known := app.recordedRuns(all, o)
	view := <-asked
	defer view.close()
	app.fillMemory(ctx, view, rows)
	app.nameStrays(view, known)
	if o.user != "" {
		if rows, err = app.withOthers(view, rows, known, o); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// recordedRuns gives the rows of the caller's records, and all their ids.
func (app *App) recordedRuns(all []*record.Record, o *psOptions) ([]runRow, map[string]bool) {
	now := time.Now()
	rows := []runRow{}
	known := make(map[string]bool)
	for _, r := range all {
		known[r.ID] = true
		if !o.all && r.Complete() {
			continue
		}
		state, seen := r.Known()
		var err error
		if !seen {
			state, err = r.State()
		}
		if errors.Is(err, record.ErrGone) {
			continue // removed in this moment
		}
		if err != nil {
			app.warn(err.Error())
			continue
		}
		if !o.all && state.Phase.Over() {
			continue
		}
		summary, err := r.Summary(&state)
		if err != nil {
			app.warn(err.Error())
			continue
		}
		if row := rowOf(r.ID, summary, &state, now); o.filter.matches(&row) {
			rows = append(rows, row)
		}
	}
	return rows, known
}

func rowOf(id string, run *record.Summary, s *record.State, now time.Time) runRow {
	return runRow{
		Name: run.Name, ID: id, Profile: run.Profile, Phase: s.Phase, State: stateText(s), ExitCode: s.ExitCode,
		Created: s.Created, Started: s.Started, Finished: s.Finished, Seconds: s.Elapsed(now).Seconds(),
		MemoryPeak: s.MemoryPeak, MemoryLimit: run.MemoryLimit, GPUs: run.GPUs, Image: run.Image, Project: run.Project,
		Command: run.Command, container: s.Container,
	}
}

// shortCommand is a command on one line of bounded length.
func shortCommand(args []string) string {
	line := longCommand(args)
	if runes := []rune(line); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return line
}

// longCommand is a command on one line.
func longCommand(args []string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.Join(args, " "))
}
