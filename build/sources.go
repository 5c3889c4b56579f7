package build

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/toolfiles"
	"crun.dev/crun/dockerfiles"
)

// Sources are the machine's facts about where a build fetches from. They are
// no part of the request: an image is the same wherever its files came from.
type Sources struct {
	// Conda has the address of a mirror by the channel's name, Apt by the
	// archive's (debian, debian-security, ubuntu).
	Conda, Apt map[string]string
	// PipIndex is the address that serves PyPI, or "".
	PipIndex string
	// PipExtra are addresses of indexes that are asked too. They go by no name:
	// a lock says of their packages that they are the first index's.
	PipExtra []string
	// URLs has for the beginnings of addresses those to put in their place.
	URLs map[string]string
	// Registries has for registries of images, or repositories below one, what
	// to ask instead: host[:port][/path]. DockerHub is the one that names without
	// a host mean.
	Registries map[string]string
	// CA is a bundle of certificates in PEM, or nil.
	CA    []byte
	Proxy buildkit.Proxy
	// Patience is how long a server may send nothing, in seconds; 0 means 60.
	Patience int
	// Origin says where each value comes from, by its key in config.yaml.
	Origin map[string]string
	// ProxyFrom is the file of a tool that Proxy was taken from, or "".
	ProxyFrom string
	// Tools is what conda's, pip's and curl's own files say. The fields above
	// come before them.
	Tools toolfiles.Files
	// Terminal tells that what is done is shown on a terminal, where a bar can
	// write over itself.
	Terminal bool
}

// DockerHub is what the registry of names without a host is called in
// Sources.Registries.
const DockerHub = "docker-hub"

// sourcesFile is what the installer reads (dockerfiles/installer/common.py).
type sourcesFile struct {
	// Channels has for each public address those that serve it here, Indexes
	// the one that does for each address or name, ExtraIndexes the machine's own.
	Channels     map[string][]string `json:"channels"`
	Indexes      map[string]string   `json:"indexes"`
	ExtraIndexes []string            `json:"extra_indexes,omitempty"`
	Patience     int                 `json:"patience,omitempty"`
	// Expand has the names and addresses of channels that one name stands for.
	Expand map[string][][2]string `json:"expand,omitempty"`
	// FindLinks are pages of links of the machine's own.
	FindLinks []string `json:"find_links,omitempty"`
	// TrustedHosts are servers whose certificates pip does not check.
	TrustedHosts []string `json:"trusted_hosts,omitempty"`
	// Logins are those of .netrc, of servers that the build may ask.
	Logins []toolfiles.Login `json:"logins,omitempty"`
	// Git has the header of a request for addresses of repositories.
	Git map[string]string `json:"git,omitempty"`
	// Hidden are texts that no message may show.
	Hidden []string `json:"hidden,omitempty"`
	// Progress is tty or "".
	Progress string `json:"progress,omitempty"`
}

// file makes what the steps of a build for env are told.
func (s Sources) file(env *environment.Environment) sourcesFile {
	file := sourcesFile{
		Channels: map[string][]string{}, Indexes: map[string]string{}, FindLinks: s.Tools.Pip.FindLinks,
		TrustedHosts: s.Tools.Pip.TrustedHosts, Logins: s.logins(env), Patience: s.Patience,
	}
	channel := func(name string) {
		if real := s.channel(name); real != channelURL(name) {
			file.Channels[channelURL(name)] = []string{real}
		}
	}
	for _, name := range fileChannels(env) {
		channel(name)
	}
	for _, name := range channelsOf(env) {
		parts := s.parts(name)
		if parts == nil {
			channel(name)
			continue
		}
		if file.Expand == nil {
			file.Expand = map[string][][2]string{}
		}
		for _, part := range parts {
			// Known without its password, fetched with it.
			public := environment.Bare(part)
			if address := channelURL(public); part != public {
				file.Channels[address] = []string{part}
			} else {
				channel(public)
			}
			file.Expand[name] = append(file.Expand[name], [2]string{public, channelURL(public)})
		}
	}
	if index := s.index(); index != "" {
		file.Indexes[pypi] = index
	}
	for _, address := range s.extraIndexes() {
		file.ExtraIndexes = append(file.ExtraIndexes, s.real(address))
	}
	maps.Copy(file.Indexes, s.URLs)
	// What the environment file says with a password is fetched with it, and
	// known without it.
	for _, credential := range env.Credentials {
		switch {
		case slices.Contains(env.Channels, credential.URL):
			file.Channels[credential.URL] = []string{credential.Reveal()}
		case slices.Contains(env.PackageURLs(), credential.URL):
			public, _, _ := environment.SplitPackageURL(credential.URL)
			private, _, _ := environment.SplitPackageURL(credential.Reveal())
			file.Channels[public] = []string{private}
		case strings.HasPrefix(credential.URL, "git+http"):
			// git shows addresses in the list of processes, headers not.
			if repository, header := repositoryLogin(credential.Reveal()); header != "" {
				if file.Git == nil {
					file.Git = map[string]string{}
				}
				file.Git[repository] = header
			}
		default:
			file.Indexes[credential.URL] = credential.Reveal()
		}
	}
	if s.Terminal {
		file.Progress = "tty"
	}
	file.Hidden = s.hidden(env, file)
	return file
}

