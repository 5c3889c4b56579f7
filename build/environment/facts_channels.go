package environment

import (
	"net/url"
	"slices"
	"strings"

	"crun.dev/crun/internal/yamlfile"
)

// anacondaNames are the channels under Anaconda's terms of service: defaults
// is pkgs/main and pkgs/r, and anaconda.org/anaconda mirrors it
// (https://www.anaconda.com/legal; organisations of more than 200 people need
// a licence).
var anacondaNames = []string{"defaults", "main", "r", "msys2", "anaconda", "pkgs/main", "pkgs/r", "pkgs/msys2", "pkgs/pro", "pkgs/free"}

// isAnaconda tells whether a channel is under Anaconda's terms. A mirror of
// another host is not: its owner settles that.
func isAnaconda(channel string) bool {
	if slices.Contains(anacondaNames, channel) {
		return true
	}
	u, err := url.Parse(channel)
	return err == nil && u.Host == "repo.anaconda.com"
}

// channelAt finds where a channel is named first: under channels, or before
// "::" in a package.
func (p *parser) channelAt(name string) (yamlfile.Position, bool) {
	return p.channelWhere(func(channel string) bool {
		return channel == name || channel == "https://conda.anaconda.org/"+name
	})
}

func (p *parser) channelWhere(is func(string) bool) (yamlfile.Position, bool) {
	if i := slices.IndexFunc(p.env.Channels, is); i >= 0 {
		return p.channelPos[i], true
	}
	for _, spec := range p.env.Conda {
		if spec.Channel != "" && is(spec.Channel) {
			return spec.Pos, true
		}
	}
	return yamlfile.Position{}, false
}

// channelSlips are names that people write for a channel, and that are nobody's
// or somebody else's.
var channelSlips = map[string]string{
	"default":     "defaults",
	"condaforge":  "conda-forge",
	"conda_forge": "conda-forge",
}

// knownChannels are those that a name with one wrong letter was meant for.
var knownChannels = []string{"conda-forge", "pytorch", "nvidia", "bioconda", "defaults", "anaconda", "huggingface", "dglteam"}

// isOneEdit tells whether one letter too many, too few or wrong makes the
// difference between two words.
func isOneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if a == b || len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return a[i:] == b[i+1:] || len(a) == len(b) && a[i+1:] == b[i+1:]
}

// withoutPython are channels of anaconda.org that have no package python: what
// they publish is built against Anaconda's or conda-forge's.
var withoutPython = []string{
	"pytorch", "pytorch-lts", "pytorch-nightly", "pytorch-test", "pytorch3d", "fvcore", "iopath", "nvidia", "pyg",
	"bioconda", "rapidsai", "dglteam", "huggingface", "xformers",
}

func hasNoPython(channel string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(channel, "https://conda.anaconda.org/"), "/")
	return slices.Contains(withoutPython, name)
}

// haveOrHas is "pytorch has", or "pytorch, nvidia have".
func haveOrHas(channels []string) string {
	if len(channels) == 1 {
		return channels[0] + " has"
	}
	return strings.Join(channels, ", ") + " have"
}

// lintChannels looks at where the packages come from.
func (p *parser) lintChannels() {
	for i, channel := range p.env.Channels {
		name := channelSlips[channel]
		for _, known := range knownChannels {
			if isOneEdit(channel, known) {
				name = known
			}
		}
		if name != "" {
			at := p.channelPos[i]
			p.find("channel-name", SeverityWarning, at, `channel %q is most likely meant to be %s; write "- %s"`, channel, name, name).Fix = fix(false, p.replaceItem(at, channel, name))
		}
	}
	if python, _ := p.env.Python(); len(p.env.Channels) > 0 && python.Channel == "" && python.URL == "" &&
		!slices.ContainsFunc(p.env.Channels, func(channel string) bool { return !hasNoPython(channel) }) {
		last := len(p.env.Channels) - 1
		p.find("no-python-channel", SeverityWarning, p.channelPos[last],
			`%s no Python: conda searches its own channels (defaults) as well, crun those of the file alone; write "- conda-forge" below`,
			haveOrHas(p.env.Channels))
	}
	defaults, hasDefaults := p.channelWhere(isAnaconda)
	if hasDefaults {
		p.find("defaults-terms", SeverityNote, defaults,
			"this channel is repo.anaconda.com's (pkgs/main and pkgs/r), whose terms of service ask a licence of organisations of more than 200 people; conda-forge asks none")
	}
	if _, ok := p.channelAt("conda-forge"); ok && hasDefaults {
		p.find("mixed-channels", SeverityWarning, defaults,
			"conda-forge and Anaconda's defaults are both named; their builds are not made for each other: keep one of them")
	}
}
