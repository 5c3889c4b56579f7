package environment

import (
	"slices"
	"strings"
)

// Needed gives the names, of packages that are installed together, that are to
// be asked for so that all others come along: those that keep tells of, those
// that nothing else requires, and one of each ring of packages that require
// each other. requires gives what a package requires; it is also asked about
// packages that are not there, which may have been taken out since: what
// belongs to them is not needed either. The order is that of names.
func Needed(names []string, keep func(name string) bool, requires func(name string) []string) []string {
	there := map[string]bool{}
	for _, name := range names {
		there[name] = true
	}
	required := map[string]bool{}
	for _, name := range names {
		for _, next := range requires(name) {
			if next == name {
				continue
			}
			required[next] = true
			if there[next] {
				continue
			}
			// By way of one that is not there. Over several the ways get long,
			// and what "some build requires" adds up.
			for _, far := range requires(next) {
				required[far] = required[far] || far != name
			}
		}
	}
	brought := map[string]bool{}
	var bring func(name string)
	bring = func(name string) {
		if !brought[name] {
			brought[name] = true
			for _, other := range requires(name) {
				bring(other)
			}
		}
	}
	needed := map[string]bool{}
	need := func(name string) {
		needed[name] = true
		bring(name)
	}
	for _, name := range names {
		if keep(name) || !required[name] {
			need(name)
		}
	}
	for _, name := range names {
		if !brought[name] {
			need(name)
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !needed[name] })
}

// chosen are the packages whose version is a person's choice even where
// another package brings them: torch and what must fit it, what selects CUDA,
// and the libraries that research code imports by name and that a new major
// version breaks.
var chosen = []string{
	"python",
	"pytorch", "pytorch-cpu", "pytorch-gpu", "torch", "torchvision", "torchaudio", "torchtext", "torchdata", "pytorch-lightning", "lightning",
	"cudatoolkit", "cuda-version", "pytorch-cuda", "cpuonly",
	"tensorflow", "tensorflow-gpu", "tensorflow-cpu", "keras", "jax", "jaxlib",
	"numpy", "scipy", "pandas", "matplotlib", "scikit-learn", "scikit-image", "pillow", "opencv", "transformers",
}

// Chosen tells whether a conda package stays in a file whatever requires it.
func Chosen(name string) bool { return slices.Contains(chosen, name) }

// CompareChosen orders packages as a person does: python, torch, CUDA, what
// research code imports by name, and the rest as it was.
func CompareChosen(a, b string) int {
	rank := func(name string) int {
		if i := slices.Index(chosen, name); i >= 0 {
			return i
		}
		return len(chosen)
	}
	return rank(a) - rank(b)
}

// PinsBuild tells whether the spec asks for one exact build, which the system
// and the channel of the day had. A pattern, or a variant's bare word
// (mpi=*=openmpi), is a choice that a person made.
func (s CondaSpec) PinsBuild() bool {
	return s.Build != "" && !strings.Contains(s.Build, "*") && strings.ContainsAny(s.Build, "0123456789")
}

// IsSecret tells whether a variable is called as secrets are, or its value is
// an address with a credential.
func (v Variable) IsSecret() bool { return v.isSecret() }

// NameOfFolder is the environment's name where a file in that folder gives none.
func NameOfFolder(base string) string { return safeName(base) }

// ForeignTo names the system, Windows or macOS, that a package of that name is
// for and Linux has no use of, or gives "".
func ForeignTo(name string) string { return foreignTo(name) }
