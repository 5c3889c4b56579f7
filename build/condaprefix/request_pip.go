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

// Builds of torch and of PyG's packages that PyPI has not say so in their
// version; see the selector of pytorch.org and the installation pages of PyG.
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
