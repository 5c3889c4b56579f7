package environment

import (
	"fmt"
	"slices"

	"crun.dev/crun/internal/yamlfile"
)

// maxRounds bounds how often a file is read anew for what the last changes
// brought to light. Each round makes a change, and real files need two.
const maxRounds = 20

// Fixed is what FixAll made of a file.
type Fixed struct {
	// Text is the file's new content; it is the old where nothing was made.
	Text []byte
	// Made are the findings whose fixes were made, in order.
	Made []Finding
	// Left are the findings of the new content.
	Left []Finding
	// Before and After are how many packages the old and the new content ask
	// for, conda's and pip's together.
	Before, After int
	// Unknown are the packages of a full export that stay because crun does not
	// know whether others bring them.
	Unknown []string
}

// FixAll makes every safe fix of a file, and what these bring to light. The
// new content has no error that the old had not, and FixAll finds nothing to
// make in it. Lines that no fix is about stay as they are.
func FixAll(data []byte, opts Options) (*Fixed, error) {
	left, err := Lint(data, opts)
	if err != nil {
		return nil, err
	}
	fixed := &Fixed{Text: data, Left: left, Before: requests(data, opts)}
	for range maxRounds {
		text, made := round(fixed.Text, fixed.Left)
		if len(made) == 0 {
			break
		}
		left, err := Lint(text, opts)
		if err != nil {
			return nil, err
		}
		if message := newError(fixed.Left, left); message != "" {
			return nil, fmt.Errorf("%s: the fixes would bring the error %q; nothing is changed", opts.File, message)
		}
		fixed.Text, fixed.Left, fixed.Made = text, left, append(fixed.Made, made...)
		for _, f := range made {
			fixed.Unknown = append(fixed.Unknown, f.unknown...)
		}
	}
	fixed.After = requests(fixed.Text, opts)
	return fixed, nil
}

// round makes the safe fixes that do not touch the same text.
func round(text []byte, findings []Finding) ([]byte, []Finding) {
	findings = slices.Clone(findings)
	// It takes lines out that others would mend.
	if i := slices.IndexFunc(findings, func(f Finding) bool { return f.Code == "full-export" }); i > 0 {
		export := findings[i]
		findings = slices.Insert(slices.Delete(findings, i, i+1), 0, export)
	}
	var edits []yamlfile.Edit
	var made []Finding
	out := text
	for _, f := range findings {
		if f.Fix == nil || !f.Fix.Safe {
			continue
		}
		tried := append(slices.Clone(edits), f.Fix.Edits...)
		if changed, err := yamlfile.Apply(text, tried); err == nil {
			out, edits, made = changed, tried, append(made, f)
		}
	}
	return out, made
}

// newError gives an error of a file that had none before, or "". Where there
// was one, it hid the others.
func newError(were, are []Finding) string {
	isError := func(f Finding) bool { return f.Severity == SeverityError }
	if i := slices.IndexFunc(are, isError); i >= 0 && !slices.ContainsFunc(were, isError) {
		return are[i].Message
	}
	return ""
}

// requests counts the packages that a file asks for.
func requests(data []byte, opts Options) int {
	env, findings, _ := Parse(data, opts)
	if env == nil {
		return 0
	}
	n := len(env.Conda)
	for _, f := range findings {
		if f.Code == "python-added" || f.Code == "pip-undeclared" {
			n--
		}
	}
	for _, section := range env.Pip {
		for _, r := range section.Requirements {
			if r.Kind != PipOption && r.Kind != PipConstraint && r.Kind != PipFile {
				n++
			}
		}
	}
	return n
}
