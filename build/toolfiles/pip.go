package toolfiles

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
)

// pip reads pip.conf in the places of pip's own documentation ("Configuration
// files"), far to near, then its variables.
func (r *reader) pip() {
	values := map[string]string{}
	from := map[string]string{}
	if given, ok := r.Given[PipConf]; ok {
		pipConf(string(given), values)
		for key := range values {
			from[key] = "--secret id=" + PipConf
		}
	} else {
		for _, path := range r.pipFiles() {
			text, ok := r.file(path)
			if !ok {
				continue
			}
			found := map[string]string{}
			pipConf(text, found)
			for key, value := range found {
				values[key], from[key] = value, path
			}
		}
		for _, key := range pipKeys {
			name := "PIP_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
			if value := r.Getenv(name); value != "" {
				values[key], from[key] = value, name
			}
		}
	}
	p := &r.files.Pip
	for _, key := range pipKeys {
		took := func() { took(&p.From, from[key]) }
		var addresses []string
		for _, word := range strings.Fields(values[key]) {
			if strings.HasPrefix(word, "https://") || strings.HasPrefix(word, "http://") {
				addresses = append(addresses, word)
			}
		}
		switch {
		case values[key] == "":
		case key == "index-url" && len(addresses) > 0:
			p.Index = addresses[0]
			took()
		case key == "extra-index-url" && len(addresses) > 0:
			p.Extra = addresses
			took()
		case key == "find-links" && len(addresses) > 0:
			// A folder of this machine is not there in a build.
			p.FindLinks = addresses
			took()
		case key == "trusted-host":
			for _, host := range strings.Fields(values[key]) {
				if !trustedHost.MatchString(host) {
					r.files.Warnings = append(r.files.Warnings, "trusted-host in "+from[key]+" is no server's name with a port perhaps, and not followed: its certificate is checked")
					continue
				}
				p.TrustedHosts = append(p.TrustedHosts, host)
			}
			p.TrustedFrom = from[key]
			took()
		case key == "cert":
			p.Bundle = r.path(values[key])
		case key == "proxy":
			p.Proxy, p.ProxyFrom = values[key], from[key]
		}
	}
}

// trustedHost is what both pip and uv take; uv reads "*" as all servers, which
// pip does not.
var trustedHost = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*(?::[0-9]{1,5})?$`)

// Trusts tells whether the certificate of an address is not to be checked.
func (p Pip) Trusts(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" {
		return false
	}
	port := cmp.Or(u.Port(), "443")
	return slices.ContainsFunc(p.TrustedHosts, func(trusted string) bool {
		host, its, hasPort := strings.Cut(strings.ToLower(trusted), ":")
		return host == strings.ToLower(u.Hostname()) && (!hasPort || its == port)
	})
}

// pipKeys are the settings that say where packages come from.
var pipKeys = []string{"index-url", "extra-index-url", "find-links", "trusted-host", "cert", "proxy"}

func (r *reader) pipFiles() []string {
	alone := r.Getenv("PIP_CONFIG_FILE")
	if alone == "/dev/null" {
		return nil // pip's way to say none at all
	}
	var paths []string
	dirs := r.Getenv("XDG_CONFIG_DIRS")
	if dirs == "" {
		dirs = "/etc/xdg"
	}
	for _, dir := range filepath.SplitList(dirs) {
		paths = append(paths, filepath.Join(dir, "pip", "pip.conf"))
	}
	paths = append(paths, "/etc/pip.conf", r.home(".pip", "pip.conf"), r.config("pip", "pip.conf"))
	for _, prefix := range []string{r.Getenv("CONDA_PREFIX"), r.Getenv("VIRTUAL_ENV")} {
		if prefix != "" {
			paths = append(paths, filepath.Join(prefix, "pip.conf"))
		}
	}
	return append(paths, alone)
}

// pipConf reads the sections that pip install heeds; install's come before the
// global ones. Values may go on in lines that are indented.
func pipConf(text string, values map[string]string) {
	sections := map[string]map[string]string{"global": {}, "install": {}}
	var section map[string]string
	key := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case line[0] == ' ' || line[0] == '\t':
			if section != nil && key != "" {
				section[key] = strings.TrimSpace(section[key] + "\n" + trimmed)
			}
		case trimmed[0] == '[':
			section, key = sections[strings.ToLower(strings.Trim(trimmed, "[]"))], ""
		default:
			i := strings.IndexAny(trimmed, "=:")
			if i < 0 || section == nil {
				key = ""
				continue
			}
			key = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(trimmed[:i])), "_", "-")
			section[key] = strings.TrimSpace(trimmed[i+1:])
		}
	}
	for _, name := range []string{"global", "install"} {
		for key, value := range sections[name] {
			if value != "" {
				values[key] = value
			}
		}
	}
}
