package cli

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// runFilter says which runs to list. All that is set has to be so.
type runFilter struct {
	texts                  []string // KEY=VALUE, as given
	name, profile, project string

	wanted []filterTerm
}

type filterTerm struct{ key, value string }

// filterKeys are what --filter knows, with what a run has of it.
var filterKeys = map[string]func(*runRow) []string{
	"name":    func(r *runRow) []string { return []string{r.Name} },
	"id":      func(r *runRow) []string { return []string{r.ID} },
	"profile": func(r *runRow) []string { return []string{r.Profile} },
	"project": func(r *runRow) []string { return []string{r.Project} },
	"image":   func(r *runRow) []string { return []string{r.Image} },
	"state":   states,
}

// states are the words by which a run's state can be asked for: the word of the
// list, the phase, and failed for each end that is none in order.
func states(r *runRow) []string {
	all := []string{r.State, string(r.Phase)}
	if r.Phase.Over() && (r.ExitCode == nil || *r.ExitCode != 0) {
		all = append(all, "failed")
	}
	return all
}

// parse checks what was given.
func (f *runFilter) parse(app *App) error {
	f.wanted = nil
	texts := append([]string(nil), f.texts...)
	for key, value := range map[string]string{"name": f.name, "profile": f.profile, "project": f.project} {
		if value != "" {
			texts = append(texts, key+"="+value)
		}
	}
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok || filterKeys[key] == nil {
			return fmt.Errorf("--filter is %q; allowed are name=, id=, profile=, project=, image= and state=, with * for anything", text)
		}
		if key == "project" && !strings.ContainsAny(value, "*?[") {
			value = filepath.Clean(app.abs(value))
		}
		if _, err := path.Match(value, ""); err != nil {
			return fmt.Errorf("--filter is %q: %s has an open [", text, value)
		}
		f.wanted = append(f.wanted, filterTerm{key, value})
	}
	return nil
}

// matches tells whether the run is to be listed.
func (f *runFilter) matches(row *runRow) bool {
	for _, term := range f.wanted {
		found := false
		for _, has := range filterKeys[term.key](row) {
			if ok, _ := path.Match(term.value, has); ok || has == term.value {
				found = true
			}
		}
		if !found {
			return false
		}
	}
	return true
}
