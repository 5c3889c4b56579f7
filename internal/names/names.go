// Package names holds the forms of names that packages which may not import
// each other have to agree on.
package names

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
)

// SecretParameter is a regular expression for names of an address's parameters
// that carry secrets, presigned addresses of object stores (X-Amz-Signature,
// sig) included.
const SecretParameter = `[A-Za-z0-9_.-]*(?i:token|secret|passw|api[_-]?key|access[_-]?key|signature|credential|sig|auth)[A-Za-z0-9_.-]*`

// CondaToken is a regular expression for a token of anaconda.org and Anaconda's
// servers, of which it is known wherever in a path it stands: "ab-" and a UUID.
const CondaToken = `[a-z]{2}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`

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
