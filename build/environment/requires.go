package environment

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"crun.dev/crun/internal/lazyregexp"
)

//go:embed requires.txt
var requiresText string

// requirement is a line of requires.txt: what a package brings along, in the
// versions and beside the package that the line names.
type requirement struct {
	operator string // ">=", "<" or ""
	version  release
	beside   string
	names    []string
}

var requiresKey = lazyregexp.New(`^([a-z0-9_.-]+)(?:(>=|<)([0-9.]+))?(?:\+([a-z0-9_.-]+))?$`)

// requires is requires.txt by package, and known all names that stand in it,
// families by their prefix with the "*".
var requires = sync.OnceValues(func() (table map[string][]requirement, known map[string]bool) {
	table, known = map[string][]requirement{}, map[string]bool{}
	for line := range strings.Lines(requiresText) {
		line = strings.TrimSpace(line)
		key, names, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		m := requiresKey.FindStringSubmatch(key)
		if m == nil {
			panic("environment: requires.txt has the key " + key)
		}
		r := requirement{operator: m[2], version: parseRelease(m[3]), beside: m[4], names: strings.Fields(names)}
		table[m[1]] = append(table[m[1]], r)
		known[m[1]] = true
		for _, name := range r.names {
			known[name] = true
		}
	}
	return table, known
})

// holds tells whether the line is about a package of that version.
func (r requirement) holds(version release, there map[string]bool) bool {
	if r.beside != "" && !there[r.beside] {
		return false
	}
	switch r.operator {
	case ">=":
		return len(version) > 0 && version.compare(r.version) >= 0
	case "<":
		return len(version) > 0 && version.compare(r.version) < 0
	}
	return true
}

// knownRequires gives what the packages of a file require of each other by
// requires.txt, and tells whether it knows a package at all.
func knownRequires(specs []CondaSpec) (of func(name string) []string, known func(name string) bool) {
	table, all := requires()
	there := map[string]bool{}
	versions := map[string]release{}
	for _, spec := range specs {
		there[spec.Name] = true
		versions[spec.Name] = pinned(spec.Version)
	}
	of = func(name string) []string {
		var names []string
		for _, r := range table[name] {
			if !r.holds(versions[name], there) {
				continue
			}
			for _, required := range r.names {
				family, isFamily := strings.CutSuffix(required, "*")
				if !isFamily {
					names = append(names, required)
					continue
				}
				for other := range there {
					if strings.HasPrefix(other, family) && other != name {
						names = append(names, other)
					}
				}
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	known = func(name string) bool {
		if all[name] {
			return true
		}
		for i := range name {
			if all[name[:i]+"*"] {
				return true
			}
		}
		return false
	}
	return of, known
}
