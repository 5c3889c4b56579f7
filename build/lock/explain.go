package lock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/yamlfile"
)

// maxChanges is how many changes Explain names; the rest is counted. Three fit
// into one line of a terminal.
const maxChanges = 3

// Explain says in one line what differs between two requests, for "rebuilding:
// numpy 1.26 added". It is "" where their keys are equal.
func Explain(old, now Request) string {
	if old.Key() == now.Key() {
		return ""
	}
	return yamlfile.Printable(explain(old, now)) // a lock may be anybody's
}

func explain(old, now Request) string {
	changes := explainEnvironment(old.Environment, now.Environment)
	changes = append(changes, explainRest(old, now)...)
	switch {
	case len(changes) == 0:
		return "the environment changed"
	case len(changes) > maxChanges:
		return fmt.Sprintf("%s and %d more changes", strings.Join(changes[:maxChanges], ", "), len(changes)-maxChanges)
	}
	return strings.Join(changes, ", ")
}

// content is the part of environment.Environment.Canonical that Explain names.
type content struct {
	Name     string     `json:"name"`
	Channels []string   `json:"channels"`
	Conda    []string   `json:"conda"`
	Pip      [][]string `json:"pip"`
	// Constraints are versions that other packages are held to.
	Constraints []string `json:"constraints"`
	// Overrides are versions that packages have against what others need.
	Overrides []string          `json:"overrides"`
	Variables map[string]string `json:"variables"`
}

func explainEnvironment(oldJSON, nowJSON json.RawMessage) []string {
	var old, now content
	if json.Unmarshal(oldJSON, &old) != nil || json.Unmarshal(nowJSON, &now) != nil {
		return nil
	}
	var changes []string
	if old.Name != now.Name {
		changes = append(changes, fmt.Sprintf("name changed from %s to %s", old.Name, now.Name))
	}
	changes = append(changes, explainChannels(old.Channels, now.Channels)...)
	changes = append(changes, explainSpecs(old.Conda, now.Conda, "")...)
	oldPip, nowPip := slices.Concat(old.Pip...), slices.Concat(now.Pip...)
	pip := explainSpecs(oldPip, nowPip, " (pip)")
	if len(pip) == 0 && !slices.EqualFunc(old.Pip, now.Pip, slices.Equal) {
		pip = []string{"order of the pip packages changed"}
	}
	changes = append(changes, pip...)
	changes = append(changes, explainSpecs(old.Constraints, now.Constraints, " (constraint)")...)
	changes = append(changes, explainSpecs(old.Overrides, now.Overrides, " (override)")...)
	return append(changes, explainVariables(old.Variables, now.Variables)...)
}

func explainChannels(old, now []string) []string {
	added, removed := without(now, old), without(old, now)
	var changes []string
	for _, channel := range added {
		changes = append(changes, "channel "+channel+" added")
	}
	for _, channel := range removed {
		changes = append(changes, "channel "+channel+" removed")
	}
	if len(changes) == 0 && !slices.Equal(old, now) {
		changes = append(changes, "order of the channels changed")
	}
	return changes
}

// without gives the values of a that b lacks.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(v string) bool { return slices.Contains(b, v) })
}

// explainSpecs pairs what went with what came by the package's name.
func explainSpecs(old, now []string, suffix string) []string {
	added, removed := without(now, old), without(old, now)
	var changes []string
	for _, spec := range added {
		i := slices.IndexFunc(removed, func(r string) bool { return nameOf(r) == nameOf(spec) })
		if i < 0 {
			changes = append(changes, readable(spec)+suffix+" added")
			continue
		}
		changes = append(changes, change(removed[i], spec)+suffix)
		removed = slices.Delete(removed, i, i+1)
	}
	for _, spec := range removed {
		changes = append(changes, readable(spec)+suffix+" removed")
	}
	return changes
}

// change says "numpy 1.26 -> 2.0" where the name is written alike, else both.
func change(old, now string) string {
	oldName, oldVersion, _ := strings.Cut(readable(old), " ")
	nowName, nowVersion, _ := strings.Cut(readable(now), " ")
	if oldName != nowName || strings.HasPrefix(old, "-") {
		return readable(old) + " -> " + readable(now)
	}
	for _, version := range []*string{&oldVersion, &nowVersion} {
		if *version == "" {
			*version = "any"
		}
	}
	return fmt.Sprintf("%s %s -> %s", nowName, oldVersion, nowVersion)
}

var specName = lazyregexp.New(`^(?:[^\s:]+::)?[A-Za-z0-9][A-Za-z0-9._-]*|^_[A-Za-z0-9._-]*`)

// nameOf gives the name of a conda or pip spec, to pair two of them. An option
// goes by its first word, an address by all of it.
func nameOf(spec string) string {
	if name := specName.FindString(spec); name != "" && !strings.Contains(spec, "://") {
		return names.Distribution(name[strings.LastIndex(name, ":")+1:])
	}
	option, _, _ := strings.Cut(spec, " ")
	return option
}

// readable puts a blank in the place of the "=" or "==" after the name, and
// before other operators.
func readable(spec string) string {
	name := specName.FindString(spec)
	rest := spec[len(name):]
	if name == "" || strings.Contains(spec, "://") || rest == "" || strings.HasPrefix(rest, "[") {
		return spec
	}
	return name + " " + strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(rest, "="), "="), " ")
}

// explainVariables names variables only: their values may be private.
func explainVariables(old, now map[string]string) []string {
	var changes []string
	for name, value := range now {
		switch before, ok := old[name]; {
		case !ok:
			changes = append(changes, "variable "+name+" added")
		case before != value:
			changes = append(changes, "variable "+name+" changed")
		}
	}
	for name := range old {
		if _, ok := now[name]; !ok {
			changes = append(changes, "variable "+name+" removed")
		}
	}
	slices.Sort(changes)
	return changes
}

// explainRest compares what stands beside the environment.
func explainRest(old, now Request) []string {
	var changes []string
	for _, field := range []struct{ name, old, now string }{
		{"base image", old.Base, now.Base},
		{"--python", old.Python, now.Python},
		{"channels of the solve", strings.Join(old.Channels, ", "), strings.Join(now.Channels, ", ")},
		{"CUDA", old.CUDA, now.CUDA},
		{"platform", old.Platform, now.Platform},
		{"build.compiler", old.Compiler, now.Compiler},
	} {
		if field.old != field.now {
			changes = append(changes, fmt.Sprintf("%s changed from %s to %s", field.name, orNone(field.old), orNone(field.now)))
		}
	}
	changes = append(changes, explainLocals(old.Local, now.Local)...)
	for _, name := range without(now.canonical().Apt, old.Apt) {
		changes = append(changes, "apt package "+name+" added")
	}
	for _, name := range without(old.canonical().Apt, now.Apt) {
		changes = append(changes, "apt package "+name+" removed")
	}
	if old.Miniconda != now.Miniconda {
		changes = append(changes, map[bool]string{true: "Miniconda added", false: "Miniconda removed"}[now.Miniconda])
	}
	if old.LayoutVersion != now.LayoutVersion {
		changes = append(changes, "this crun lays images out in another way")
	}
	return changes
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// explainLocals says which folders and files have changed; that one was added
// or removed is a pip line.
func explainLocals(old, now []Local) []string {
	var changes []string
	for _, l := range now {
		if i := slices.IndexFunc(old, func(o Local) bool { return o.Path == l.Path }); i >= 0 && old[i] != l {
			changes = append(changes, l.Path+" changed")
		}
	}
	return changes
}
