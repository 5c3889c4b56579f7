package build

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/build/lock"
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/yamlfile"
)

// Update says which packages are chosen anew although the lock has them.
// Whatever else the lock has stays, where it still fits.
type Update struct {
	// All chooses everything anew, as if there were no lock.
	All bool
	// Names are conda or pip packages.
	Names []string
}

func (u Update) any() bool { return u.All || len(u.Names) > 0 }

// has tells whether a package is chosen anew. numpy, NumPy and num_py are one.
func (u Update) has(name string) bool {
	return u.All || slices.ContainsFunc(u.Names, func(n string) bool { return names.Distribution(n) == names.Distribution(name) })
}

// kept is what a new lock takes from the old one.
type kept struct {
	// conda takes the conda packages as they are, without asking a channel;
	// pip those of pip, without asking an index.
	conda, pip bool
	// Where they are chosen again, these are preferred to other versions.
	miniconda, packages []lock.Package
	distributions       []lock.Distribution
	// toolchain is taken as it is, for a torch of the same CUDA.
	toolchain []lock.Package
}

// keep decides what is left of the project's lock. The less is chosen anew the
// fewer layers change, and the less surprises an edit of one line brings.
func (p *Project) keep(base lock.Base, update Update) kept {
	old := p.Lock
	if old == nil || update.All || !p.Request.SameSources(old.Request) {
		return kept{}
	}
	preferred := func(packages []lock.Package) []lock.Package {
		return slices.DeleteFunc(slices.Clone(packages), func(pkg lock.Package) bool { return update.has(pkg.Name) })
	}
	k := kept{miniconda: preferred(old.Miniconda), packages: preferred(old.Conda)}
	if toolchain := preferred(old.Toolchain); len(toolchain) == len(old.Toolchain) {
		k.toolchain = toolchain
	}
	for _, d := range old.Pip {
		if !update.has(d.Name) {
			k.distributions = append(k.distributions, d)
		}
	}
	k.conda = p.Request.SameConda(old.Request) && base == old.Base && len(k.miniconda) == len(old.Miniconda) && len(k.packages) == len(old.Conda)
	k.pip = k.conda && p.Request.SamePackages(old.Request) && len(k.distributions) == len(old.Pip) && len(k.toolchain) == len(old.Toolchain)
	return k
}

// lockedLine is a pip line with the commit that the old lock has for it, where
// what the file says (asked) is as it was: a branch has moved on since, perhaps.
func (p *Project) lockedLine(asked, line string, k kept) string {
	m := repositoryLine.FindStringSubmatch(line)
	if m == nil || len(k.distributions) == 0 || !p.Lock.Request.HasPip(asked) {
		return line
	}
	asked, _, _ = strings.Cut(strings.TrimSuffix(m[1], " @ "), "[")
	for _, d := range k.distributions {
		i := strings.LastIndex(d.URL, "@")
		if i < 0 || d.URL[:i] != m[2] || asked != "" && names.Distribution(asked) != names.Distribution(d.Name) {
			continue
		}
		// A repository may hold several packages.
		if _, fragment, _ := strings.Cut(d.URL[i:], "#"); subdirectory(fragment) == subdirectory(m[3]) {
			return cmp.Or(m[1], d.Name+" @ ") + d.URL
		}
	}
	return line
}

// subdirectory is the folder of a repository that an address's fragment names.
func subdirectory(fragment string) string {
	for part := range strings.SplitSeq(fragment, "&") {
		if folder, ok := strings.CutPrefix(part, "subdirectory="); ok {
			return folder
		}
	}
	return ""
}

// repositoryLine is a repository with the name before it ("x[y] @ "), the
// address without reference, and its fragment; one with a marker is left alone.
var repositoryLine = lazyregexp.New(`^([A-Za-z0-9._-]+(?:\[[^\]]*\])? @ )?(git\+[a-z]+://(?:[^/@]*@)?[^@# ]+)(?:@[^# ]*)?(?:#([^ ]*))?$`)

// baseOf is the base image that a new lock is made for: the old lock's, where
// that names bytes and nobody asked for new ones, else the engine's.
func (p *Project) baseOf(found baseImage, update Update) baseImage {
	if p.Lock != nil && !update.All && p.Lock.Base.Reference == found.Reference && p.Lock.Base.Digest != "" {
		return baseImage{p.Lock.Base}
	}
	return found
}

// check refuses names that are neither in the lock nor in the file.
func (u Update) check(p *Project) error {
	var known []string
	for _, spec := range p.Environment.Conda {
		known = append(known, spec.Name)
	}
	for _, section := range p.Environment.Pip {
		for _, r := range section.Requirements {
			if r.Name != "" { // an address
				known = append(known, r.Name)
			}
		}
	}
	if p.Lock != nil {
		for _, pkg := range slices.Concat(p.Lock.Miniconda, p.Lock.Conda, p.Lock.Toolchain) {
			known = append(known, pkg.Name)
		}
		for _, d := range p.Lock.Pip {
			known = append(known, d.Name)
		}
		for _, d := range p.Lock.Apt {
			known = append(known, d.Name)
		}
	}
	for _, name := range u.Names {
		if !slices.ContainsFunc(known, Update{Names: []string{name}}.has) {
			return fmt.Errorf("%s has no package %q%s: name packages of it, or leave the names out to choose all of them anew",
				p.LockFile, name, yamlfile.DidYouMean(name, known))
		}
	}
	return nil
}
