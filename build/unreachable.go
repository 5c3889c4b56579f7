package build

import (
	"fmt"
	"strings"

	"crun.dev/crun/build/environment"
)

// unreachable is the error of a channel or an index that gives no packages. The
// text has public addresses; which of them a mirror stands for is added, by
// where it was written.
func (b *builder) unreachable(kind, text string) error {
	p, s := b.project, b.request.Sources
	what := "the packages of the channels cannot be listed"
	var mirrors []string
	add := func(name, key string) {
		if origin := s.Origin[key]; origin != "" {
			mirrors = append(mirrors, fmt.Sprintf("%s comes from the mirror that %s names", name, origin))
		}
	}
	if kind == "channel" {
		for _, name := range channelsOf(p.Environment) {
			for first := name; first != ""; first, _, _ = cutLast(first) {
				add(name, "mirrors.conda."+first)
			}
			if real := s.channel(name); s.Origin["mirrors.conda."+name] == "" && real != s.login(channelURL(name)) && len(s.Tools.Conda.From) > 0 {
				mirrors = append(mirrors, name+" comes from where "+strings.Join(s.Tools.Conda.From, ", ")+" says")
			}
		}
	} else {
		what = "the pip packages cannot be fetched"
		add(pypi, "mirrors.pip.index_url")
	}
	mirrors = append(mirrors, `"crun doctor --network" tries each source, and says what to write into which file`)
	return fmt.Errorf("%s: %s:\n%s\n%s", p.File, what, indent(environment.Redact(text)), strings.Join(mirrors, "\n"))
}

func cutLast(name string) (before, after string, found bool) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}
