package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/monitor"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// inspectOptions are the flags of crun inspect.
type inspectOptions struct {
	run    string
	output string
}

func newInspectCmd(app *App, runF func(*inspectOptions) error) *cobra.Command {
	o := &inspectOptions{}
	cmd := &cobra.Command{
		Use:   "inspect [flags] RUN",
		Short: "Show a run: its limits as asked and as the kernel held them, and its end",
		Long: `Show what a run was asked to be and where each value came from, beside it what
the kernel held, as read from inside before the command started, and the
counters of its end.`,
		Example: `  crun inspect train-7k2q
  crun inspect train-7k2q -o json | jq .limits.memory`,
		Args:              runArgs(1),
		ValidArgsFunction: app.completeRuns(nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.run = args[0]
			if err := checkOutput(cmd, o.output); err != nil {
				return err
			}
			if runF != nil {
				return runF(o)
			}
			return app.inspect(cmd.Context(), o)
		},
	}
	addOutputFlag(cmd, &o.output)
	return cmd
}

// inspection is what crun inspect -o json prints.
type inspection struct {
	Plan   *plan.Plan     `json:"plan"`
	State  record.State   `json:"state"`
	Limits *inside.Limits `json:"limits"` // null where they were not read
	Report *inside.Report `json:"report"` // null before the end
	Events []record.Event `json:"events"`
	Record string         `json:"record"` // the folder
}

func (app *App) inspect(ctx context.Context, o *inspectOptions) error {
	_, runs, err := app.namedRuns(o.run)
	if err != nil {
		return err
	}
	r := runs[0]
	all := inspection{Record: r.Dir()}
	if all.Plan, err = r.Plan(); err != nil {
		return err
	}
	if all.State, err = r.State(); err != nil {
		return err
	}
	if all.Events, err = r.Events(); err != nil {
		return err
	}
	for name, to := range map[string]any{record.LimitsFile: &all.Limits, record.ReportFile: &all.Report} {
		data, err := r.Get(name)
		if err == nil && data == nil {
			// One that still runs: from the folder that it shares, else from
			// inside.
			data = app.readInside(ctx, r, &all.State, name)
		}
		if err == nil && data != nil {
			err = json.Unmarshal(data, to)
		}
		if err != nil {
			app.warn(fmt.Sprintf("%s of run %s: %v", name, r.ID, err))
		}
	}
	if o.output == "json" {
		return app.printJSON(all)
	}
	return app.printInspection(&all)
}

// readInside reads what init has written up to now; nil where it has not.
func (app *App) readInside(ctx context.Context, r *record.Record, s *record.State, name string) []byte {
	if s.Phase != record.Running {
		return nil
	}
	if data := launch.ReadShared(r.Dir(), name); data != nil {
		return data
	}
	e, err := app.engineAt(ctx, s.Engine)
	if err != nil {
		return nil
	}
	defer e.Close()
	data, err := e.ReadFile(ctx, s.Container, path.Join(inside.Dir, name))
	if err != nil {
		return nil
	}
	return data
}

func (app *App) printInspection(all *inspection) error {
	held := heldLimits(all.Limits)
	if l := all.Limits; l != nil && l.Tmp != nil && all.Plan.Scratch != "" {
		held["tmpdir.size"] = "watched, not limited, " + l.Tmp.Type
	}
	rows := [][]string{{"FIELD", "ASKED", "HELD", "FROM"}}
	for _, row := range plan.Describe(all.Plan) {
		asked := row.Value
		if text, lowered := all.Plan.Asked[row.Field]; lowered {
			asked = text
		}
		rows = append(rows, []string{row.Field, asked, held[row.Field], row.Origin})
	}
	if err := printColumns(app.Out, rows); err != nil {
		return err
	}
	fmt.Fprintln(app.Out)
	table := tabwriter.NewWriter(app.Out, 0, 0, 2, ' ', 0)
	for _, row := range endRows(all) {
		fmt.Fprintf(table, "%s\t%s\n", row[0], row[1])
	}
	return table.Flush()
}

