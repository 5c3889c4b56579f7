package condaprefix

import (
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
)

// Request is what a person would write for a prefix.
type Request struct {
	// Channels, Conda and Pip are as an environment file has them, in order.
	Channels, Conda, Pip []string
	Variables            []environment.Variable
	// Packages is how many are installed, conda's and others together.
	Packages int
	// Notes are what a person should know of what was left out or is not as in
	// the prefix; each a sentence.
	Notes []string
}

// Count is how many packages are asked for.
func (r *Request) Count() int {
	n := len(r.Conda)
	for _, line := range r.Pip {
		// An option but -e asks for no package.
		if !strings.HasPrefix(line, "--") {
			n++
		}
	}
	return n
}

func (r *Request) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Request gives what to ask for to have this environment again: what the person
// asked conda and pip for and what nothing else requires, each in the version
// that is installed, without builds. Packages that were installed from folders of
// this machine are named by their path from folder, where the file is to lie;
// exists tells whether such a path is still there.
func (p *Prefix) Request(folder string, exists func(path string) bool) *Request {
	r := &Request{Packages: len(p.Packages) + len(p.Distributions)}
	replaced := p.replaced()
	r.addPip(p, folder, exists, replaced)
	r.addConda(p, replaced)
	r.addChannels(p)
	for _, v := range p.Variables {
		if v.IsSecret() {
			r.note("variable %s looks like a secret and is left out; give it to a run with -e %s", v.Name, v.Name)
			continue
		}
		r.Variables = append(r.Variables, v)
	}
	return r
}

// replaced gives, by conda package, the distribution that pip put over its own.
func (p *Prefix) replaced() map[string]Distribution {
	over := map[string]Distribution{}
	for _, pkg := range p.Packages {
		for _, d := range pkg.distributions {
			if i := slices.IndexFunc(p.Distributions, func(o Distribution) bool { return o.Name == d.name }); i >= 0 {
				over[pkg.Name] = p.Distributions[i]
			}
		}
	}
	return over
}

// came are the packages that every environment has, asked for or not.
var came = []string{"pip", "setuptools", "wheel"}

func (r *Request) addConda(p *Prefix, replaced map[string]Distribution) {
	var all []string
	for _, pkg := range p.Packages {
		all = append(all, pkg.Name)
	}
	asked := p.asked()
	needed := environment.Needed(all, func(name string) bool {
		return asked[name] || environment.Chosen(name)
	}, func(name string) []string {
		depends, _ := p.Requires(name)
		return depends
	})
	required := map[string]bool{}
	for _, pkg := range p.Packages {
		for _, name := range pkg.Depends {
			required[name] = true
		}
	}
	slices.SortStableFunc(needed, environment.CompareChosen)
	root := p.isRoot()
	for _, name := range needed {
		pkg, _ := p.Package(name)
		over, isReplaced := replaced[name]
		switch {
		case slices.Contains(came, name) && !asked[name]:
		case name == "pip":
		case root && slices.Contains([]string{"conda", "mamba", "conda-build", "conda-libmamba-solver"}, name):
			r.note("%s is left out: an image has a conda of its own", name)
		case environment.ForeignTo(name) != "":
			r.note("%s is a package for %s and is left out: the image is Linux", name, environment.ForeignTo(name))
		case isLocal(pkg.Channel):
			r.note("%s %s came from the channel %s, a folder of this machine, and is left out; serve that channel, or take another one's", name, pkg.Version, pkg.Channel)
		case isReplaced && !required[name] && len(r.Pip) > 0:
			// pip's is asked for.
		case isReplaced:
			version, _, _ := strings.Cut(over.Version, "+")
			r.note("pip put %s %s over conda's %s; conda is asked for %s", over.Name, over.Version, pkg.Version, version)
			r.Conda = append(r.Conda, name+"="+version)
		default:
			r.Conda = append(r.Conda, name+"="+pkg.Version+p.variant(pkg))
		}
	}
	if asked["pip"] || len(r.Pip) > 0 {
		r.Conda = append(r.Conda, "pip")
	}
}

// isRoot tells whether conda itself is installed here.
func (p *Prefix) isRoot() bool {
	_, ok := p.Package("conda")
	return ok
}

// variant is the build that the person chose with a pattern or a variant's
// word, such as "=*cuda*", or that of a torch which nothing else chooses; or "".
func (p *Prefix) variant(pkg Package) string {
	spec, err := environment.ParseCondaSpec(p.Requested[pkg.Name])
	build := spec.Build
	if err != nil || build == "*" || spec.PinsBuild() {
		build = ""
	}
	if build == "" {
		var beside []string
		for _, other := range p.Packages {
			beside = append(beside, other.Name)
		}
		build = environment.TorchVariant(pkg.Name, pkg.Build, beside)
	}
	if build == "" {
		return ""
	}
	return "=" + build
}

// asked are the packages that the person asked for. Where the history says
// that it was everything, because the environment was made from an export or a
// list, it says nothing.
func (p *Prefix) asked() map[string]bool {
	asked := map[string]bool{}
	brought := 0
	python, _ := p.Package("python")
	for name := range p.Requested {
		asked[name] = true
		if slices.Contains(python.Depends, name) && !slices.Contains(came, name) {
			brought++
		}
	}
	// Nobody asks for two of openssl, ncurses, readline, tk and their like.
	if brought > 2 {
		return nil
	}
	return asked
}
