package environment

import (
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

// FixAll makes every safe fix of a file, and what these bring to light. A fix
// that brings an error, or that leaves what it is for, is not made. The new
// content has nothing more to make. Lines that no fix is about stay as they
// are.
func FixAll(data []byte, opts Options) (*Fixed, error) {
	left, err := Lint(data, opts)
	if err != nil {
		return nil, err
	}
	fixed := &Fixed{Text: data, Left: left, Before: requests(data, opts)}
	useless := map[string]bool{}
	for range maxRounds {
		made := compatible(slices.DeleteFunc(slices.Clone(fixed.Left), func(f Finding) bool {
			return f.Fix == nil || !f.Fix.Safe || useless[f.String()]
		}))
		if len(made) == 0 {
			break
		}
		if fixed.make(made, opts) {
			continue
		}
		for _, f := range made {
			if fixed.make([]Finding{f}, opts) {
				break // the places of the others have changed
			}
			useless[f.String()] = true
		}
	}
	fixed.After = requests(fixed.Text, opts)
	return fixed, nil
}

// make makes the fixes of the findings, or gives false and changes nothing.
func (f *Fixed) make(findings []Finding, opts Options) bool {
	var edits []yamlfile.Edit
	for _, finding := range findings {
		edits = append(edits, finding.Fix.Edits...)
	}
	// What cannot be made is of a text that YAML and we count differently, such
	// as one in an older encoding.
	text, err := yamlfile.Apply(f.Text, edits)
	if err != nil {
		return false
	}
	left, err := Lint(text, opts)
	if err != nil || hasError(left) && !hasError(f.Left) || anyStays(findings, left) {
		return false
	}
	if hasError(f.Left) {
		// What asked for packages could not be read before.
		f.Before = requests(text, opts)
	}
	f.Text, f.Left, f.Made = text, left, append(f.Made, findings...)
	for _, finding := range findings {
		f.Unknown = append(f.Unknown, finding.unknown...)
	}
	return true
}

func hasError(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == SeverityError })
}

// anyStays tells whether one of the findings is among left as well.
func anyStays(findings, left []Finding) bool {
	there := map[string]bool{}
	for _, f := range left {
		there[f.String()] = true
	}
	return slices.ContainsFunc(findings, func(f Finding) bool { return there[f.String()] })
}

// compatible gives those of the findings whose fixes do not touch the same
// text.
func compatible(findings []Finding) []Finding {
	// It takes lines out that others would mend.
	if i := slices.IndexFunc(findings, func(f Finding) bool { return f.Code == "full-export" }); i > 0 {
		export := findings[i]
		findings = slices.Insert(slices.Delete(findings, i, i+1), 0, export)
	}
	var made []Finding
	byLine := map[int][]yamlfile.Edit{}
	for _, f := range findings {
		if slices.ContainsFunc(f.Fix.Edits, func(e yamlfile.Edit) bool { return touches(e, byLine) }) {
			continue
		}
		for _, e := range f.Fix.Edits {
			for line := e.Line; line <= e.EndLine; line++ {
				byLine[line] = append(byLine[line], e)
			}
		}
		made = append(made, f)
	}
	return made
}

// touches tells whether an edit changes text that another one, not the same,
// changes as well.
func touches(e yamlfile.Edit, byLine map[int][]yamlfile.Edit) bool {
	for line := e.Line; line <= e.EndLine; line++ {
		for _, other := range byLine[line] {
			before := other.EndLine < e.Line || other.EndLine == e.Line && other.EndColumn <= e.Column
			after := e.EndLine < other.Line || e.EndLine == other.Line && e.EndColumn <= other.Column
			if other != e && !before && !after {
				return true
			}
		}
	}
	return false
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
