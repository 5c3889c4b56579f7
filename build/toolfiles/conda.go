package toolfiles

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"crun.dev/crun/internal/lazyregexp"
)

// conda reads .condarc in the places of conda's own documentation ("Searching
// for .condarc"), far to near.
func (r *reader) conda() {
	if given, ok := r.Given[Condarc]; ok {
		r.condarc("--secret id="+Condarc, string(given))
		return
	}
	var folders []string
	folders = append(folders, "/etc/conda", "/var/lib/conda")
	root := r.Getenv("CONDA_ROOT")
	if exe := r.Getenv("CONDA_EXE"); root == "" && filepath.IsAbs(exe) {
		root = filepath.Dir(filepath.Dir(exe))
	}
	folders = append(folders, root, r.config("conda"), r.home(".config", "conda"), r.home(".conda"))
	seen := map[string]bool{"": true}
	read := func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		if text, ok := r.file(path); ok {
			r.condarc(path, text)
		}
	}
	folder := func(dir string) {
		if dir == "" {
			return
		}
		read(filepath.Join(dir, ".condarc"))
		read(filepath.Join(dir, "condarc"))
		for _, name := range r.List(filepath.Join(dir, "condarc.d")) {
			if strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".yaml") {
				read(filepath.Join(dir, "condarc.d", name))
			}
		}
	}
	for _, dir := range folders {
		folder(dir)
	}
	read(r.home(".condarc"))
	folder(r.Getenv("CONDA_PREFIX"))
	if path := r.Getenv("CONDARC"); path != "" {
		read(path)
	}
	c := &r.files.Conda
	if alias := r.Getenv("CONDA_CHANNEL_ALIAS"); alias != "" && r.address("CONDA_CHANNEL_ALIAS", alias) {
		c.Alias = alias
		took(&c.From, "CONDA_CHANNEL_ALIAS")
	}
	if verify := r.Getenv("CONDA_SSL_VERIFY"); verify != "" {
		r.verify("CONDA_SSL_VERIFY", verify)
	}
}

// condarc takes from one file what says where packages come from; all else in
// it is about conda's own doing.
func (r *reader) condarc(path, text string) {
	var content map[string]yaml.Node
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		// The parser's own words may hold what stands in the file.
		r.warn(path + " is no YAML mapping, so it is not followed")
		return
	}
	c := &r.files.Conda
	took := func() { took(&c.From, path) }
	address := func(key string, node yaml.Node) string {
		var text string
		if node.Decode(&text) != nil {
			return ""
		}
		text = strings.TrimRight(r.expand(text), "/")
		if !r.address(path+": "+key, text) {
			return ""
		}
		return text
	}
	for _, key := range slices.Sorted(maps.Keys(content)) {
		node := content[key]
		switch key {
		case "channel_alias":
			if alias := address(key, node); alias != "" {
				c.Alias = alias
				took()
			}
		case "custom_channels":
			var entries map[string]yaml.Node
			_ = node.Decode(&entries)
			for _, name := range slices.Sorted(maps.Keys(entries)) {
				node := entries[name]
				if place := address(key+"."+name, node); place != "" {
					if c.Channels == nil {
						c.Channels = map[string]string{}
					}
					c.Channels[strings.Trim(name, "/")] = place
					took()
				}
			}
		case "default_channels":
			r.multi("defaults", node, took)
		case "custom_multichannels":
			var entries map[string]yaml.Node
			_ = node.Decode(&entries)
			for name, node := range entries {
				r.multi(name, node, took)
			}
		case "ssl_verify":
			var text string
			if node.Decode(&text) == nil {
				r.verify(path, r.expand(text))
			}
		case "proxy_servers":
			var servers map[string]string
			_ = node.Decode(&servers)
			for _, proxy := range []struct {
				scheme string
				to     *string
			}{{"http", &c.HTTP}, {"https", &c.HTTPS}} {
				if server := r.expand(servers[proxy.scheme]); server != "" {
					*proxy.to, c.ProxyFrom = server, path
				}
			}
		}
	}
}

// multi reads what one name stands for.
func (r *reader) multi(name string, node yaml.Node, took func()) {
	var entries []string
	if node.Decode(&entries) != nil || len(entries) == 0 {
		return
	}
	for i, entry := range entries {
		entries[i] = strings.TrimRight(r.expand(entry), "/")
	}
	if r.files.Conda.Multi == nil {
		r.files.Conda.Multi = map[string][]string{}
	}
	r.files.Conda.Multi[name] = entries
	took()
}

// verify follows a bundle, and no wish to trust everybody.
func (r *reader) verify(from, value string) {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1", "truststore", "<truststore>":
		return
	case "false", "no", "off", "0":
		r.warn(from + " turns certificates off (ssl_verify), which a build does not follow: name the server's authority as ca in config.yaml")
		return
	}
	if bundle := r.path(value); bundle != "" {
		r.files.Conda.Bundle = bundle
	}
}

// address tells whether text is an address to fetch from; where it is not,
// that is said without it.
func (r *reader) address(from, text string) bool {
	if strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://") {
		if !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
			return true
		}
	}
	r.warn(from + " is no address that starts with https:// or http://, so it is not followed")
	return false
}

var variable = lazyregexp.New(`\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))`)

// expand puts in variables as conda does; one that is not set stays.
func (r *reader) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(match string) string {
		if value := r.Getenv(strings.Trim(match, "${}")); value != "" {
			return value
		}
		return match
	})
}
