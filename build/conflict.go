package build

import (
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/internal/lazyregexp"
)

// failure is why a solve gives no packages; dockerfiles/installer/conflict.py
// finds out what stands beside the text.
type failure struct {
	Kind string `json:"kind"` // apt, base, channel, conda, file, index or pip
	Text string `json:"text"`
	// Late tells that a server has been waited for: asking again takes as long.
	Late bool `json:"late,omitempty"`
	// Missing are requests that no channel or index fulfils by themselves.
	Missing []missing `json:"missing,omitempty"`
	// Core are the fewest requests that have no solution together.
	Core []string `json:"core,omitempty"`
	// Changes are each enough by themselves, Together all of them are.
	Changes  []change `json:"changes,omitempty"`
	Together []change `json:"together,omitempty"`
	// Files are package files, by their requests, that cannot be taken.
	Files []fileFault `json:"files,omitempty"`
}

// fileFault says what is wrong with a package file that is asked for by address.
type fileFault struct {
	Spec string `json:"spec"`
	Text string `json:"text"`
}

// missing is a request with the versions that there are near it, or the names.
type missing struct {
	Spec  string   `json:"spec"`
	Near  []string `json:"near"`
	Names []string `json:"names"`
}

// change is a request that is asked for in another version, or "" for not at
// all.
type change struct {
	Spec    string `json:"spec"`
	Version string `json:"version"`
}

// NoSolutionError says that an environment's packages do not fit together.
type NoSolutionError struct {
	// File is the environment file.
	File string
	// What is what is wrong, in a few words.
	What string
	// Lines are the file's that it is about: "environment.yml:6:5: pytorch=2.*".
	Lines []string
	// Text is the solver's own, "" where the lines say all.
	Text string
	// Remedy is what to do.
	Remedy string
}

func (e *NoSolutionError) Error() string {
	parts := []string{e.File + ": " + e.What + ":"}
	parts = append(parts, e.Lines...)
	if e.Text != "" {
		parts = append(parts, indent(e.Text))
	}
	return strings.Join(append(parts, e.Remedy), "\n")
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// noSolution makes an error of a failure, with the file's lines that it is
// about.
func (p *Project) noSolution(f failure) error {
	switch f.Kind {
	case "base":
		return fmt.Errorf("%s: no image can be made of this base image: %s", p.Options.Base, f.Text)
	case "apt", "archive":
		return p.aptError(f.Text)
	}
	text := environment.Redact(strings.TrimPrefix(f.Text, "Cannot solve the request because of: "))
	err := &NoSolutionError{File: p.File}
	pip := f.Kind == "pip"
	switch {
	case len(f.Files) > 0:
		err.What, err.Remedy = "a package file cannot be taken", "name the file that is meant, or ask for the package by name"
		for _, file := range f.Files {
			err.Lines = append(err.Lines, p.line(file.Spec, false)+": "+environment.Redact(file.Text))
		}
	case len(f.Missing) > 0:
		err.What, err.Remedy = "no channel has what is asked for", "change the versions, or add a channel that has them"
		if pip {
			err.What, err.Remedy = "no index has what is asked for", "change the versions, or name an index that has them (--extra-index-url)"
		}
		for _, m := range f.Missing {
			err.Lines = append(err.Lines, p.line(m.Spec, pip)+m.have())
		}
	case len(f.Core) > 0:
		err.What, err.Text = "these cannot go together", text
		if len(f.Core) == 1 {
			err.What = "this cannot be installed"
		}
		for _, spec := range f.Core {
			err.Lines = append(err.Lines, p.line(spec, pip))
		}
		err.Remedy = p.remedy(f, pip)
	default:
		err.What, err.Text = "the packages have no solution", text
		err.Lines = p.linesNamed(text, pip)
		err.Remedy = "change the versions, or add a channel that has them"
		if pip {
			err.Remedy = "change the versions of these, or take the pip packages from conda"
		}
	}
	return err
}

// have says what there is in the place of a request.
func (m missing) have() string {
	switch {
	case len(m.Near) == 1:
		return ": the nearest is " + m.Near[0] // the newest, or the oldest
	case len(m.Near) > 0:
		return ": nearest are " + strings.Join(m.Near, ", ")
	case len(m.Names) > 0:
		return ": there is no such package (did you mean " + strings.Join(m.Names, ", ") + "?)"
	}
	return ": there is no such package"
}

// remedy names the changes that give the environment a solution.
func (p *Project) remedy(f failure, pip bool) string {
	changes, text := f.Changes, "this is enough:"
	if len(changes) > 1 {
		text = "one of these is enough:"
	}
	if len(changes) == 0 {
		changes, text = f.Together, "these are enough together:"
	}
	if len(changes) == 0 {
		return "change the versions of these"
	}
	for _, c := range changes {
		text += "\n" + p.line(c.asks(pip), pip, c.Spec)
		if c.Version == "" {
			text += " taken out"
		} else {
			text += " in place of " + c.Spec
		}
	}
	return text
}

var (
	requestName  = lazyregexp.New(`^(?:[^\s:=<>!~\[]+::)?[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\[[^\]=]*\])?`)
	shortVersion = lazyregexp.New(`^[0-9]+(?:\.[0-9]+)?`)
)

// asks is the request that takes the place of c's: of conda packages any
// version of the series, of pip packages the very one, as people write them.
func (c change) asks(pip bool) string {
	name := requestName.FindString(c.Spec)
	if spec, err := environment.ParseCondaSpec(c.Spec); !pip && err == nil && spec.URL != "" {
		name = spec.Name
	}
	switch {
	case c.Version == "" || name == "":
		return c.Spec
	case pip:
		return name + "==" + c.Version
	}
	if short := shortVersion.FindString(c.Version); short != "" {
		return name + "=" + short
	}
	return name + "=" + c.Version
}

// line is a request with its place in the file: that of place, where it is
// another one.
func (p *Project) line(spec string, pip bool, place ...string) string {
	at := spec
	if len(place) > 0 {
		at = place[0]
	}
	if pip {
		for _, section := range p.Environment.Pip {
			for _, r := range section.Requirements {
				if r.Text == at || strings.HasPrefix(r.Text, at+" --hash=") {
					return fmt.Sprintf("%s: %s", r.Pos, spec)
				}
			}
		}
		return p.File + ": " + spec
	}
	if i := slices.IndexFunc(p.Environment.Conda, func(s environment.CondaSpec) bool { return s.Text == at }); i >= 0 {
		return fmt.Sprintf("%s: %s", p.Environment.Conda[i].Pos, spec)
	}
	return p.File + ": " + spec
}

var word = lazyregexp.New(`[A-Za-z0-9_][A-Za-z0-9_.-]*`)

// linesNamed are the requests of the file whose packages text names.
func (p *Project) linesNamed(text string, pip bool) (lines []string) {
	named := map[string]bool{}
	for _, w := range word.FindAllString(text, -1) {
		named[strings.ToLower(w)] = true
	}
	for _, spec := range p.Environment.Conda {
		if named[spec.Name] {
			lines = append(lines, fmt.Sprintf("%s: %s", spec.Pos, spec))
		}
	}
	if !pip {
		return lines
	}
	for _, section := range p.Environment.Pip {
		for _, r := range section.Requirements {
			if r.Name != "" && named[r.Name] {
				lines = append(lines, fmt.Sprintf("%s: %s", r.Pos, r.Text))
			}
		}
	}
	return lines
}
