package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"crun.dev/crun/internal/yamlfile"
	"crun.dev/crun/run/record"
	"crun.dev/crun/run/why"
	"crun.dev/crun/run/why/evidence"
)

// chinese tells whether the caller's locale asks for Chinese.
func (app *App) chinese() bool {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value := app.Getenv(name); value != "" {
			return strings.HasPrefix(value, "zh")
		}
	}
	return false
}

// whyLines is the verdict on a run whose command ran and ended badly, for whoever
// waited for it: short where the program said itself what was wrong, and nothing
// where somebody asked for the end.
func (app *App) whyLines(r *record.Record, s *record.State) []string {
	if s.Phase != record.Ended {
		return nil
	}
	c, _, err := why.Load(r) // what could not be read, crun why says
	if err != nil {
		return nil
	}
	v := why.Draw(c)
	if v.Code == why.Clean || v.Code == "stopped" {
		return nil
	}
	lines := v.Lines(app.chinese())
	if v.Code == "traceback" || v.Code == "exited" {
		lines = lines[:1]
	}
	for i, line := range lines {
		lines[i] = yamlfile.PrintableText(line)
	}
	return lines
}

func (app *App) printVerdict(v *why.Verdict, all bool) error {
	zh := app.chinese()
	for _, line := range v.Lines(zh) {
		fmt.Fprintln(app.Out, yamlfile.PrintableText(line))
	}
	if !all {
		return nil
	}
	fmt.Fprintf(app.Out, "  %-9s %s\n", "code", v.Code)
	for _, d := range v.Dropped {
		text := fmt.Sprintf("%s: %s (%s): %s", d.Code, d.Cause.In(zh), d.Sure, d.Why.In(zh))
		if _, err := fmt.Fprintf(app.Out, "  %-9s %s\n", "dropped", yamlfile.PrintableText(text)); err != nil {
			return err
		}
	}
	return nil
}

func (app *App) printAsides(v *why.Verdict) error {
	for _, aside := range v.Asides {
		if _, err := fmt.Fprintf(app.Out, "  also      %s\n", yamlfile.PrintableText(aside.Cause.In(app.chinese()))); err != nil {
			return err
		}
	}
	return nil
}

// explainCause prints what a cause means.
func (app *App) explainCause(cmd *cobra.Command, code, output string) error {
	rule, ok := why.Explain(code)
	if !ok {
		var codes []string
		for _, r := range why.Rules() {
			codes = append(codes, r.Code)
		}
		return noSuchCode(cmd, "cause", code, codes)
	}
	text, source, _ := strings.Cut(rule.Mechanism, "\nSource: ")
	if output == "json" {
		return app.printJSON(causeJSON{rule.Code, rule.Title, strings.ReplaceAll(text, "\n", " "), source})
	}
	_, err := fmt.Fprintf(app.Out, "%s: %s\n\n%s\n\nSource: %s\n", rule.Code, rule.Title, text, source)
	return err
}

// causeJSON is what crun why --explain -o json prints.
type causeJSON struct {
	Code      string `json:"code"`
	Title     string `json:"title"`
	Mechanism string `json:"mechanism"`
	Source    string `json:"source"`
}

// verdictJSON is what crun why -o json prints: always in English.
type verdictJSON struct {
	Version  int             `json:"version"`
	Run      string          `json:"run,omitempty"` // the id
	Name     string          `json:"name,omitempty"`
	ExitCode *int            `json:"exit_code,omitempty"`
	Signal   string          `json:"signal,omitempty"`
	Ended    time.Time       `json:"ended,omitzero"`
	Code     string          `json:"code"`
	Sure     evidence.Sure   `json:"sure"`
	Cause    string          `json:"cause"`
	Evidence []evidence.Sign `json:"evidence,omitempty"`
	Fix      string          `json:"fix,omitempty"`
	Also     []otherJSON     `json:"also,omitempty"`
	Dropped  []otherJSON     `json:"dropped,omitempty"` // with --all
}

type otherJSON struct {
	Code     string          `json:"code"`
	Sure     evidence.Sure   `json:"sure"`
	Cause    string          `json:"cause"`
	Evidence []evidence.Sign `json:"evidence,omitempty"`
	Why      string          `json:"why,omitempty"` // it was dropped
}

func newVerdictJSON(id string, c *evidence.Case, v *why.Verdict, all bool) verdictJSON {
	j := verdictJSON{
		Version: 1, Run: id, ExitCode: c.ExitCode, Signal: c.Signal, Ended: c.Ended(),
		Code: v.Code, Sure: v.Sure, Cause: v.Cause.In(false), Evidence: v.Signs, Fix: v.Fix.In(false),
	}
	if c.Plan != nil {
		j.Name = c.Plan.Name
	}
	other := func(f *evidence.Finding) otherJSON {
		return otherJSON{Code: f.Code, Sure: f.Sure, Cause: f.Cause.In(false), Evidence: f.Signs}
	}
	for _, aside := range v.Asides {
		j.Also = append(j.Also, other(aside))
	}
	if all {
		for _, d := range v.Dropped {
			o := other(d.Finding)
			o.Why = d.Why.In(false)
			j.Dropped = append(j.Dropped, o)
		}
	}
	return j
}
