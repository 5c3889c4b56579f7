package plan

import (
	"fmt"
	"strings"
	"time"
)

// digits are Crockford's base32 in lower case: no i, l, o or u to misread.
// They stand in ASCII order, so that ids sort as the numbers do.
const digits = "0123456789abcdefghjkmnpqrstvwxyz"

// idLen is the number of digits of a run id: 60 bits, of which the upper 42
// are the milliseconds since 1970 (until the year 2109) and the lower 18 random.
const idLen = 12

// NewID gives a run id: 12 lower-case base32 digits whose order is that of
// now, to the millisecond. Of random, 18 bits are used; whoever makes a run
// takes another id should the engine already have this one.
func NewID(now time.Time, random [3]byte) string {
	n := uint64(now.UnixMilli())<<18 |
		(uint64(random[0])<<16|uint64(random[1])<<8|uint64(random[2]))&(1<<18-1)
	var id [idLen]byte
	for i := idLen - 1; i >= 0; i-- {
		id[i] = digits[n&31]
		n >>= 5
	}
	return string(id[:])
}

// ValidID tells whether s has the form that NewID gives.
func ValidID(s string) bool {
	return len(s) == idLen && strings.Trim(s, digits) == ""
}

// maxName is the length of a DNS label (RFC 1123), and of a hostname's part.
const maxName = 63

// ValidName checks the name of a run: a DNS label, since it becomes the
// container's host name. The error says what is allowed.
func ValidName(s string) error {
	const allowed = "a name is 1 to 63 of a-z, 0-9 and '-', and begins and ends with a letter or digit"
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return fmt.Errorf("run name %q has %q in it: %s", s, r, allowed)
		}
	}
	switch {
	case s == "":
		return fmt.Errorf("run name is empty: %s", allowed)
	case len(s) > maxName:
		return fmt.Errorf("run name %q has %d characters: %s", s, len(s), allowed)
	case s[0] == '-' || s[len(s)-1] == '-':
		return fmt.Errorf("run name %q begins or ends with '-': %s", s, allowed)
	}
	return nil
}