// heldLimits gives what the kernel held, by the field of the plan.
func heldLimits(l *inside.Limits) map[string]string {
	held := make(map[string]string)
	if l == nil {
		return held
	}
	size := func(field string, n *int64) {
		if n != nil {
			held[field] = plan.FormatBytes(*n)
		}
	}
	size("memory", l.Memory)
	size("memory_swap", l.MemorySwap)
	size("memory_reservation", l.MemoryReservation)
	if l.OOMScoreAdj != nil {
		held["oom_score_adj"] = fmt.Sprint(*l.OOMScoreAdj)
	}
	if l.CPUQuota != nil && *l.CPUQuota > 0 && l.CPUPeriod != nil && *l.CPUPeriod > 0 {
		held["cpus"] = plan.FormatCPUs(*l.CPUQuota * 1_000_000_000 / *l.CPUPeriod)
	}
	held["cpuset"] = l.CPUSet
	if l.Pids != nil {
		held["pids"] = countText(*l.Pids)
	}
	for name, limit := range l.Rlimits {
		if name == "nofile" {
			held[name] = countText(limit.Hard)
		} else {
			held[name] = plan.FormatBytes(limit.Hard)
		}
	}
	for field, fs := range map[string]*inside.Filesystem{"shm_size": l.Shm, "tmpdir.size": l.Tmp} {
		switch {
		case fs == nil:
		case fs.Type == "tmpfs":
			held[field] = plan.FormatBytes(fs.Size) + " tmpfs"
		default:
			held[field] = "not limited, " + fs.Type
		}
	}
	for name, value := range l.Env {
		held["env."+name] = value
	}
	if len(l.Routes) > 0 {
		held["network"] = "reached by " + strings.Join(l.Routes, ", ")
	} else {
		held["network"] = plan.NetworkNone
	}
	held["user"] = fmt.Sprintf("%d:%d", l.UID, l.GID)
	held["gpus"] = "none"
	if n := len(l.Devices); n > 0 {
		held["gpus"] = fmt.Sprint(l.Devices)
	}
	return held
}

func countText(n int64) string {
	if n == plan.Unlimited {
		return "unlimited"
	}
	return fmt.Sprint(n)
}

// endRows tells how the run stands or ended.
func endRows(all *inspection) [][2]string {
	s := &all.State
	var rows [][2]string
	add := func(field, format string, args ...any) {
		rows = append(rows, [2]string{field, fmt.Sprintf(format, args...)})
	}
	add("state", "%s", stateText(s))
	if s.Message != "" {
		add("message", "%s", s.Message)
	}
	for _, at := range []struct {
		field string
		time  time.Time
	}{{"created", s.Created}, {"started", s.Started}, {"finished", s.Finished}} {
		if !at.time.IsZero() {
			add(at.field, "%s", at.time.Local().Format("2006-01-02 15:04:05"))
		}
	}
	add("time", "%s", formatTime(s.Elapsed(time.Now())))
	if s.ExitCode != nil {
		add("exit code", "%d", *s.ExitCode)
	}
	if s.Signal != "" {
		add("signal", "%s", s.Signal)
	}
	if s.TmpdirUsed > 0 {
		add("ended for its tmpdir", "%s used", plan.FormatBytes(s.TmpdirUsed))
	}
	for _, full := range s.Full {
		add("full", "%s", full)
	}
	if r := all.Report; r != nil {
		rows = append(rows, counterRows(r)...)
		for _, d := range r.Differences {
			add("difference", "%s", d)
		}
	}
	for i, a := range s.Attempts {
		add(fmt.Sprintf("attempt %d", i+1), "exit code %d after %s", a.ExitCode, formatTime(a.Finished.Sub(a.Started)))
	}
	for _, e := range all.Events {
		if e.What == monitor.NotifyFailed {
			add("notify failed", "%s", e.Attrs["message"])
		}
	}
	for _, w := range s.Warnings {
		add("warning", "%s", w)
	}
	add("record", "%s", all.Record)
	return rows
}

// counterRows lists the counters that are known.
func counterRows(r *inside.Report) [][2]string {
	var rows [][2]string
	c := r.Counters
	if c == nil {
		return nil
	}
	sizes := map[string]*int64{"memory peak": c.MemoryPeak, "swap": c.Swap, "shm used": c.ShmUsed, "tmp used": c.TmpUsed}
	for _, field := range slices.Sorted(maps.Keys(sizes)) {
		if n := sizes[field]; n != nil {
			rows = append(rows, [2]string{field, plan.FormatBytes(*n)})
		}
	}
	counts := map[string]*int64{
		"memory limit reached": c.MemoryMax, "out of memory kills": c.OOMKills,
		"pids peak": c.PidsPeak, "pids limit reached": c.PidsMax, "throttled periods": c.ThrottledPeriods,
	}
	for _, field := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[field]; n != nil {
			rows = append(rows, [2]string{field, fmt.Sprint(*n)})
		}
	}
	if c.CPUUsage != nil {
		rows = append(rows, [2]string{"cpu time", formatTime(time.Duration(*c.CPUUsage))})
	}
	return rows
}
