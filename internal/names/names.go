// Package names holds the forms of names that packages which may not import
// each other have to agree on.
package names

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
)

var (
	variable   = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	channel    = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]*(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)*$`)
	domain     = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,31}$`)
	separators = lazyregexp.New(`[-_.]+`)
)

// IsVariable tells whether s can be the name of an environment variable to a
// shell (POSIX, 3.235): letters, digits and _, no digit first.
func IsVariable(s string) bool { return variable.MatchString(s) }

// IsChannel tells whether s is a conda channel by name, with labels:
// conda-forge, nvidia/label/cuda-12.4.0. No part of one is "." or "..".
func IsChannel(s string) bool { return channel.MatchString(s) }

// IsCacheDomain tells whether s can name those who share download caches: 1 to
// 32 lower-case letters, digits and -.
func IsCacheDomain(s string) bool { return domain.MatchString(s) }

// Distribution gives the name of a Python package as PEP 503 normalises it:
// lower case, one "-" between its parts.
func Distribution(s string) string {
	return separators.ReplaceAllString(strings.ToLower(s), "-")
}
