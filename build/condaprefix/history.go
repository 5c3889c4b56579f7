package condaprefix

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/internal/boundedfile"
	"crun.dev/crun/internal/lazyregexp"
)

// specsLine is what conda and mamba write of a command's packages.
var specsLine = lazyregexp.New(`^#\s*(create|install|update|remove|neutered)\s+specs:\s*(.*)$`)

// readHistory reads what the person asked for, in the order of the commands.
func (p *Prefix) readHistory(fsys fs.FS) error {
	data, err := boundedfile.ReadFS(fsys, "conda-meta/history", maxRecord)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p.Requested = map[string]string{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if command, ok := strings.CutPrefix(line, "# cmd:"); ok {
			p.addChannels(strings.Fields(command))
		}
		m := specsLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for _, spec := range specList(m[2]) {
			name := specName(spec)
			switch {
			case name == "":
			case m[1] == "remove":
				delete(p.Requested, name)
			default:
				p.Requested[name] = spec
			}
		}
	}
	if len(p.Requested) == 0 {
		// Tools that write no history may note it in the records.
		for _, pkg := range p.Packages {
			if pkg.requested != "" {
				p.Requested[pkg.Name] = pkg.requested
			}
		}
	}
	// conda did not always write down what was removed.
	for name := range p.Requested {
		if _, ok := p.Package(name); !ok {
			delete(p.Requested, name)
		}
	}
	return nil
}

// specName gives the package that a spec of the history is about, or "".
func specName(text string) string {
	if spec, err := environment.ParseCondaSpec(text); err == nil && spec.URL == "" {
		return spec.Name
	}
	if strings.Contains(text, "/") {
		// A file: FOLDER/NAME-VERSION-BUILD.conda
		stem := text[strings.LastIndexByte(text, '/')+1:]
		if parts := strings.Split(stem, "-"); len(parts) >= 3 {
			return strings.ToLower(strings.Join(parts[:len(parts)-2], "-"))
		}
	}
	return strings.ToLower(dependsOn(text))
}

// specList takes a list apart as Python prints one (['a', "b[version='1']"]),
// or the comma between specs of old versions.
func specList(text string) []string {
	inner, ok := strings.CutPrefix(text, "[")
	if !ok {
		if strings.ContainsAny(text, "[<>") {
			return []string{text}
		}
		return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	}
	var list []string
	for {
		start := strings.IndexAny(inner, `'"`)
		if start < 0 {
			return list
		}
		quote, rest := inner[start], inner[start+1:]
		var item strings.Builder
		i := 0
		for ; i < len(rest) && rest[i] != quote; i++ {
			if rest[i] == '\\' && i+1 < len(rest) {
				i++
			}
			item.WriteByte(rest[i])
		}
		if i == len(rest) {
			return list
		}
		list = append(list, item.String())
		inner = rest[i+1:]
	}
}

// addChannels reads the channels of a command line of conda or mamba.
func (p *Prefix) addChannels(words []string) {
	for i, word := range words {
		var channel string
		switch {
		case (word == "-c" || word == "--channel") && i+1 < len(words):
			channel = words[i+1]
		case strings.HasPrefix(word, "--channel="):
			channel = strings.TrimPrefix(word, "--channel=")
		case strings.HasPrefix(word, "-c") && !strings.HasPrefix(word, "--"):
			channel = strings.TrimPrefix(word[2:], "=")
		}
		channel = channelName(strings.Trim(channel, `'"`))
		if channel != "" && !slices.Contains(p.Named, channel) {
			p.Named = append(p.Named, channel)
		}
	}
}
