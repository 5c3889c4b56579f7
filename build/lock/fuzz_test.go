package lock

import (
	"strings"
	"testing"
)

// FuzzParse: whatever the bytes, there is an error, or a lock that is the same
// when it is written and read again.
func FuzzParse(f *testing.F) {
	text := string(example().Marshal())
	f.Add([]byte(text))
	for line := range strings.Lines(text) {
		f.Add([]byte(strings.Replace(text, line, "", 1)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Parse(data, "crun.lock")
		if err != nil {
			return
		}
		again, err := Parse(l.Marshal(), "crun.lock")
		if err != nil {
			t.Fatalf("%s\n%v", l.Marshal(), err)
		}
		if l.Digest() != again.Digest() || l.Request.Key() != again.Request.Key() {
			t.Fatalf("%s\n%s", l.Marshal(), again.Marshal())
		}
	})
}
