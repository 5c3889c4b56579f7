package environment

import (
	"strings"
	"unicode"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

// maxName bounds names, in bytes: the prefix that conda writes into binaries
// has room for 255, /opt/conda/envs/ included, and an image name as much.
const maxName = 128

// fallbackName is used where a name holds no letter that may be used.
const fallbackName = "env"

// ImageName is the environment's name as a part of an image reference: lower
// case, [a-z0-9] with single separators, never empty.
func (e *Environment) ImageName() string {
	name := strings.ToLower(safeName(e.Name))
	name = imageSeparators.ReplaceAllStringFunc(name, func(run string) string { return run[:1] })
	name = strings.Trim(name, "._-")
	if name == "" {
		return fallbackName
	}
	return name
}

// imageSeparators are the runs that an image reference does not take; see
// https://github.com/distribution/reference, path-component.
var imageSeparators = lazyregexp.New(`[._-]{2,}`)

// EnvDir is the folder of the environment in the image: conda's root for base
// (which conda also calls root), else a folder of [A-Za-z0-9._-] below envs.
func (e *Environment) EnvDir() string {
	if e.Name == "base" || e.Name == "root" {
		return "/opt/conda"
	}
	return "/opt/conda/envs/" + safeName(e.Name)
}

var unsafeName = lazyregexp.New(`[^A-Za-z0-9._-]+`)

// safeName replaces what is neither a letter, a digit nor one of "._-".
func safeName(name string) string {
	name = strings.TrimLeft(unsafeName.ReplaceAllString(name, "-"), "-.")
	name = strings.TrimRight(name, "-.")
	if len(name) > maxName {
		name = strings.TrimRight(name[:maxName], "-.")
	}
	if name == "" {
		return fallbackName
	}
	return name
}

// checkName refuses names that cannot be one folder.
func checkName(name string, pos yamlfile.Position) error {
	switch {
	case name == "." || name == "..":
		return yamlfile.Errorf(pos, "name %q is not allowed; write a word, such as name: train", name)
	case strings.Contains(name, "/"):
		return yamlfile.Errorf(pos, `name %q holds a "/", but an environment is one folder; write a word, such as name: train`, name)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return yamlfile.Errorf(pos, "name %+q holds a character that cannot be shown; write a word, such as name: train", name)
	case len(name) > maxName:
		return yamlfile.Errorf(pos, "name is %d bytes long; at most %d are allowed", len(name), maxName)
	}
	return nil
}
