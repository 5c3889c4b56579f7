package condaprefix

import (
	"maps"
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
)

var (
	// subdirs are the folders of a channel; see conda's KNOWN_SUBDIRS.
	subdirs = lazyregexp.New(`/(?:noarch|(?:linux|osx|win|emscripten|wasi|zos|freebsd)-[a-z0-9_]+)/?$`)
	// anaconda.org serves the channels that have a name. Mirrors of it keep
	// its paths below "anaconda/": cloud for anaconda.org, pkgs for Anaconda's
	// own; a mirror is a fact of a machine, and config.yaml names it.
	anacondaOrg   = lazyregexp.New(`^https?://conda\.anaconda\.org/(.+)$`)
	mirroredCloud = lazyregexp.New(`^https?://[^/]+/(?:[^/]+/)*anaconda/cloud/(.+)$`)
	anacondaPkgs  = lazyregexp.New(`^https?://(?:repo\.(?:anaconda\.com|continuum\.io)|[^/]+/(?:[^/]+/)*anaconda)/pkgs/([a-z0-9]+)$`)
)

// channelName gives the name that an environment file has for a channel, with
// or without its platform's folder: conda-forge, defaults, or an address
// without credentials.
func channelName(channel string) string {
	channel = environment.Bare(strings.TrimSpace(channel))
	channel = subdirs.ReplaceAllString(channel, "")
	channel = strings.TrimRight(channel, "/")
	for _, known := range []*lazyregexp.Regexp{anacondaOrg, mirroredCloud} {
		if m := known.FindStringSubmatch(channel); m != nil && names.IsChannel(m[1]) {
			return m[1]
		}
	}
	name := channel
	if m := anacondaPkgs.FindStringSubmatch(channel); m != nil {
		name = "pkgs/" + m[1]
	}
	switch name {
	case "main", "r", "msys2", "pkgs/main", "pkgs/r", "pkgs/msys2":
		return "defaults"
	}
	return name
}

// addChannels gives the channels that the packages came from, in the order in
// which conda should look: those that commands named, in their order; channels
// of one project; conda-forge; channels that build upon it; Anaconda's.
func (r *Request) addChannels(p *Prefix) {
	found, asked := map[string]bool{}, map[string]bool{}
	for _, pkg := range p.Packages {
		if pkg.Channel != "" && !strings.HasPrefix(pkg.Channel, "<") && !isLocal(pkg.Channel) {
			found[pkg.Channel] = true
			if slices.ContainsFunc(r.Conda, func(spec string) bool { return strings.HasPrefix(spec, pkg.Name+"=") }) {
				asked[pkg.Channel] = true
			}
		}
	}
	// What Anaconda's have, conda-forge has as well, and the builds of the two
	// are not made for each other.
	for _, channel := range anacondas {
		if found["conda-forge"] && !asked[channel] {
			delete(found, channel)
		}
	}
	r.Channels = slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		i, j := slices.Index(p.Named, a), slices.Index(p.Named, b)
		switch d := rankOf(a) - rankOf(b); {
		case i >= 0 && j >= 0:
			return i - j
		case i >= 0:
			return -1
		case j >= 0:
			return 1
		case d != 0:
			return d
		}
		return strings.Compare(a, b)
	})
}

var anacondas = []string{"defaults", "anaconda"}

func rankOf(channel string) int {
	switch {
	case slices.Contains(anacondas, channel):
		return 4
	case channel == "bioconda" || channel == "r":
		return 3
	case channel == "conda-forge":
		return 2
	}
	return 1
}

// isLocal tells whether a channel is a folder of this machine.
func isLocal(channel string) bool {
	return strings.HasPrefix(channel, "file:") || strings.HasPrefix(channel, "/") || channel == "local"
}
