package dockerfiles

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"unicode"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
)

// Patterns of what stands in a Dockerfile without quotes. They are narrower
// than what engines take: whoever needs more gets an error, nobody gets a
// Dockerfile that means something else.
var (
	referencePattern = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$`)
	directoryPattern = lazyregexp.New(`^(/[A-Za-z0-9._+-]+)+$`)
	filePattern      = lazyregexp.New(`^[a-z0-9][a-z0-9.-]*$`)
	variablePattern  = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	labelPattern     = lazyregexp.New(`^[a-z0-9][a-z0-9.-]*$`)
	titlePattern     = lazyregexp.New(`^[A-Za-z0-9 ,.:/()_+-]+$`)
	userPattern      = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(?::[A-Za-z0-9_][A-Za-z0-9_.-]*)?$`)
)

func bare(what string, pattern *lazyregexp.Regexp) func(string) (string, error) {
	return func(text string) (string, error) {
		if !pattern.MatchString(text) {
			return "", fmt.Errorf("%q cannot be a %s in a Dockerfile", text, what)
		}
		return text, nil
	}
}

var (
	reference = bare("reference of an image", referencePattern)
	directory = bare("folder", directoryPattern)
	file      = bare("file name", filePattern)
	variable  = bare("variable's name", variablePattern)
	user      = bare("user", userPattern)
	label     = bare("label's name", labelPattern)
)

// cacheDomain is the end of the id of a cache mount.
func cacheDomain(domain string) (string, error) {
	if domain == "" {
		return "", nil
	}
	if !names.IsCacheDomain(domain) {
		return "", fmt.Errorf("%q cannot be a cache domain in a Dockerfile", domain)
	}
	return "-" + domain, nil
}

// title quotes a step's title for the shell.
func title(text string) (string, error) {
	if !titlePattern.MatchString(text) {
		return "", fmt.Errorf("%q cannot be a step's title in a Dockerfile", text)
	}
	return "'" + text + "'", nil
}

// value quotes the value of a variable or label: what follows a backslash, a
// quote or a dollar sign is taken as it is. A Dockerfile has no way to write a
// line break in one.
func value(text string) (string, error) {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "", fmt.Errorf("%q holds a line break or another control character, which the variable of an image cannot hold", text)
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(text) + `"`, nil
}

// cause takes the template's own words off an error of ours.
func cause(err error) error {
	var exec template.ExecError
	if errors.As(err, &exec) {
		for err = exec.Err; errors.Unwrap(err) != nil; err = errors.Unwrap(err) {
		}
	}
	return err
}
