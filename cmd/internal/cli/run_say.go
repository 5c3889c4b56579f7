package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"crun.dev/crun/internal/yamlfile"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// warn prints what a person should know also with -q.
func (app *App) warn(text string) {
	fmt.Fprintf(app.Err, "crun: warning: %s\n", yamlfile.PrintableText(text))
}

// warnOnce prints a warning the first time that it is due in a project.
func (app *App) warnOnce(project, text string) { app.warnOnceAs(project, text, text) }

// warnOnceAs prints a warning the first time that key is due in a project: the
// text may have numbers in it that are others each time.
func (app *App) warnOnceAs(project, key, text string) {
	dir, err := record.DefaultDir(app.Getenv)
	if err == nil {
		sum := sha256.Sum256([]byte(project + "\x00" + key))
		said := filepath.Join(filepath.Dir(dir), "said", hex.EncodeToString(sum[:16]))
		if _, err := os.Stat(said); err == nil {
			return
		}
		if os.MkdirAll(filepath.Dir(said), 0o700) == nil {
			_ = os.WriteFile(said, []byte(project+": "+text+"\n"), 0o600) // or it is said again
		}
	}
	app.warn(text)
}

// sayStart is the line at the start of a run.
func (app *App) sayStart(j *job) {
	p := j.plan
	profile, numbers, _ := strings.Cut(plan.Summary(p), ": ")
	if j.isDefault {
		profile += " (the default)"
	}
	gpu := ""
	if p.GPUs == nil {
		gpu = ", no GPU"
	}
	app.note("run %s, profile %s: %s%s; image %s; log: crun logs %s", p.Name, profile, numbers, gpu, shortImage(p.Image), p.Name)
}

// shortImage names an image as people know it.
func shortImage(i plan.Image) string {
	if strings.HasPrefix(i.Ref, "sha256:") && len(i.Ref) > 19 {
		return i.Ref[7:19]
	}
	return i.Ref
}

// sayEnd is the line at the end of a run, and behind a bad one why it ended so.
// What went wrong is said with -q too. The first of the record's warnings, as
// many as warned, have been said.
func (app *App) sayEnd(r *record.Record, p *plan.Plan, s *record.State, warned int) {
	text, clean := describeEnd(p, s)
	if clean {
		app.note("%s", text)
		if s.OOMKills > 0 {
			for _, line := range app.whyLines(r, s) {
				fmt.Fprintln(app.Err, line)
			}
		}
	} else if lines := app.whyLines(r, s); len(lines) > 0 {
		fmt.Fprintf(app.Err, "crun: %s%s\n%s\n", endHead(p, s), logHint(p), strings.Join(lines, "\n"))
	} else if text != "" {
		fmt.Fprintf(app.Err, "crun: %s\n", text)
	}
	for _, w := range s.Warnings[min(warned, len(s.Warnings)):] {
		app.warn(w)
	}
}

// logHint says where the output of a run is.
func logHint(p *plan.Plan) string { return "; log: crun logs " + p.Name }

// describeEnd tells how a run ended, and whether that was as it should be.
func describeEnd(p *plan.Plan, s *record.State) (text string, clean bool) {
	after := formatTime(s.Elapsed(s.Finished))
	log := logHint(p)
	switch {
	case s.Phase == record.Lost:
		return fmt.Sprintf("run %s is lost: %s%s", p.Name, s.Message, log), false
	case s.Phase == record.Failed && !s.Started.IsZero():
		// Init has said why, where the command would have written.
		return fmt.Sprintf("run %s did not start its command%s", p.Name, log), false
	case s.Phase == record.Failed:
		return fmt.Sprintf("run %s could not start: %s", p.Name, s.Message), false
	case s.Rebooted:
		return endHead(p, s) + ": " + s.Message + log, false
	case s.ExitCode != nil && *s.ExitCode == 0 && s.TmpdirUsed == 0:
		return fmt.Sprintf("run %s ended after %s%s%s", p.Name, after, memoryText(s), memoryHint(s)), true
	}
	text = endHead(p, s)
	switch {
	case s.TmpdirUsed > 0:
		text += fmt.Sprintf(": its tmpdir took %s of its %s on disk (watched, not limited); more is --tmpdir SIZE,disk",
			plan.FormatBytes(s.TmpdirUsed), plan.FormatBytes(p.ScratchSize))
	case s.OOMKills > 0 || s.OOMKilled:
		text += ", killed: out of memory (limit " + plan.FormatBytes(s.MemoryLimit)
		if s.MemoryPeak > 0 {
			text += ", peak " + plan.FormatBytes(s.MemoryPeak)
		}
		text += "); more is --memory SIZE"
	case s.TimedOut && p.TimeLimit != nil:
		text += ", at its time limit of " + plan.FormatDuration(time.Duration(*p.TimeLimit))
	}
	for _, full := range s.Full {
		text += "; " + full
	}
	return text + log, false
}

// endHead is how the command of a run ended, and after which time.
func endHead(p *plan.Plan, s *record.State) string {
	return fmt.Sprintf("run %s ended %s after %s", p.Name, howEnded(s), formatTime(s.Elapsed(s.Finished)))
}

// howEnded is "by SIGKILL" or "with exit code 1".
func howEnded(s *record.State) string {
	if s.Signal != "" {
		return "by " + s.Signal
	}
	return fmt.Sprintf("with exit code %d", exitCodeOf(s))
}

func memoryText(s *record.State) string {
	switch {
	case s.MemoryPeak == 0:
		return ""
	case s.MemoryLimit == 0:
		return ", memory peak " + plan.FormatBytes(s.MemoryPeak)
	}
	return fmt.Sprintf(", memory peak %s of %s", plan.FormatBytes(s.MemoryPeak), plan.FormatBytes(s.MemoryLimit))
}

// hintAfter keeps short tries from being told what to ask for.
const hintAfter = time.Minute

// memoryHint says when most of the memory was for nothing: others wait for it.
func memoryHint(s *record.State) string {
	if s.MemoryPeak == 0 || s.MemoryLimit == 0 || s.MemoryPeak >= s.MemoryLimit/4 || s.Elapsed(s.Finished) < hintAfter {
		return ""
	}
	const step = 256 << 20
	enough := (2*s.MemoryPeak + step - 1) / step * step
	if enough >= s.MemoryLimit {
		return ""
	}
	return fmt.Sprintf(" (--memory %dm would do)", enough>>20)
}

// formatTime writes how long something took, as exactly as people want it.
func formatTime(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// printPlan prints what crun run --dry-run would do.
func (app *App) printPlan(p *plan.Plan, output string) error {
	if output == "json" {
		return app.printJSON(p)
	}
	table := tabwriter.NewWriter(app.Out, 0, 0, 2, ' ', 0)
	for _, row := range plan.Describe(p) {
		if row.Origin == "" {
			fmt.Fprintf(table, "%s\t%s\n", row.Field, row.Value)
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", row.Field, row.Value, row.Origin)
	}
	return table.Flush()
}
