package environment

import (
	"errors"
	"strings"

	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/yamlfile"
	"gopkg.in/yaml.v3"
)

func (p *parser) channels(entry *yamlfile.Pair, root *yaml.Node) {
	for _, item := range p.listItems(entry, "channels", "=", "conda-forge") {
		at := p.doc.At(item)
		node := yamlfile.Resolve(item)
		if node.Kind != yaml.ScalarNode || yamlfile.IsNull(node) {
			p.errorf(at, `a channel is %s; allowed are a name and an address ("- conda-forge")`, yamlfile.Kind(node))
			continue
		}
		if p.gluedDash(node, false) {
			continue
		}
		if len(node.Value) > maxItem {
			p.errorf(at, "the channel is %d bytes long; at most %d are allowed", len(node.Value), maxItem)
			continue
		}
		text := strings.TrimSpace(node.Value)
		if p.lookalike(text, at) {
			continue
		}
		if text == "nodefaults" {
			continue
		}
		channel, err := parseChannel(text)
		if err != nil {
			p.errorf(at, "channel %s %v", quote(text), err)
			continue
		}
		p.env.Channels = append(p.env.Channels, p.env.takeCredential(channel, at))
		p.channelPos = append(p.channelPos, at)
	}
	if len(p.env.Channels) == 0 {
		at := p.doc.At(root)
		if entry != nil {
			at = p.doc.At(entry.Key)
		}
		p.find("no-channels", SeverityNote, at, `no channel is given; conda-forge is used (say so with "channels: [conda-forge]")`)
	}
}

// parseChannel checks a channel and gives its one form, without a last slash.
func parseChannel(text string) (string, error) {
	if len(text) > 1 {
		text = strings.TrimRight(text, "/")
	}
	if !strings.Contains(text, "://") {
		switch {
		case variable.MatchString(text):
			return "", errVariable
		case strings.HasPrefix(text, "-"):
			return "", errors.New(`is an option; write the channel alone ("- conda-forge")`)
		case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "."), strings.HasPrefix(text, "~"):
			return "", errors.New("is a folder of this machine, which a build does not see; serve it over http, or copy it and name it file:///PATH of the base image")
		case !names.IsChannel(text):
			return "", errors.New("is neither a name (letters, digits, . _ - /) nor an address (https://HOST/PATH)")
		}
		return text, nil
	}
	if err := checkURL(text, "https", "http", "file"); err != nil {
		return "", err
	}
	if strings.ContainsAny(hide(text, ""), "?#") {
		return "", errors.New(`holds "?" or "#", but a channel is a folder of a server`)
	}
	return text, nil
}
