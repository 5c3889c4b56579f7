// Package gpucheck tries an image's torch on GPUs: many faults of a driver or
// of an image show only at the first call of a GPU. It holds the program that
// does so in a run, and reads what that says. It is pure.
package gpucheck

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed check.py
var program string

// Command is what is run in the image.
func Command() []string { return []string{"python", "-c", program} }

// mark begins a line of the program's; others are torch's own.
const mark = "crun-gpu-check "

// Report is how a check went.
type Report struct {
	// OK says that every step went well, or that there is nothing to try: an
	// image without torch.
	OK    bool     `json:"ok"`
	Torch string   `json:"torch,omitempty"` // its version, "" where there is none
	CUDA  string   `json:"cuda,omitempty"`  // what it is built for
	GPUs  []string `json:"gpus"`            // names
	Steps []Step   `json:"steps"`           // in order, as far as it came
}

// Step is one of a check.
type Step struct {
	Name string `json:"name"` // "multiply matrices on GPU 0"
	// Error is "" where it went well.
	Error string `json:"error,omitempty"`
}

// Parse reads the program's output. how says how the program ended where that
// was not by itself with 0: "by SIGSEGV", "with exit code 1", else "". The error
// says that the program never came to speak.
func Parse(output, how string) (*Report, error) {
	r := &Report{GPUs: []string{}, Steps: []Step{}}
	spoke := false
	for line := range strings.Lines(output) {
		text, ours := strings.CutPrefix(strings.TrimSpace(line), mark)
		var said struct {
			Step, Error string
			Torch, CUDA *string
			GPU         *int
			Name        string
			Done        bool
		}
		if !ours || json.Unmarshal([]byte(text), &said) != nil {
			continue
		}
		spoke = true
		switch {
		case said.Done:
			r.OK = true
		case said.Step != "" && said.Error != "" && len(r.Steps) > 0:
			r.Steps[len(r.Steps)-1].Error = oneLine(said.Error)
		case said.Step != "":
			r.Steps = append(r.Steps, Step{Name: said.Step})
		case said.GPU != nil:
			r.GPUs = append(r.GPUs, said.Name)
		case said.Torch != nil:
			r.Torch = *said.Torch
			if said.CUDA != nil {
				r.CUDA = *said.CUDA
			}
		case said.Error != "":
			r.OK = true // no torch
		}
	}
	if !spoke {
		return nil, fmt.Errorf("the check did not begin: python ended %s", or(how, "without a word"))
	}
	if last := len(r.Steps) - 1; !r.OK && last >= 0 && r.Steps[last].Error == "" {
		r.Steps[last].Error = "the process ended " + or(how, "in the middle of it")
	}
	return r, nil
}

// Problem is the step that failed and why, or "".
func (r *Report) Problem() string {
	if r.OK {
		return ""
	}
	for _, s := range r.Steps {
		if s.Error != "" {
			return s.Name + ": " + s.Error
		}
	}
	return "the check did not come to its end"
}

// Summary is one line about a check that went well.
func (r *Report) Summary() string {
	if r.Torch == "" {
		return "no torch in the image: nothing to try on a GPU"
	}
	return fmt.Sprintf("torch %s (CUDA %s) works on %s: %d steps", r.Torch, or(r.CUDA, "none"), strings.Join(r.GPUs, ", "), len(r.Steps))
}

// oneLine cuts what torch adds below its first line.
func oneLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
