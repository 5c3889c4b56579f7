package yamlfile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Edit is a change of a file's text: Old, which lies from Line, Column up to
// but without EndLine, EndColumn, becomes New. All four count from 1, columns
// in characters, on Document.Text. A whole line is Line, 1 up to Line+1, 1; an
// insertion has an empty Old, and its end is its start.
type Edit struct {
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
	Old       string `json:"old"`
	New       string `json:"new"`
}

// Replace is the edit that puts new in the place of old, which starts at pos.
func Replace(pos Position, old, new string) Edit {
	e := Edit{Line: pos.Line, Column: pos.Column, EndLine: pos.Line, EndColumn: pos.Column + utf8.RuneCountInString(old), Old: old, New: new}
	if i := strings.LastIndexByte(old, '\n'); i >= 0 {
		e.EndLine, e.EndColumn = pos.Line+strings.Count(old, "\n"), utf8.RuneCountInString(old[i+1:])+1
	}
	return e
}

// Apply makes the edits in a file. Line ends stay those of the file, or
// become line feeds where it mixes them; UTF-16 and byte order marks become
// plain UTF-8. A file that is not UTF-8 in its comments is refused. Where two edits touch the same text,
// or the file does not hold an edit's Old at its place, nothing is made and
// the error says which. Edits that are twice the same count once.
func Apply(data []byte, edits []Edit) ([]byte, error) {
	ends := "\n"
	if bytes.Contains(data, []byte("\r\n")) || bytes.Contains(data, []byte("\r\x00\n\x00")) {
		ends = "\r\n"
	}
	text, err := decode(data, "text", false)
	if err != nil {
		return nil, err
	}
	type span struct {
		start, end int
		Edit
	}
	starts := lineStarts(text)
	var spans []span
	for _, e := range edits {
		start, ok := offset(text, starts, e.Line, e.Column)
		end := start + len(e.Old)
		if !ok || end > len(text) || string(text[start:end]) != e.Old {
			return nil, fmt.Errorf("line %d, column %d does not hold %q", e.Line, e.Column, e.Old)
		}
		spans = append(spans, span{start, end, e})
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return a.end - b.end
	})
	spans = slices.CompactFunc(spans, func(a, b span) bool { return a.Edit == b.Edit })
	var out []byte
	last := 0
	for i, s := range spans {
		if i > 0 && s.start < last {
			return nil, fmt.Errorf("two changes of line %d exclude each other", s.Line)
		}
		out = append(out, text[last:s.start]...)
		out = append(out, s.New...)
		last = s.end
	}
	out = append(out, text[last:]...)
	if ends != "\n" {
		out = bytes.ReplaceAll(out, []byte("\n"), []byte(ends))
	}
	return out, nil
}

func lineStarts(text []byte) []int {
	starts := []int{0}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// offset gives the place of a line and column in text.
func offset(text []byte, starts []int, line, column int) (int, bool) {
	if line < 1 || line > len(starts) || column < 1 {
		return 0, false
	}
	i := starts[line-1]
	for ; column > 1; column-- {
		if i >= len(text) || text[i] == '\n' {
			return 0, false
		}
		_, size := utf8.DecodeRune(text[i:])
		i += size
	}
	return i, true
}

// Fix is the way to mend what a complaint is about.
type Fix struct {
	// Edits belong together: all of them, or none.
	Edits []Edit `json:"edits"`
	// Safe says that nothing but what the file plainly means comes of it: a
	// slip that has one reading, or what crun does by itself already. Other
	// fixes change what is installed, and are for a person to decide.
	Safe bool `json:"safe"`
}
