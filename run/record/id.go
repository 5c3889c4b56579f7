package record

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"time"
)

// idDigits are in the order of their values, so that ids sort by time.
const idDigits = "0123456789abcdefghijklmnopqrstuv"

// NewID makes the id of a run that is started now: 12 lower-case base32
// digits, of which the first seven are the seconds since 1970 and the others
// are random.
func NewID(now time.Time) string {
	var random [4]byte
	rand.Read(random[:]) // never fails
	n := uint64(now.Unix())<<25 | uint64(binary.BigEndian.Uint32(random[:])>>7)
	id := make([]byte, 12)
	for i := len(id) - 1; i >= 0; i-- {
		id[i] = idDigits[n&31]
		n >>= 5
	}
	return string(id)
}

// IsID tells whether s could be the id of a run.
func IsID(s string) bool {
	return len(s) == 12 && strings.Trim(s, idDigits) == ""
}
