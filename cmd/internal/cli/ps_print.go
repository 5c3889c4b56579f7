package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"text/template"
	"time"

	"crun.dev/crun/internal/yamlfile"
	"crun.dev/crun/run/plan"
)

func rowTemplate(text string) (*template.Template, error) {
	t, err := template.New("-o").Parse(text + "\n")
	if err != nil {
		return nil, err
	}
	// What every run has is there: its first word may be asked for.
	return t, t.Execute(io.Discard, runRow{Command: []string{"true"}, ExitCode: new(int)})
}

func (app *App) printRuns(w io.Writer, rows []runRow, o *psOptions) error {
	switch o.output {
	case "json":
		return indented(w, rows)
	case "", "wide":
		return printTable(w, rows, o)
	}
	t, err := rowTemplate(o.output)
	for i := 0; err == nil && i < len(rows); i++ {
		err = t.Execute(w, rows[i])
	}
	return err
}

func printTable(w io.Writer, rows []runRow, o *psOptions) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	wide := o.output == "wide"
	head := "NAME\tID\tPROFILE\tSTATE\tSTARTED\tTIME\tMEMORY\t"
	if o.user != "" {
		head = "USER\t" + head
	}
	if wide {
		head += "GPUS\tIMAGE\tPROJECT\t"
	}
	fmt.Fprintln(table, head+"COMMAND")
	for i := range rows {
		row := &rows[i]
		if o.user != "" {
			fmt.Fprintf(table, "%s\t", row.User)
		}
		took := time.Duration(row.Seconds * float64(time.Second))
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t", yamlfile.Printable(row.Name), row.ID, yamlfile.Printable(row.Profile),
			row.State, startText(row), formatTime(took), memoryCell(row))
		if wide {
			fmt.Fprintf(table, "%s\t%s\t%s\t", firstOf(row.GPUs, "-"), yamlfile.Printable(row.Image), yamlfile.Printable(firstOf(row.Project, "-")))
		}
		command := shortCommand(row.Command)
		if wide {
			command = longCommand(row.Command)
		}
		fmt.Fprintln(table, command)
	}
	return table.Flush()
}

// startText is when a run started, in the caller's time zone.
func startText(row *runRow) string {
	at := row.Started
	if at.IsZero() {
		at = row.Created
	}
	if at.IsZero() {
		return "-"
	}
	return at.Local().Format("2006-01-02 15:04")
}

// memoryCell is what a run has in use, or had at most, of what it may.
func memoryCell(row *runRow) string {
	used := row.Memory
	if row.Phase.Over() {
		used = row.MemoryPeak
	}
	switch {
	case used == 0 && row.MemoryLimit == 0:
		return "-"
	case used == 0:
		return "- / " + plan.FormatBytes(row.MemoryLimit)
	case row.MemoryLimit == 0:
		return plan.FormatBytes(used)
	}
	return plan.FormatBytes(used) + " / " + plan.FormatBytes(row.MemoryLimit)
}

// watchRuns prints the list again and again. On a terminal each takes the place
// of the one before.
func (app *App) watchRuns(ctx context.Context, o *psOptions) error {
	every := cmp.Or(o.every, defaultEvery)
	for {
		rows, err := app.listRuns(ctx, o)
		if ctx.Err() != nil {
			return interrupted(nil)
		}
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if terminal(app.Out) != nil {
			b.WriteString("\x1b[H\x1b[2J") // to the corner, and clear
		}
		fmt.Fprintf(&b, "%s, every %s, Ctrl-C ends\n", time.Now().Format("15:04:05"), every)
		if err := app.printRuns(&b, rows, o); err != nil {
			return err
		}
		if _, err := app.Out.Write(b.Bytes()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return interrupted(nil)
		case <-time.After(every):
		}
	}
}
