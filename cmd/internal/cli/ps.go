package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// psOptions are the flags of crun ps.
type psOptions struct {
	all    bool
	output string
}

// runRow is a run as crun ps -o json prints it. Times are UTC, sizes bytes.
type runRow struct {
	Name        string       `json:"name"`
	ID          string       `json:"id"`
	Profile     string       `json:"profile"`
	Phase       record.Phase `json:"phase"`
	State       string       `json:"state"`
	ExitCode    *int         `json:"exit_code,omitempty"`
	Created     time.Time    `json:"created"`
	Started     time.Time    `json:"started,omitzero"`
	Finished    time.Time    `json:"finished,omitzero"`
	Seconds     float64      `json:"seconds"`
	MemoryPeak  int64        `json:"memory_peak,omitempty"`
	MemoryLimit int64        `json:"memory_limit,omitempty"`
	Image       string       `json:"image"`
	Project     string       `json:"project,omitempty"`
	Command     []string     `json:"command"`
}

func newPsCmd(app *App, runF func(*psOptions) error) *cobra.Command {
	o := &psOptions{}
	cmd := &cobra.Command{
		Use:   "ps [flags]",
		Short: "List runs",
		Long: `List your runs that have not ended, or with -a all that have a record. A
container of crun's on the engine that has no record is named too.`,
		Example: `  crun ps
  crun ps -a
  crun ps -a -o json | jq -r '.[] | select(.exit_code != 0) | .name'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(cmd, o.output); err != nil {
				return err
			}
			if runF != nil {
				return runF(o)
			}
			return app.ps(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "list runs that have ended too")
	addOutputFlag(cmd, &o.output)
	return cmd
}

func (app *App) ps(ctx context.Context, o *psOptions) error {
	store, err := app.openStore()
	if err != nil {
		return err
	}
	app.sweep(store)
	all, err := store.List()
	if err != nil {
		return err
	}
	now := time.Now()
	rows := []runRow{}
	known := make(map[string]bool)
	for _, r := range all {
		known[r.ID] = true
		state, err := r.State()
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
		p, err := r.Plan()
		if err != nil {
			app.warn(err.Error())
			continue
		}
		rows = append(rows, rowOf(p, &state, now))
	}
	app.nameStrays(ctx, known)
	if o.output == "json" {
		return app.printJSON(rows)
	}
	return app.printRuns(rows)
}

func rowOf(p *plan.Plan, s *record.State, now time.Time) runRow {
	row := runRow{
		Name: p.Name, ID: p.ID, Profile: p.Profile, Phase: s.Phase, State: stateText(s), ExitCode: s.ExitCode,
		Created: s.Created, Started: s.Started, Finished: s.Finished, Seconds: s.Elapsed(now).Seconds(),
		MemoryPeak: s.MemoryPeak, MemoryLimit: memoryLimit(p), Image: p.Image.Ref, Project: p.Project,
		Command: p.Spec.Process.Args,
	}
	return row
}

func memoryLimit(p *plan.Plan) int64 {
	if memory := p.Spec.Linux.Resources.Memory; memory != nil && memory.Limit != nil {
		return *memory.Limit
	}
	return 0
}

func (app *App) printRuns(rows []runRow) error {
	table := tabwriter.NewWriter(app.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tID\tPROFILE\tSTATE\tTIME\tMEMORY\tCOMMAND")
	for _, row := range rows {
		memory := "-"
		switch {
		case row.MemoryPeak > 0 && row.MemoryLimit > 0:
			memory = plan.FormatBytes(row.MemoryPeak) + " / " + plan.FormatBytes(row.MemoryLimit)
		case row.MemoryLimit > 0:
			memory = "? / " + plan.FormatBytes(row.MemoryLimit)
		}
		took := time.Duration(row.Seconds * float64(time.Second))
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Name, row.ID, row.Profile, row.State, formatTime(took), memory, shortCommand(row.Command))
	}
	return table.Flush()
}

// shortCommand is a command on one line of bounded length.
func shortCommand(args []string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.Join(args, " "))
	if runes := []rune(clean); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return clean
}

// strayTime bounds the look for containers without a record: an engine that
// does not answer must not keep the list back.
const strayTime = 2 * time.Second

// nameStrays names containers of the caller's runs whose record is gone.
func (app *App) nameStrays(ctx context.Context, known map[string]bool) {
	machine, err := config.Load(app.Getenv)
	if err != nil {
		return // whoever needs the engine is told
	}
	ctx, cancel := context.WithTimeout(ctx, strayTime)
	defer cancel()
	e, _, err := app.openEngine(ctx, machine)
	if err != nil {
		app.warn(fmt.Sprintf("the engine was not asked for runs without a record: %v", err))
		return
	}
	defer e.Close()
	containers, err := e.List(ctx)
	if err != nil {
		app.warn(fmt.Sprintf("the engine was not asked for runs without a record: %v", err))
		return
	}
	for _, c := range strays(containers, known, app.account().UID) {
		if c.Status == "running" {
			app.warn(fmt.Sprintf("container crun-%s runs without a record here: it may belong to another machine's or another XDG_STATE_HOME's runs", c.Run))
			continue
		}
		app.warn(fmt.Sprintf("container crun-%s (%s) has no record here; docker rm crun-%s removes it", c.Run, c.Status, c.Run))
	}
}

// strays are the containers of this user's runs that have no record.
func strays(all []engine.Container, known map[string]bool, uid uint32) []engine.Container {
	var found []engine.Container
	for _, c := range all {
		if c.Run != "" && !known[c.Run] && c.Labels[plan.LabelPrefix+"uid"] == fmt.Sprint(uid) {
			found = append(found, c)
		}
	}
	return found
}
