package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/internal/yamlfile"
)

// lintReport is what crun lint found; docs/lint.md promises its JSON.
type lintReport struct {
	Files    []string      `json:"files"`
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
	Notes    int           `json:"notes"`
	Findings []findingJSON `json:"findings"`
	// Fixed are what --fix has changed, or would.
	Fixed []findingJSON `json:"fixed,omitempty"`
}

type findingJSON struct {
	File     string               `json:"file"`
	Line     int                  `json:"line"`
	Column   int                  `json:"column"`
	Severity environment.Severity `json:"severity"`
	Code     string               `json:"code"`
	Message  string               `json:"message"`
	Fix      *yamlfile.Fix        `json:"fix,omitempty"`

	text string
}

type codeJSON struct {
	Code     string               `json:"code"`
	Severity environment.Severity `json:"severity"`
	Summary  string               `json:"summary"`
	Text     string               `json:"text"`
	Source   string               `json:"source"`
}

// add takes the findings of one file.
func (r *lintReport) add(file string, findings []environment.Finding, warningsAsErrors bool) {
	r.Files = append(r.Files, file)
	for _, f := range findings {
		if warningsAsErrors && f.Severity == environment.SeverityWarning {
			f.Severity = environment.SeverityError
		}
		switch f.Severity {
		case environment.SeverityError:
			r.Errors++
		case environment.SeverityWarning:
			r.Warnings++
		default:
			r.Notes++
		}
		r.Findings = append(r.Findings, newFindingJSON(f))
	}
}

func newFindingJSON(f environment.Finding) findingJSON {
	return findingJSON{
		File: f.Pos.File, Line: f.Pos.Line, Column: f.Pos.Column,
		Severity: f.Severity, Code: f.Code, Message: f.Message, Fix: f.Fix, text: f.String(),
	}
}

// print writes one line a finding.
func (r *lintReport) print(w io.Writer) error {
	for _, f := range r.Findings {
		if _, err := fmt.Fprintln(w, f.text); err != nil {
			return err
		}
	}
	return nil
}

// summary says how many findings there are: "2 files: 1 error, 3 warnings".
func (r *lintReport) summary() string {
	files := r.Files
	where := strings.Join(files, ", ")
	if len(files) > 1 {
		where = fmt.Sprintf("%d files", len(files))
	}
	var counts []string
	for _, c := range []struct {
		n    int
		noun string
	}{{r.Errors, "error"}, {r.Warnings, "warning"}, {r.Notes, "note"}} {
		switch {
		case c.n == 1:
			counts = append(counts, "1 "+c.noun)
		case c.n > 1:
			counts = append(counts, fmt.Sprintf("%d %ss", c.n, c.noun))
		}
	}
	if len(counts) == 0 {
		return where + ": nothing to say"
	}
	text := where + ": " + strings.Join(counts, ", ") + "; crun lint --explain CODE says more"
	if slices.ContainsFunc(r.Findings, func(f findingJSON) bool { return f.Fix != nil && f.Fix.Safe && f.File != "<stdin>" }) {
		text += ", --fix makes the changes that are safe"
	}
	return text
}
