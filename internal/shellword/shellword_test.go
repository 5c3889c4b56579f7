package shellword

import (
	"os/exec"
	"testing"
)

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{"/a/b-c.d": "/a/b-c.d", "": "''", "a b": "'a b'", "it's": `'it'\''s'`} {
		if got := Quote(text); got != want {
			t.Errorf("%q gives %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"a $HOME `id` \"x\" 'y' \\ *", "line\nbreak", "~", "ä", ";|&<>"} {
		out, err := exec.Command("sh", "-c", "printf %s "+Quote(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("%q comes out as %q, %v", text, out, err)
		}
	}
}
