package environment

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"crun.dev/crun/internal/lazyregexp"
)

var (
	variable      = lazyregexp.New(`\$\{[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*`)
	braceVariable = lazyregexp.New(`\$\{[^}]*\}`)
	// urlCharacters are RFC 3986's without "'", "(", ")", "*" and ";": nothing
	// that is left means anything to a shell inside quotes.
	urlCharacters = lazyregexp.New(`^[A-Za-z0-9._~:/?#\[\]@!$&+,=%-]$`)
)

var errVariable = errors.New("holds a variable ($...), which crun does not replace; write it out, and keep secrets out of the file")

// checkURL refuses addresses that are none, or that hold what a shell, a
// Dockerfile or an option parser could take for its own. Of the credential in
// it, which never gets there, no error shows a letter.
func checkURL(address string, schemes ...string) error {
	if braceVariable.MatchString(address) {
		return errVariable
	}
	whole := address
	address = hide(address, "")
	if variable.MatchString(address) {
		return errVariable
	}
	if err := checkCharacters(address, urlCharacters); err != nil {
		return err
	}
	if strings.ContainsFunc(whole, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return errors.New("has a credential with a blank or a control character in it; write that as %XX")
	}
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("is no valid address")
	}
	if !slices.Contains(schemes, u.Scheme) {
		return fmt.Errorf("has the scheme %q; allowed are %s", u.Scheme, strings.Join(schemes, ", "))
	}
	if u.Hostname() == "" && u.Scheme != "file" {
		return errors.New("names no host")
	}
	if strings.Contains(u.Path, "/../") || strings.HasSuffix(u.Path, "/..") {
		return errors.New(`holds "..", which is not allowed`)
	}
	return nil
}

// checkCharacters names the first character of text that allowed, which takes
// one, does not.
func checkCharacters(text string, allowed *lazyregexp.Regexp) error {
	for _, r := range text {
		if !allowed.MatchString(string(r)) {
			return fmt.Errorf("holds the character %+q, which is not allowed here", r)
		}
	}
	return nil
}
