package build

import (
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
	// other are options as uv takes them.
	other []string
}

// pipOptionsOf reads the options of the pip sections; environment.Unsupported
// has refused all that are not here.
func pipOptionsOf(env *environment.Environment) pipOptions {
	first := pypi
	var more, other []string
	for _, section := range env.Pip {
		for _, r := range section.Requirements {
			if r.Kind != environment.PipOption {
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
			}
		}
	}
	return pipOptions{indexes: append([]string{first}, more...), other: other}
}

// pipLines are the requirements of all pip sections, in the file's order.
func pipLines(env *environment.Environment) []string {
	var lines []string
	for _, section := range env.Pip {
		for _, r := range section.Requirements {
			if r.Kind != environment.PipOption {
				lines = append(lines, r.Text)
			}
		}
	}
	return lines
}