// secrets are the files that the steps of a build may read.
func (s Sources) secrets(env *environment.Environment) map[string][]byte {
	data, err := json.Marshal(s.file(env))
	if err != nil {
		panic(err) // maps of strings
	}
	secrets := map[string][]byte{dockerfiles.SecretSources: data}
	if len(s.CA) > 0 {
		secrets[dockerfiles.SecretCA] = s.CA
	}
	if conf := s.pipConf(); conf != "" {
		secrets[dockerfiles.SecretPipConf] = []byte(conf)
	}
	if len(s.Apt) > 0 {
		secrets[dockerfiles.SecretApt] = []byte(dockerfiles.AptMirrors(s.Apt))
	}
	return secrets
}

// pipConf is pip's configuration for the toolbox.
func (s Sources) pipConf() string {
	var lines []string
	if index := s.index(); index != "" {
		lines = append(lines, "index-url = "+index)
	}
	if extra := s.extraIndexes(); len(extra) > 0 {
		line := "extra-index-url ="
		for _, address := range extra {
			line += "\n    " + s.real(address)
		}
		lines = append(lines, line)
	}
	hosts := slices.Clone(s.Tools.Pip.TrustedHosts)
	for _, address := range append([]string{s.index()}, s.extraIndexes()...) {
		// pip takes nothing from a server without TLS that nobody has told it to
		// trust; who names one here has.
		if u, err := url.Parse(s.real(address)); err == nil && u.Scheme == "http" && !slices.Contains(hosts, u.Host) {
			hosts = append(hosts, u.Host)
		}
	}
	if len(hosts) > 0 {
		lines = append(lines, "trusted-host = "+strings.Join(hosts, "\n    "))
	}
	if lines == nil {
		return ""
	}
	return "[global]\n" + strings.Join(lines, "\n") + "\n"
}

// index is the address that serves PyPI here, or "".
func (s Sources) index() string {
	if s.PipIndex != "" {
		return s.login(s.PipIndex)
	}
	return s.login(s.Tools.Pip.Index)
}

// extraIndexes are the machine's own.
func (s Sources) extraIndexes() []string {
	if s.PipExtra != nil {
		return s.PipExtra
	}
	return s.Tools.Pip.Extra
}

// channel is the address that serves the channel called name here. What
// config.yaml says comes before conda's own files, what is about the channel
// before what is about all.
func (s Sources) channel(name string) string {
	address := channelURL(name)
	if place, rest, ok := longest(s.Conda, name); ok {
		return s.login(strings.TrimRight(place, "/") + rest)
	}
	if replaced := s.replaced(address); replaced != address {
		return s.login(replaced)
	}
	tools := s.Tools.Conda
	switch {
	case strings.Contains(name, "://"):
		return s.login(address)
	case len(tools.Multi[name]) == 1 && strings.Contains(tools.Multi[name][0], "://"):
		return s.login(tools.Multi[name][0])
	}
	if place, _, ok := longest(tools.Channels, name); ok {
		return s.login(place + "/" + name)
	}
	if strings.HasPrefix(name, "pkgs/") {
		for _, entry := range tools.Multi["defaults"] {
			if strings.Contains(entry, "://") && strings.HasSuffix(entry, "/"+name) {
				return s.login(entry)
			}
		}
	} else if tools.Alias != "" {
		return s.login(tools.Alias + "/" + name)
	}
	return s.login(address)
}

// parts are the channels that name stands for, nil where it stands for itself.
func (s Sources) parts(name string) []string {
	if _, _, ok := longest(s.Conda, name); ok || name == "defaults" || len(s.Tools.Conda.Multi[name]) < 2 {
		return nil
	}
	return s.Tools.Conda.Multi[name]
}

// longest finds the entry of a name or of its first parts; rest is what
// follows, with its "/".
func longest(entries map[string]string, name string) (value, rest string, ok bool) {
	for first := name; ; {
		if value, ok = entries[first]; ok {
			return value, name[len(first):], true
		}
		i := strings.LastIndexByte(first, '/')
		if i < 0 {
			return "", "", false
		}
		first = first[:i]
	}
}

