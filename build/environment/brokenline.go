package environment

import (
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
	"gopkg.in/yaml.v3"
)

// manyLines is above what every line is tried for firstBroken; a file of more
// is halved.
const manyLines = 400

// firstBroken is the line, from 1, that ends what can be read of a file that
// is not YAML. The parser's own position is mostly that of what lies around it.
func firstBroken(text string) int {
	lines := strings.SplitAfter(strings.TrimRight(text, "\n"), "\n")
	readable := func(n int) bool {
		decoder := yaml.NewDecoder(strings.NewReader(strings.Join(lines[:n], "")))
		var node yaml.Node
		for err := error(nil); ; err = decoder.Decode(&node) {
			if err != nil {
				return errors.Is(err, io.EOF)
			}
		}
	}
	good, bad := 0, len(lines)
	if len(lines) <= manyLines {
		// From the end, since an open bracket or quote may be closed further down.
		for good = len(lines) - 1; good > 0 && !readable(good); good-- {
		}
		return good + 1
	}
	for bad-good > 1 {
		if middle := (good + bad) / 2; readable(middle) {
			good = middle
		} else {
			bad = middle
		}
	}
	return bad
}

// brokenRule is what may be wrong with the line at which the file ends to be
// YAML. Group 1 of its expression is where the mistake is.
type brokenRule struct {
	line    *lazyregexp.Regexp
	message string
	// takeOut is set where the mistake mends by taking out group 1.
	takeOut bool
}

// Signs are what no package, key or path begins with.
const sign = `[^\s\pL\pN"'#./~_<-]`

// strayRules are for signs that no file has there.
var strayRules = brokenLines{
	{line: lazyregexp.New(`^\s*(` + sign + `+\s*)-(?:\s|$)`), message: "%q stands before the dash of the item; take it out", takeOut: true},
	{line: lazyregexp.New(`^\s*-(` + sign + `+)(?:\s.*)?$`), message: "%q stands behind the dash, which needs a blank there; take it out", takeOut: true},
	{line: lazyregexp.New(`^\s*(` + sign + `+\s*)[\w.-]+\s*:(?:\s|$)`), message: "%q stands before the key; take it out", takeOut: true},
}

// brokenRules are for the line at which the file ends to be YAML.
var brokenRules = brokenLines{
	{line: lazyregexp.New(`^\s*(?:-\s+|[\w.-]+:\s+)?"(?:[^"\\]|\\["\\/ntr])*(\\[^"\\/ntr])`), message: "%s is no escape that YAML knows; take single quotes, in which a backslash stands for itself"},
	{line: lazyregexp.New(`^\s*(?:-\s+|[\w.-]+:\s+)?(?:"[^"]*"|'[^']*')\s*([^\s:#,].*)$`), message: "%q stands behind the closing quote; put the whole value in one pair of quotes, or write one value a line"},
	{line: lazyregexp.New(`^\s*-(?:\s+|:\s+)+(` + sign + `)`), message: "%q cannot start a value; take it out, or put the whole value in quotes"},
	{line: lazyregexp.New(`^\s*[\w.-]+:\s+(` + sign + `)`), message: "%q cannot start a value; take it out, or put the whole value in quotes"},
	{line: lazyregexp.New(`^\s*[\w.-]+:\s+(-(?:\s.*)?)$`), message: "%q is an item of a list and cannot stand behind its key; put it on a line of its own below"},
	{line: lazyregexp.New(`^\s*(-:.*)$`), message: `%q is neither an item ("- NAME") nor a key ("NAME:")`},
	{line: lazyregexp.New(`^\s*(-(?:\s.*)?)$`), message: "%q is an item, but no list is open here; put its dash below those of the list that it belongs to, or write the list's key (such as \"dependencies:\") above it"},
	{line: lazyregexp.New(`^\s*([\w.-]+\s*:(?:\s.*)?)$`), message: `%q is a key in the middle of a list; begin it in the first column, or make it an item ("- ")`},
	{line: lazyregexp.New(`^\s*(\S.*)$`), message: `%q is neither an item ("- NAME") nor a key ("NAME:"); mend it, or put "# " before it`},
}

// brokenLine says in a person's words what the line is at which the file ends
// to be YAML, where nothing more is known of it.
func brokenLine(doc *yamlfile.Document) error {
	text := string(doc.Text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		// A sign too many may make one text of all that follows.
		if err := strayRules.error(doc.File, i+1, line); err != nil {
			return err
		}
	}
	n := firstBroken(text)
	if m := keyWithValue.FindStringSubmatch(lines[n-1]); m != nil && indentOf(lines[n-1]) > 0 && keyWithValue.MatchString(above(lines[:n-1])) {
		at := yamlfile.Position{File: doc.File, Line: n, Column: indentOf(lines[n-1]) + 1}
		return yamlfile.Errorf(at, "%q does not begin below the key above it; indent it by %d blanks", m[1], indentOf(above(lines[:n-1])))
	}
	if err := brokenRules.error(doc.File, n, lines[n-1]); err != nil {
		return err
	}
	return yamlfile.Errorf(yamlfile.Position{File: doc.File, Line: n, Column: 1}, "cannot be read from here on")
}

// keyWithValue is a key with its value.
var keyWithValue = lazyregexp.New(`^ +([\w.-]+:) \S`)

// above is the last of the lines that holds something.
func above(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if text := strings.TrimSpace(lines[i]); text != "" && text[0] != '#' {
			return lines[i]
		}
	}
	return ""
}

type brokenLines []brokenRule

// error is what the first rule that fits says of a line, or nil.
func (rules brokenLines) error(file string, n int, line string) *yamlfile.Error {
	for _, rule := range rules {
		m := rule.line.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		group := line[m[2]:m[3]]
		at := yamlfile.Position{File: file, Line: n, Column: utf8.RuneCountInString(line[:m[2]]) + 1}
		err := yamlfile.Errorf(at, rule.message, strings.TrimSpace(group))
		if rule.takeOut {
			err.Fix = fix(true, []yamlfile.Edit{yamlfile.Replace(at, group, "")})
		}
		return err
	}
	return nil
}
