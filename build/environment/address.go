package environment

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	variable = regexp.MustCompile(`\$\{[^}]*\}?|\$[A-Za-z_][A-Za-z0-9_]*|%[A-Za-z_][A-Za-z0-9_]*%`)
	// urlCharacters is RFC 3986 without "'", "(", ")", "*" and ";": nothing
	// that is left means anything to a shell inside quotes or to a Dockerfile.
	urlCharacters = regexp.MustCompile(`^[A-Za-z0-9._~:/?#\[\]@!$&+,=%-]*$`)
)

// checkURL refuses addresses that are none, or that hold what a shell, a
// Dockerfile or an option parser could take for its own.
func checkURL(address string, schemes ...string) error {
	if v := variable.FindString(address); v != "" {
		return fmt.Errorf("holds the variable %s, which crun does not replace; write the address out, and keep secrets out of the file", v)
	}
	if err := checkCharacters(address, urlCharacters); err != nil {
		return err
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

// checkCharacters names the first character of text that allowed, an anchored
// class, does not take.
func checkCharacters(text string, allowed *regexp.Regexp) error {
	for _, r := range text {
		if !allowed.MatchString(string(r)) {
			return fmt.Errorf("holds the character %+q, which is not allowed here", r)
		}
	}
	return nil
}
