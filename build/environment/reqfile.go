package environment

import (
	"strings"
	"unicode/utf8"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

// pipLine is one line of a requirements file as pip joins them.
type pipLine struct {
	text string
	pos  yamlfile.Position
}

var (
	comment    = lazyregexp.New(`(?:^|\s+)#.*$`)
	optionWord = lazyregexp.New(`^--?[A-Za-z]`)
)

// pipLines gives the lines of a requirements file that say something: joined
// where they end with a backslash, without comments, and those with several
// options taken apart.
// See https://pip.pypa.io/en/stable/reference/requirements-file-format/.
func pipLines(text, file string) []pipLine {
	var lines []pipLine
	var joined strings.Builder
	var start yamlfile.Position
	flush := func() {
		text := strings.TrimSpace(comment.ReplaceAllString(joined.String(), ""))
		joined.Reset()
		for _, part := range splitOptions(text) {
			lines = append(lines, pipLine{part, start})
		}
	}
	for i, line := range strings.Split(text, "\n") {
		isComment := strings.HasPrefix(strings.TrimSpace(line), "#")
		if joined.Len() == 0 {
			indent := len(line) - len(strings.TrimLeft(line, " \t"))
			start = yamlfile.Position{File: file, Line: i + 1, Column: utf8.RuneCountInString(line[:indent]) + 1}
		} else {
			joined.WriteByte(' ')
		}
		before, goesOn := strings.CutSuffix(strings.TrimRight(line, " \t"), `\`)
		if goesOn && !isComment {
			joined.WriteString(before + " ")
			continue
		}
		joined.WriteString(line)
		flush()
	}
	flush()
	return lines
}

// splitOptions takes "--index-url A --pre" and "torch -f A" apart: what pip's
// command line takes in one go is one option, or one requirement, each here.
// --hash belongs to what stands before it.
func splitOptions(text string) []string {
	var parts []string
	var words []string // of the last part
	for word := range strings.FieldsSeq(text) {
		if len(words) > 0 && optionWord.MatchString(word) && !strings.HasPrefix(word, "--hash") {
			parts = append(parts, strings.Join(words, " "))
			words = nil
		}
		words = append(words, word)
	}
	if len(words) > 0 {
		parts = append(parts, strings.Join(words, " "))
	}
	return parts
}

// inFile has the messages about a line of a requirements file say so: they are
// written for items of a YAML list.
var inFile = strings.NewReplacer(
	"as an item of its own", "on a line of its own", "one an item", "one a line", "take the item out", "take the line out",
	`"- `, `"`,
)
