package build

import (
	"encoding/json"
	"net"
	"net/url"
	"slices"
	"strings"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/environment"
	"crun.dev/crun/dockerfiles"
)

// Sources are the machine's facts about where a build fetches from. They are
// no part of the request: an image is the same wherever its files came from.
type Sources struct {
	// Conda has the address of a mirror by the channel's name, Apt by the
	// archive's (debian).
	Conda, Apt map[string]string
	// PipIndex is the address that serves PyPI, or "".
	PipIndex string
	// PipExtra are addresses of indexes that are asked too. They go by no name:
	// a lock says of their packages that they are the first index's.
	PipExtra []string
	// CA is a bundle of certificates in PEM, or nil.
	CA    []byte
	Proxy buildkit.Proxy
}

// sourcesFile is what the installer reads (dockerfiles/installer/common.py).
type sourcesFile struct {
	// Channels has for each public address those that serve it here, Indexes
	// the one that does for each address or name, ExtraIndexes the machine's own.
	Channels     map[string][]string `json:"channels"`
	Indexes      map[string]string   `json:"indexes"`
	ExtraIndexes []string            `json:"extra_indexes,omitempty"`
}

// secrets are the files that the steps of a build may read.
func (s Sources) secrets(env *environment.Environment) map[string][]byte {
	file := sourcesFile{Channels: map[string][]string{}, Indexes: map[string]string{}, ExtraIndexes: s.PipExtra}
	for _, channel := range channelsOf(env) {
		if mirror := s.Conda[channel]; mirror != "" {
			file.Channels[channelURL(channel)] = []string{strings.TrimRight(mirror, "/")}
		}
	}
	if s.PipIndex != "" {
		file.Indexes[pypi] = s.PipIndex
	}
	// What the environment file says with a password is fetched with it, and
	// known without it.
	for _, credential := range env.Credentials {
		if slices.Contains(env.Channels, credential.URL) {
			file.Channels[credential.URL] = []string{credential.Reveal()}
		} else {
			file.Indexes[credential.URL] = credential.Reveal()
		}
	}
	data, err := json.Marshal(file)
	if err != nil {
		panic(err) // maps of strings
	}
	secrets := map[string][]byte{dockerfiles.SecretSources: data}
	if len(s.CA) > 0 {
		secrets[dockerfiles.SecretCA] = s.CA
	}
	if s.PipIndex != "" {
		secrets[dockerfiles.SecretPipConf] = []byte("[global]\nindex-url = " + s.PipIndex + "\n")
	}
	if mirror := s.Apt["debian"]; mirror != "" {
		secrets[dockerfiles.SecretApt] = []byte("deb " + mirror + " CODENAME main\n")
	}
	return secrets
}

// needsHostNetwork tells whether an address can be reached from the host of
// the build alone.
func (s Sources) needsHostNetwork(env *environment.Environment) bool {
	addresses := []string{s.PipIndex, s.Proxy.HTTP, s.Proxy.HTTPS, s.Apt["debian"]}
	for _, channel := range channelsOf(env) {
		if mirror := s.Conda[channel]; mirror != "" {
			addresses = append(addresses, mirror)
		} else {
			addresses = append(addresses, channelURL(channel))
		}
	}
	addresses = append(addresses, s.PipExtra...)
	addresses = append(addresses, pipOptionsOf(env).indexes...)
	return slices.ContainsFunc(addresses, isLoopback)
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
