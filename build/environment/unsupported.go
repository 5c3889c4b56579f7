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
	for _, section := range e.Pip {
		for _, r := range section.Requirements {
			if reason := r.unsupported(); reason != "" {
				refuse(r.Pos, "%q %s", r.Text, reason)
			}
		}
	}
	for _, c := range e.Credentials {
		if !e.isSource(c.URL) && !isHTTP(strings.TrimPrefix(c.URL, "git+")) {
			refuse(c.Pos, "%q has a credential in the file, which crun hands to the build for http:// and https:// alone; use an address that needs none", c.URL)
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

// unsupported says why crun does not build the line, or "".
func (r PipRequirement) unsupported() string {
	switch r.Kind {
	case PipFile, PipConstraint:
		return "cannot be read here"
	case PipVCS:
		return unsupportedScheme(r.Text)
	case PipEditable:
		if r.Path == "" {
			return unsupportedScheme(r.Text)
		}
	case PipOption:
		return pipOptions[optionName(r.Text)].refusal
	}
	return ""
}

// unsupportedScheme says why a repository cannot be fetched.
func unsupportedScheme(text string) string {
	switch scheme := vcsScheme(text); scheme {
	case "git+https", "git+http":
		return ""
	case "git+ssh":
		return "needs an SSH key, which a build has none of; write git+https:// where the server has it, or clone the repository into the project and name the folder"
	case "git+file", "git+git":
		return "is not supported (" + scheme + "); write git+https://, or name the folder of a clone in the project"
	default:
		program, _, _ := strings.Cut(scheme, "+")
		return "is not supported (" + program + "); of repositories crun fetches git+https alone: name a source archive, or the folder of a clone in the project"
	}
}

// vcsScheme gives "git+https" of "git+https://..." and "name @ git+https://...".
func vcsScheme(text string) string {
	scheme, _, _ := strings.Cut(text, "://")
	return scheme[strings.LastIndexByte(scheme, ' ')+1:]
}

func isHTTP(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://")
}
