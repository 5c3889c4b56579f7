package environment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Canonical is the environment as JSON for a request's key: what does not
// change the image (comments, order of keys, of conda packages, of constraints
// and of variables, the file that a line stands in) does not change it; the order of channels and of pip lines does.
// No credential is in it: of a variable that looks like one, its digest is.
func (e *Environment) Canonical() []byte {
	form := struct {
		Name        string            `json:"name"`
		Channels    []string          `json:"channels,omitempty"`
		Conda       []string          `json:"conda"`
		Exact       bool              `json:"exact,omitempty"`
		Pip         [][]string        `json:"pip,omitempty"`
		Constraints []string          `json:"constraints,omitempty"`
		Overrides   []string          `json:"overrides,omitempty"`
		Variables   map[string]string `json:"variables,omitempty"`
	}{Name: e.Name, Channels: e.Channels, Exact: e.Exact, Conda: []string{}, Variables: map[string]string{}}
	for _, spec := range e.Conda {
		form.Conda = append(form.Conda, spec.Text)
	}
	slices.Sort(form.Conda)
	form.Conda = slices.Compact(form.Conda)
	for _, section := range e.Pip {
		var lines []string
		for _, r := range section.Requirements {
			lines = append(lines, r.Text)
		}
		form.Pip = append(form.Pip, lines)
	}
	form.Constraints, form.Overrides = sortedTexts(e.Constraints), sortedTexts(e.Overrides)
	for _, v := range e.Variables {
		if !v.IsSecret() { // those are not in the image
			form.Variables[v.Name] = v.Value
		}
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	// Specs are full of "<" and ">"; they are shown to people.
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(form); err != nil {
		panic(fmt.Sprintf("environment: encoding: %v", err))
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}

// sortedTexts are lines whose order does not count.
func sortedTexts(lines []PipRequirement) []string {
	var texts []string
	for _, r := range lines {
		texts = append(texts, r.Text)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}
