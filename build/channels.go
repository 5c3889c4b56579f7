package build

import (
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
)

// anaconda.org serves every channel that has a name; Anaconda's own lie on a
// server of their own.
const (
	channelHost  = "https://conda.anaconda.org/"
	defaultsHost = "https://repo.anaconda.com/"
)

// pypi is the index that pip uses by itself. It goes by this name in locks and
// lists; its address is known to the installer, from pip.
const pypi = "pypi"

// channelsOf are the channels that env is solved with, first one first.
func channelsOf(env *environment.Environment) []string {
	var channels []string
	for _, channel := range env.Channels {
		if channel == "defaults" {
			// What conda means by the word, on Linux.
			channels = append(channels, "pkgs/main", "pkgs/r")
			continue
		}
		channels = append(channels, channel)
	}
	if len(channels) == 0 {
		return []string{"conda-forge"}
	}
	return channels
}

// channelURL is the public address of a channel; an address is its own.
func channelURL(channel string) string {
	switch {
	case strings.Contains(channel, "://"):
		return channel
	case strings.HasPrefix(channel, "pkgs/"):
		return defaultsHost + channel
	}
	return channelHost + channel
}

// pipOptions are what a file says about where pip packages come from.
type pipOptions struct {
	// indexes are addresses, or pypi; the one that comes first is the default.
	indexes []string
	// other are options as uv takes them, solve those that count for the choice
	// alone.
	other, solve []string
}

// pipOptionsOf reads the options of the pip sections; environment.Unsupported
// has refused all that are not here.
func pipOptionsOf(env *environment.Environment) pipOptions {
	first := pypi
	var more, other, solve []string
	for _, section := range env.Pip {
		for _, r := range section.Requirements {
			if r.Kind != environment.PipOption || r.Path != "" {
				continue
			}
			switch name, value, _ := strings.Cut(r.Text, " "); name {
			case "--index-url":
				first = value
			case "--extra-index-url":
				more = append(more, value)
			case "--find-links":
				other = append(other, "--find-links", value)
			case "--pre":
				other = append(other, "--prerelease", "allow")
			case "--no-binary", "--only-binary":
				for word := range strings.SplitSeq(value, ",") {
					other = append(other, name, word)
				}
			case "--no-index", "--no-build-isolation":
				if !slices.Contains(other, name) {
					other = append(other, name)
				}
			case "--no-deps":
				solve = []string{name}
			}
		}
	}
	return pipOptions{indexes: append([]string{first}, more...), other: other, solve: solve}
}

// pipPackages are the requirements of all pip sections, in the file's order.
func pipPackages(env *environment.Environment) []environment.PipRequirement {
	var packages []environment.PipRequirement
	for _, section := range env.Pip {
		for _, r := range section.Requirements {
			if r.Kind != environment.PipOption {
				packages = append(packages, r)
			}
		}
	}
	return packages
}

// packageLine is a requirement as uv takes it. A repository is written as PEP
// 508 has it, "clip[x] @ git+https://...": what pip says behind "#egg=" is an
// older way to say the name.
func packageLine(r environment.PipRequirement) string {
	text := strings.TrimPrefix(r.Text, "-e ")
	if !strings.Contains(text, "git+") || strings.Contains(text, " @ ") || r.Name == "" {
		return text
	}
	address, fragment, _ := strings.Cut(text, "#")
	var kept []string
	name := r.Name
	for part := range strings.SplitSeq(fragment, "&") {
		egg, isEgg := strings.CutPrefix(part, "egg=")
		switch {
		case isEgg:
			if i := strings.IndexByte(egg, '['); i >= 0 {
				name += egg[i:]
			}
		case part != "":
			kept = append(kept, part)
		}
	}
	if len(kept) > 0 {
		address += "#" + strings.Join(kept, "&")
	}
	return name + " @ " + address
}

// lineTexts are requirements as pip and uv read them.
func lineTexts(lines []environment.PipRequirement) []string {
	var texts []string
	for _, r := range lines {
		texts = append(texts, r.Text)
	}
	return texts
}
