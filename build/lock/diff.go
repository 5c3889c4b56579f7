package lock

import (
	"cmp"
	"slices"
	"strings"

	"crun.dev/crun/internal/names"
)

// The kinds of a Change's Action.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Change is one difference between two locks.
type Change struct {
	// Platform is linux-64 or linux-aarch64 where several are compared.
	Platform string `json:"platform,omitempty"`
	Action   string `json:"action"`
	// Kind is where the thing is from: conda, pip, apt, miniconda (conda packages
	// of /opt/conda), toolchain (those that are there while pip packages are
	// compiled), or what it is: base, channel, index, virtual.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Old and New are versions, with as much behind them as tells the two
	// apart; "" where there is none.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// Diff gives the changes from old to now: packages by kind and name, then what
// they were chosen from. A nil lock holds nothing. What was asked for (the
// request) is no part of it: see Explain.
func Diff(old, now *Lock) []Change {
	var changes []Change
	for _, kind := range []string{"conda", "pip", "miniconda", "toolchain", "apt", "base", "virtual", "channel", "index"} {
		before, after := old.things(kind), now.things(kind)
		for _, name := range slices.Sorted(keys(before, after)) {
			a, b := before[name], after[name]
			switch {
			case a == nil:
				changes = append(changes, Change{Action: Added, Kind: kind, Name: name, New: b[0]})
			case b == nil:
				changes = append(changes, Change{Action: Removed, Kind: kind, Name: name, Old: a[0]})
			case !slices.Equal(a, b):
				was, is := apart(a, b)
				changes = append(changes, Change{Action: Changed, Kind: kind, Name: name, Old: was, New: is})
			}
		}
	}
	return changes
}

func keys(a, b map[string][]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range a {
			if !yield(name) {
				return
			}
		}
		for name := range b {
			if a[name] == nil && !yield(name) {
				return
			}
		}
	}
}

// apart gives as many of the words of a and b as tell them apart: the first,
// and the first that differs.
func apart(a, b []string) (string, string) {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
		case i == 0:
			return a[0], b[0]
		default:
			return strings.TrimSpace(a[0] + " " + a[i]), strings.TrimSpace(b[0] + " " + b[i])
		}
	}
	return a[0], b[0]
}

// short is enough of a digest to tell two apart.
func short(digest string) string {
	if i := strings.LastIndexByte(digest, ':') + 1; len(digest) > i+12 {
		return digest[:i+12]
	}
	return digest
}

// how says in a word how a distribution comes into the image.
func how(d Distribution) string {
	switch {
	case d.Editable:
		return "editable"
	case d.Against != "":
		return "compiled"
	}
	return ""
}

// things are a lock's entries of a kind by name: the version, then what else
// makes one another, of one length for all of a kind.
func (l *Lock) things(kind string) map[string][]string {
	all := map[string][]string{}
	if l == nil {
		return all
	}
	packages := func(list []Package) {
		for _, p := range list {
			all[p.Name] = []string{p.Version, p.Build, p.Channel, cmp.Or(p.URL, p.Path()), short(cmp.Or(p.SHA256, p.MD5))}
		}
	}
	switch kind {
	case "conda":
		packages(l.Conda)
	case "miniconda":
		packages(l.Miniconda)
	case "toolchain":
		packages(l.Toolchain)
	case "pip":
		for _, d := range l.Pip {
			name := names.Distribution(d.Name)
			if d.Markers != "" && all[name] != nil {
				name += " ; " + d.Markers // for another platform than the entry before
			}
			all[name] = []string{cmp.Or(d.Version, d.URL, d.Path), d.URL, d.Path, how(d), d.Index, d.Markers, short(digest([]byte(strings.Join(slices.Sorted(slices.Values(d.Hashes)), ","))))}
		}
	case "apt":
		for _, p := range l.Apt {
			all[p.Name] = []string{p.Version}
		}
	case "base":
		all[l.Base.Reference] = []string{short(cmp.Or(l.Base.Digest, l.Base.ImageID, "not known")), l.Base.User}
	case "virtual":
		for _, v := range l.Virtual {
			name, version, _ := strings.Cut(v, "=")
			all[name] = []string{version}
		}
	case "channel":
		for _, c := range l.Channels {
			all[c] = []string{""}
		}
	case "index":
		for _, i := range l.Indexes {
			all[i] = []string{""}
		}
	}
	return all
}
