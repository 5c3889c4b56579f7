package environment

import (
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/internal/yamlfile"
)

// Unsupported names each part of the file that crun cannot build yet, with its
// position and what to do; nil where there is none. The errors are
// *yamlfile.Error.
func (e *Environment) Unsupported() []error {
	var errs []error
	refuse := func(pos yamlfile.Position, format string, args ...any) {
		errs = append(errs, &yamlfile.Error{Position: pos, Message: Redact(fmt.Sprintf(format, args...)), Code: codeUnsupported})
	}
	for _, spec := range e.Conda {
		if spec.URL != "" {
			refuse(spec.Pos, `%q: a package by address is not supported yet; ask for it by name, "- CHANNEL::NAME=VERSION=BUILD"`, spec.URL)
		}
	}
	for _, section := range e.Pip {
		for _, r := range section.Requirements {
			if reason := r.unsupported(); reason != "" {
				refuse(r.Pos, "%q %s", r.Text, reason)
			}
		}
	}
	for _, c := range e.Credentials {
		if !e.isSource(c.URL) {
			refuse(c.Pos, "%q has a credential in the file, which crun hands to the build for channels and indexes alone; use an address that needs none", c.URL)
		}
	}
	return errs
}

// isSource tells whether the address is a channel or an index.
func (e *Environment) isSource(address string) bool {
	if slices.Contains(e.Channels, address) {
		return true
	}
	for _, section := range e.Pip {
		for _, r := range section.Requirements {
			if r.Text == "--index-url "+address || r.Text == "--extra-index-url "+address {
				return true
			}
		}
	}
	return false
}

// unsupported says why crun does not build the line yet, or "".
func (r PipRequirement) unsupported() string {
	switch r.Kind {
	case PipFile:
		return "is not supported yet; write the file's lines here"
	case PipConstraint:
		return "is not supported yet; write the versions behind the packages here"
	case PipEditable:
		if strings.Contains(r.Text, "://") {
			return `is not supported yet; take "-e" away: the repository is then installed as a package`
		}
		return "is not supported yet; take it out, and set PYTHONPATH to the folder when you run"
	case PipPath:
		return "is not supported yet: the build does not see the folder; publish a wheel and name its address"
	case PipVCS:
		if scheme := vcsScheme(r.Text); scheme != "git+https" {
			return "is not supported yet (" + scheme + "); use git+https"
		}
	case PipOption:
		name, value := cutOption(r.Text)
		if name == "--find-links" && !strings.Contains(value, "://") {
			return "is not supported yet: the build does not see the folder; name an address"
		}
		return pipOptions[name].refusal
	}
	return ""
}

// vcsScheme gives "git+https" of "git+https://..." and "name @ git+https://...".
func vcsScheme(text string) string {
	scheme, _, _ := strings.Cut(text, "://")
	return scheme[strings.LastIndexByte(scheme, ' ')+1:]
}
