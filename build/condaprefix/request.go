package condaprefix

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/internal/lazyregexp"
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
			r.Conda = append(r.Conda, name+"="+pkg.Version+p.variant(name))
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
// word, such as "=*cuda*", or "".
func (p *Prefix) variant(name string) string {
	spec, err := environment.ParseCondaSpec(p.Requested[name])
	if err != nil || spec.Build == "" || spec.Build == "*" || spec.PinsBuild() {
		return ""
	}
	return "=" + spec.Build
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

// pytorchIndexes have the builds of torch that PyPI has not; see the selector
// of pytorch.org and the installation pages of PyG.
var (
	torchLocal = lazyregexp.New(`\+(cpu|cu\d+|rocm[0-9.]+|xpu)$`)
	pygLocal   = lazyregexp.New(`\+pt(\d)(\d+)(cpu|cu\d+)$`)
)

func (r *Request) addPip(p *Prefix, folder string, exists func(string) bool, replaced map[string]Distribution) {
	conda := map[string]bool{}
	for _, pkg := range p.Packages {
		for _, name := range pkg.Depends {
			if _, ok := replaced[name]; ok {
				conda[replaced[name].Name] = true
			}
		}
	}
	byName := map[string]Distribution{}
	var all []string
	requested := 0
	for _, d := range p.Distributions {
		// What a conda package needs, conda is asked for.
		if conda[d.Name] || slices.Contains(came, d.Name) {
			continue
		}
		if system := environment.ForeignTo(d.Name); system != "" {
			r.note("%s is a package for %s and is left out: the image is Linux", d.Name, system)
			continue
		}
		byName[d.Name] = d
		all = append(all, d.Name)
		if d.Requested {
			requested++
		}
	}
	// pip marks everything where a list of everything was installed.
	marked := len(all) < 20 || requested*10 < len(all)*9
	needed := environment.Needed(all, func(name string) bool {
		d := byName[name]
		return marked && d.Requested || d.Address != "" || d.Folder != "" || pipChosen(name)
	}, func(name string) []string { return byName[name].Requires })
	options := map[string]bool{}
	var lines []string
	for _, name := range needed {
		d := byName[name]
		line := r.pipLine(d, folder, exists)
		if line == "" {
			continue
		}
		lines = append(lines, line)
		if m := torchLocal.FindStringSubmatch(d.Version); m != nil && d.Address == "" && isTorch(d.Name) {
			options["--extra-index-url https://download.pytorch.org/whl/"+m[1]] = true
		} else if m := pygLocal.FindStringSubmatch(d.Version); m != nil && d.Address == "" {
			options[fmt.Sprintf("--find-links https://data.pyg.org/whl/torch-%s.%s.0+%s.html", m[1], m[2], m[3])] = true
		} else if _, local, ok := strings.Cut(d.Version, "+"); ok && d.Address == "" && d.Folder == "" {
			r.note("%s %s is a build (%s) of an index that the environment does not name; add --extra-index-url or --find-links for it", d.Name, d.Version, local)
		}
	}
	r.Pip = append(slices.Sorted(maps.Keys(options)), lines...)
}

// pipChosen tells of PyPI's names of chosen packages.
func pipChosen(name string) bool { return environment.Chosen(name) || name == "opencv-python" }

func isTorch(name string) bool {
	return slices.Contains([]string{"torch", "torchvision", "torchaudio", "torchtext", "triton", "xformers"}, name)
}

// pipLine is the requirement of one distribution, or "" where nothing can be
// said that another machine could follow.
func (r *Request) pipLine(d Distribution, folder string, exists func(string) bool) string {
	switch {
	case d.Folder != "" && exists(d.Folder):
		return r.pathLine(d, folder)
	case d.Folder != "" && d.Version == "":
		r.note("%s was installed from %s, which is gone; it is left out", d.Name, d.Folder)
		return ""
	case d.Folder != "":
		r.note("%s was installed from %s, which is gone; pip is asked for %s", d.Name, d.Folder, d.Version)
	case d.Address != "":
		return d.Name + " @ " + d.Address
	}
	return d.Name + "==" + d.Version
}

// pathLine names a folder or file of this machine by its path from folder.
func (r *Request) pathLine(d Distribution, folder string) string {
	line, err := filepath.Rel(folder, d.Folder)
	if err != nil {
		line = d.Folder
	}
	if line == ".." || strings.HasPrefix(line, "../") || filepath.IsAbs(line) {
		r.note("%s is installed from %s, outside of this folder; whoever builds the environment elsewhere needs it too", d.Name, d.Folder)
	} else if line != "." {
		line = "./" + line
	}
	if d.Editable {
		line = "-e " + line
	}
	return line
}