// replaced puts the longest of URLs that address begins with in place.
func (s Sources) replaced(address string) string {
	best := ""
	for prefix := range s.URLs {
		if strings.HasPrefix(address, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	if best == "" {
		return address
	}
	return s.URLs[best] + address[len(best):]
}

// real is the address to fetch from, with a password where .netrc has one.
func (s Sources) real(address string) string { return s.login(s.replaced(address)) }

// login adds .netrc's user and password of the server to an address that has
// none.
func (s Sources) login(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Hostname() == "" || strings.Contains(u.Path, "/t/") {
		return address
	}
	for _, login := range s.Tools.Logins {
		if login.Machine == strings.ToLower(u.Hostname()) {
			u.User = url.UserPassword(login.Login, login.Password)
			return u.String()
		}
	}
	return address
}

// logins are those of .netrc for the servers that a build for env may ask: a
// package's own program gets to see no others.
func (s Sources) logins(env *environment.Environment) []toolfiles.Login {
	hosts := map[string]bool{}
	for _, address := range s.addresses(env) {
		hosts[hostOf(address)] = true
	}
	var logins []toolfiles.Login
	for _, login := range s.Tools.Logins {
		if hosts[login.Machine] {
			logins = append(logins, login)
		}
	}
	return logins
}

// addresses are all that a build for env may ask, but the image registry's.
func (s Sources) addresses(env *environment.Environment) []string {
	addresses := []string{s.index()}
	addresses = append(addresses, slices.Sorted(maps.Values(s.Apt))...)
	for _, name := range fileChannels(env) {
		addresses = append(addresses, s.channel(name))
	}
	for _, name := range channelsOf(env) {
		if parts := s.parts(name); parts != nil {
			for _, part := range parts {
				addresses = append(addresses, s.channel(part))
			}
			continue
		}
		addresses = append(addresses, s.channel(name))
	}
	addresses = append(addresses, s.extraIndexes()...)
	addresses = append(addresses, s.Tools.Pip.FindLinks...)
	options := pipOptionsOf(env)
	texts := slices.Concat(options.indexes, options.other)
	for _, r := range pipPackages(env) {
		texts = append(texts, r.Text)
	}
	for _, text := range texts {
		for _, word := range strings.Fields(text) {
			if i := strings.Index(word, "http"); i >= 0 && strings.Contains(word[i:], "://") {
				addresses = append(addresses, s.replaced(word[i:]))
			}
		}
	}
	return addresses
}

// needsHostNetwork tells whether an address can be reached from the host of
// the build alone.
func (s Sources) needsHostNetwork(env *environment.Environment) bool {
	return slices.ContainsFunc(append(s.addresses(env), s.Proxy.HTTP, s.Proxy.HTTPS), isLoopback)
}

func isLoopback(address string) bool {
	if !strings.Contains(address, "://") {
		address = "http://" + address // a proxy may come without a scheme
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// repositoryLogin is, for the address of a git repository with a user and a
// password, the address that git knows it by and the header that says them.
func repositoryLogin(address string) (repository, header string) {
	u, err := url.Parse(strings.TrimPrefix(address, "git+"))
	if err != nil || u.User == nil {
		return "", ""
	}
	password, _ := u.User.Password()
	path, _, _ := strings.Cut(u.Path, "@") // the revision
	return u.Scheme + "://" + u.Host + path,
		"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
}

// hidden are the passwords and tokens of what a build is told, as they may
// stand in a message.
func (s Sources) hidden(env *environment.Environment, file sourcesFile) []string {
	var texts []string
	add := func(text string) {
		// One of fewer letters would take words of every message with it.
		if len(text) >= 4 && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	addresses := append([]string{s.Proxy.HTTP, s.Proxy.HTTPS}, s.addresses(env)...)
	addresses = append(addresses, file.ExtraIndexes...)
	addresses = append(addresses, file.FindLinks...)
	addresses = append(addresses, slices.Sorted(maps.Values(file.Indexes))...)
	for _, credential := range env.Credentials {
		addresses = append(addresses, credential.Reveal())
	}
	for _, address := range addresses {
		for _, secret := range environment.Secrets(address) {
			add(secret)
		}
	}
	for _, login := range file.Logins {
		add(login.Password)
		add(url.QueryEscape(login.Password))
		add(strings.TrimPrefix(url.UserPassword("", login.Password).String(), ":"))
	}
	for _, header := range file.Git {
		add(strings.TrimPrefix(header, "Authorization: Basic "))
	}
	// The longest first: one may be part of another.
	slices.SortStableFunc(texts, func(a, b string) int { return len(b) - len(a) })
	return texts
}
