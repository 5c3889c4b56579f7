package config

import "crun.dev/crun/internal/lazyregexp"

var (
	// userInfo matches what stands before the host, a password or a token, up
	// to the last @: a password that is not escaped may hold any character.
	userInfo = lazyregexp.New(`(?s)^([A-Za-z0-9+.-]+://)?.*@`)
	// condaToken is how Anaconda's servers take a token: in the path.
	condaToken = lazyregexp.New(`/t/[^/?#\s]+`)
	query      = lazyregexp.New(`(?s)[?#].*$`)
)

// Redact gives url without what may be secret in it: the user and password, a
// conda token in the path, and everything from a "?" or "#" on. It takes text
// that is no URL too.
func Redact(url string) string {
	url = userInfo.ReplaceAllString(url, "${1}***@")
	url = condaToken.ReplaceAllString(url, "/t/***")
	return query.ReplaceAllString(url, "?***")
}
