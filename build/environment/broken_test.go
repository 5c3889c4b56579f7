package environment

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"crun.dev/crun/internal/yamlfile"
)

const unbroken = `name: train
channels:
  - pytorch
  - conda-forge
  - https://conda.example.org/lab
dependencies:
  - python=3.9
  - numpy>=1.20,<2  # old torch
  - "scipy=1.10"
  - pytorch::pytorch=2.1.0=*cuda*
  - pip
  - pip:
      - --no-binary flask
      - tqdm==4.66.1
      - git+https://git.example.org/lab/tools.git@3f2a1c9
      - requests[socks]>=2.31 ; python_version < "3.10"
variables:
  A: b
prefix: /home/x/env
`

// parserWords are those of the YAML parser, which help nobody.
var parserWords = []string{
	"is not YAML", "yaml:", "did not find expected", "could not find expected", "cannot start any token", "mapping values", "block sequence",
	"found unexpected", "found unknown", "unmarshal",
}

// TestOneCharacterWrong puts a character too many or too few at each place of a
// file, and a line at each other place: what is no YAML then is told in a
// person's words, near the place.
func TestOneCharacterWrong(t *testing.T) {
	runes := []rune(unbroken)
	broken, far := 0, 0
	try := func(text string, line int) {
		_, _, err := Parse([]byte(text), Options{FolderName: "x"})
		if err == nil {
			return
		}
		for _, word := range parserWords {
			if strings.Contains(err.Error(), word) {
				t.Errorf("the parser's words:\n%v\n%s", err, near(text, line))
				return
			}
		}
		if line == 0 {
			return
		}
		var first *yamlfile.Error
		if !errors.As(err, &first) {
			t.Errorf("%v has no place", err)
			return
		}
		broken++
		if first.Line < line-1 || first.Line > line+1 {
			far++
			if testing.Verbose() {
				t.Logf("far: %v\n%s", err, near(text, line))
			}
		}
	}
	line := 1
	for i, r := range runes {
		try(string(runes[:i])+string(runes[i+1:]), line)
		for k, c := range []string{" ", "  ", "\t", "\n", `"`, "'", ":", ": ", "-", "- ", "#", " #", "{", "[", "]", "}", "*", "&", "%", "@", "`", "|", ">", "!", "?", ",", `\`, "\uff0c", "\uff1a", "\u201c"} {
			if (i+k)%6 == 0 { // each sign at each sixth place, the places of each being others
				try(string(runes[:i])+c+string(runes[i:]), line)
			}
		}
		if r == '\n' {
			line++
		}
	}
	lines := strings.Split(unbroken, "\n")
	for i := range lines {
		without := append(append([]string{}, lines[:i]...), lines[i+1:]...)
		try(strings.Join(without, "\n"), 0)
		for j := range without {
			moved := append(append(append([]string{}, without[:j]...), lines[i]), without[j:]...)
			try(strings.Join(moved, "\n"), 0)
		}
	}
	if broken < 500 {
		t.Fatalf("%d files were refused: this test tries nothing", broken)
	}
	if far > broken/50 {
		t.Errorf("of %d slips %d are told more than a line away from their place", broken, far)
	}
}

// near is the lines of text around line.
func near(text string, line int) string {
	lines := strings.Split(text, "\n")
	var b strings.Builder
	for i := max(0, line-3); i < min(len(lines), line+2); i++ {
		fmt.Fprintf(&b, "%5d %s\n", i+1, lines[i])
	}
	return b.String()
}
