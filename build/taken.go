package build

import (
	"net/url"
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
)

// taken says from which of the tools' own files a build for env takes
// something, and what; never a value.
func (s Sources) taken(env *environment.Environment) []string {
	notes := slices.Clone(s.Tools.Warnings)
	var found []string
	say := func(what string, from ...string) {
		if len(from) > 0 {
			found = append(found, what+" from "+strings.Join(from, ", "))
		}
	}
	without := s
	without.Tools.Conda.Alias, without.Tools.Conda.Channels, without.Tools.Conda.Multi = "", nil, nil
	var channels []string
	for _, name := range channelsOf(env) {
		if s.parts(name) != nil || s.channel(name) != without.channel(name) {
			channels = append(channels, name)
		}
	}
	if channels != nil {
		say("the place of "+strings.Join(channels, ", "), s.Tools.Conda.From...)
	}
	pip := s.Tools.Pip
	if len(pipPackages(env)) > 0 && (pip.Index != "" && s.PipIndex == "" || pip.Extra != nil && s.PipExtra == nil || pip.FindLinks != nil || pip.TrustedHosts != nil) {
		say("indexes of pip packages", pip.From...)
	}
	var unchecked []string
	for _, address := range s.addresses(env) {
		if host := hostOf(address); pip.Trusts(address) && !slices.Contains(unchecked, host) {
			unchecked = append(unchecked, host)
		}
	}
	if unchecked != nil {
		notes = append(notes, "for pip packages the certificate of "+strings.Join(unchecked, ", ")+" is not checked, as trusted-host in "+pip.TrustedFrom+" has it")
	}
	var machines []string
	for _, login := range s.logins(env) {
		if !slices.Contains(machines, login.Machine) {
			machines = append(machines, login.Machine)
		}
	}
	if machines != nil {
		say("the login at "+strings.Join(machines, ", "), s.Tools.LoginsFrom)
	}
	if s.ProxyFrom != "" {
		say("the proxy", s.ProxyFrom)
	}
	if found != nil {
		notes = append(notes, "taking "+strings.Join(found, "; "))
	}
	return notes
}

// hostOf is the server of an address, or "".
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}
