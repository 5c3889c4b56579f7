package build

import (
	"encoding/json"
	"fmt"
	"strings"
)

// CheckReport is what came of a check.
type CheckReport struct {
	Mode    CheckMode       `json:"mode"`
	Modules []CheckedModule `json:"modules"`
	// Torch is nil where there is none that can be imported.
	Torch *CheckedTorch `json:"torch"`
	// Conflicts are what distributions say against one another, a line each.
	Conflicts   []string      `json:"conflicts"`
	Overwritten []Overwritten `json:"overwritten"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// The states of a CheckedModule.
const (
	ModuleWorks        = "works"
	ModuleFails        = "fails"
	ModuleNotCheckable = "not checkable here" // for want of a GPU's driver
)

// CheckedModule is a module, or another thing of torch that was tried.
type CheckedModule struct {
	Name    string `json:"name"`
	Package string `json:"package"`
	Version string `json:"version"`
	Status  string `json:"status"`
	// Reason is the error in one line, Advice what helps, where it is known.
	Reason string `json:"reason,omitempty"`
	Advice string `json:"advice,omitempty"`
}

// CheckedTorch is what torch says of itself.
type CheckedTorch struct {
	Version string `json:"version"`
	// CUDA is "12.8", or "" for a build for CPUs; Archs the GPUs that it is
	// compiled for, as torch writes them.
	CUDA      string `json:"cuda"`
	Archs     string `json:"archs"`
	Libraries int    `json:"libraries"`
}

// Overwritten tells of files that two packages hold.
type Overwritten struct {
	Package     string `json:"package"`
	Version     string `json:"version"`
	Over        string `json:"over"`
	OverVersion string `json:"over_version"`
	OverKind    string `json:"over_kind"` // conda or pip
	Files       int    `json:"files"`
	Example     string `json:"example"`
}

// parseReport reads what the check wrote.
func parseReport(data []byte) (*CheckReport, error) {
	var report CheckReport
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, fmt.Errorf("checking the packages: the report cannot be read: %w", err)
	}
	return &report, nil
}

// Warnings are what a person should know and what stops nothing, a line each.
func (r *CheckReport) Warnings() []string {
	var lines []string
	for _, m := range r.Modules {
		if m.Status != ModuleFails {
			continue
		}
		line := fmt.Sprintf("%s cannot be imported: %s", m.Name, m.Reason)
		if strings.ContainsAny(m.Name, " /") || m.Name == "Python" {
			line = fmt.Sprintf("%s fails: %s", m.Name, m.Reason)
		}
		if m.Package != "" && m.Package != m.Name {
			line = m.Package + ": " + line
		}
		if m.Advice != "" {
			line += "; " + m.Advice
		}
		lines = append(lines, line)
	}
	for _, o := range r.Overwritten {
		lines = append(lines, o.String())
	}
	return append(lines, r.Conflicts...)
}

func (o Overwritten) String() string {
	if o.OverKind == "conda" {
		return fmt.Sprintf("pip's %s %s has overwritten %s of conda's %s %s (%s): ask one of them for it",
			o.Package, o.Version, plural(o.Files, "file"), o.Over, o.OverVersion, o.Example)
	}
	return fmt.Sprintf("the pip packages %s %s and %s %s both hold %s (%s): keep one of them",
		o.Over, o.OverVersion, o.Package, o.Version, plural(o.Files, "file"), o.Example)
}

// Summary says in one line what works.
func (r *CheckReport) Summary() string {
	works, unchecked := 0, []string{}
	var more []string
	for _, m := range r.Modules {
		switch {
		case strings.HasPrefix(m.Name, "torch/lib/"): // one for the driver is in each build for CUDA
		case m.Status == ModuleNotCheckable:
			unchecked = append(unchecked, m.Name)
		case m.Status == ModuleWorks && strings.Contains(m.Name, " "):
			more = append(more, m.Name)
		case m.Status == ModuleWorks:
			works++
		}
	}
	text := plural(works, "module") + " can be imported"
	if t := r.Torch; t != nil {
		built := "for CPUs"
		if t.CUDA != "" {
			built = "for CUDA " + t.CUDA
		}
		text += fmt.Sprintf(", torch %s %s", t.Version, built)
	}
	if len(more) > 0 {
		text += ", " + strings.Join(more, ", ")
	}
	if len(unchecked) > 0 {
		text += "; not without a GPU's driver: " + strings.Join(unchecked, ", ")
	}
	return text
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
