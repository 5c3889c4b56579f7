package environment

import (
	"strings"
	"unicode/utf8"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

var (
	conflictLine = lazyregexp.New(`^(?:<<<<<<<|>>>>>>>|=======)(?: |$)`)
	gluedLine    = lazyregexp.New(`^\s*(-[A-Za-z0-9_.'"].*)$`)
	shortOption  = lazyregexp.New(`^-[A-Za-z](?:\s|$)`)
	itemLine     = lazyregexp.New(`^\s*-\s`)
)

// slipRule is one way in which a line is not YAML. Group 1 of its expression is
// where the mistake is.
type slipRule struct {
	line *lazyregexp.Regexp
	// when looks closer, or is nil.
	when func(s *slipScan, m []string) bool
	// message says it; its verbs are for words(m), or for group 1.
	message string
	words   func(m []string) []any
	// insert is put before group 1 to mend the line; replace is put in its
	// place, where hasReplace says so.
	insert     string
	replace    string
	hasReplace bool
}

// slipScan is what was seen above a line.
type slipScan struct {
	parser  string // the parser's message
	sawItem bool
	parent  string // the last line above that is not indented
	open    bool   // a bracket was opened above
}

// foreignParent is a key that has keys of its own below it.
var foreignParent = lazyregexp.New(`^[^\s#-][^#]*:\s*(?:#.*)?$`)

var parentKey = lazyregexp.New(`^` + topKeys + `\s*:`)

const topKeys = `(?:name|channels|dependencies|variables|prefix)`

var slipRules = []slipRule{
	{line: lazyregexp.New("^\\s*(```|~~~)"), message: `%q is Markdown's and no part of the file; take the line out`},
	{
		line:    lazyregexp.New("^[ \t]*(?:-[ \t]*)?([\u00a0\u1680\u2000-\u200b\u202f\u3000\ufeff])"),
		message: "the line is indented with the character %U, which only looks like a space; type spaces",
		words:   func(m []string) []any { r, _ := utf8.DecodeRuneInString(m[1]); return []any{r} },
		replace: " ", hasReplace: true,
	},
	{line: lazyregexp.New(`^(\+)\s*(?:-|\w+:)`), message: `the %q of a patch is left at the start of the line; take it out`, hasReplace: true},
	{line: lazyregexp.New(`^\s*-[ ]*(\t[ \t]*)\S`), message: "found a tab where YAML wants spaces", words: func([]string) []any { return nil }, replace: " ", hasReplace: true},
	{
		line:    lazyregexp.New(`^\s*([*\x{2022}\x{00b7}\x{2023}\x{25aa}\x{25cf}\x{25e6}\x{2010}-\x{2015}\x{2212}])\s+[A-Za-z0-9_"'.]`),
		message: `an item of a list begins with "-", not with %q`,
		replace: "-", hasReplace: true,
	},
	{line: lazyregexp.New(`(?i)^(\s*` + topKeys + `)\s*$`), message: `%q needs a ":" behind it`, words: trimmed},
	{line: lazyregexp.New(`(?i)^` + topKeys + `\s*(=)`), message: `found %q where YAML wants ":"`, replace: ":", hasReplace: true},
	{line: lazyregexp.New(`(?i)^\s*(?:-\s*)?(?:` + topKeys + `|pip)\s*(\x{ff1a}|\x{fe55}|\x{2236})`), message: `found %q, which only looks like ":"; type ":" and a blank`, replace: ": ", hasReplace: true},
	{line: lazyregexp.New(`(?i)^(?:channels|dependencies)\s*:\s*(-\s*\S.*)$`), message: `%q stands behind the colon; put it on a line of its own below`},
	{line: lazyregexp.New(`(?i)^(` + topKeys + `:)[^\s:]`), message: `%q needs a blank behind it`},
	{line: lazyregexp.New(`^\s*(--+)\s+[A-Za-z0-9]`), message: `an item of a list begins with one dash, not with %q`, replace: "-", hasReplace: true},
	{line: lazyregexp.New(`^\s*(?:-\s*)?([\]}])[^\[{]*$`), when: func(s *slipScan, _ []string) bool { return s.parser != "" && !s.open }, message: "%q closes nothing; take it out", hasReplace: true},
	{line: gluedLine},
	{
		line:    lazyregexp.New(`^\s+(pip\s*:).*$`),
		when:    func(s *slipScan, _ []string) bool { return s.sawItem },
		message: `"pip:" is an item of the list: "- pip:"`, words: func([]string) []any { return nil },
		insert: "- ",
	},
	{
		line:    lazyregexp.New(`^\s+(` + topKeys + `:)(?:\s|$)`),
		when:    func(s *slipScan, _ []string) bool { return !foreignParent.MatchString(s.parent) },
		message: `key %q is indented; the keys of the file begin in its first column`,
	},
	{
		line:    lazyregexp.New("^\\s*-\\s+(([@`%]).*)$"),
		message: `%q cannot start a value; put it in quotes: "- '%s'"`,
		words:   func(m []string) []any { return []any{m[2], strings.TrimSpace(m[1])} },
	},
	{
		line:    lazyregexp.New(`^\s*-\s+(([>|])\s*[=0-9].*)$`),
		message: `%q begins a text of several lines in YAML; write the package's name first: "- NAME%s"`,
		words:   func(m []string) []any { return []any{m[2], strings.TrimSpace(m[1])} },
	},
	{
		line:    lazyregexp.New(`^\s*-\s+(([&!])[^\s=]*=.*)$`),
		message: `%q has a meaning of its own in YAML; take it out, or put the value in quotes`,
		words:   func(m []string) []any { return []any{m[2]} },
	},
	{
		line:    lazyregexp.New(`^\s*(?:-\s+)?(?:"[^"]*"|'[^']*')([^\s:,\]}#'"].*)$`),
		message: "%q stands behind the closing quote; put the whole value in quotes",
		words:   trimmed,
	},
	{line: lazyregexp.New(`^\s*(?:-\s+|[A-Za-z_]+:\s+)?("[^"]*|'[^']*)$`), message: "a quote is opened and not closed", words: func([]string) []any { return nil }},
	{line: lazyregexp.New(`(\{%|\{\{)`), message: "is a template (%s), which crun does not fill in; write the values out"},
	{
		line:    lazyregexp.New(`^\s*(?:-\s+)?[^'"\s#][^#]*?:\s[^#]*?(\S+:)(?:\s|$)`),
		when:    func(s *slipScan, _ []string) bool { return strings.Contains(s.parser, "mapping values") },
		message: `a second ": " stands in the line; put the value in quotes`, words: func([]string) []any { return nil },
	},
}

func trimmed(m []string) []any { return []any{strings.TrimSpace(m[1])} }

// lineSlips looks at each line for itself.
func lineSlips(doc *yamlfile.Document, message string) []error {
	var found []error
	scan := &slipScan{parser: message}
	for i, line := range strings.Split(string(doc.Text), "\n") {
		if text := strings.TrimSpace(line); text == "" || text[0] == '#' || strings.HasPrefix(line, "---") {
			continue
		}
		if conflictLine.MatchString(line) {
			return []error{yamlfile.Errorf(yamlfile.Position{File: doc.File, Line: i + 1, Column: 1}, "a merge conflict is left here; decide which of the two sides counts")}
		}
		for _, rule := range slipRules {
			m := rule.line.FindStringSubmatchIndex(line)
			if m == nil {
				continue
			}
			groups := rule.line.FindStringSubmatch(line)
			if rule.when != nil && !rule.when(scan, groups) {
				continue
			}
			at := yamlfile.Position{File: doc.File, Line: i + 1, Column: utf8.RuneCountInString(line[:m[2]]) + 1}
			found = append(found, rule.error(at, groups))
			break
		}
		if indentOf(line) == 0 {
			scan.parent = line
			if parentKey.MatchString(line) {
				scan.parent = ""
			}
		}
		scan.open = scan.open || strings.ContainsAny(line, "[{")
		scan.sawItem = scan.sawItem || itemLine.MatchString(line)
	}
	return found
}

func (r slipRule) error(at yamlfile.Position, groups []string) *yamlfile.Error {
	if r.line == gluedLine {
		return gluedError(at, groups[1])
	}
	args := []any{groups[1]}
	if r.words != nil {
		args = r.words(groups)
	}
	err := yamlfile.Errorf(at, r.message, args...)
	switch {
	case r.insert != "":
		err.Fix = fix(true, []yamlfile.Edit{yamlfile.Replace(at, "", r.insert)})
	case r.hasReplace:
		err.Fix = fix(true, []yamlfile.Edit{yamlfile.Replace(at, groups[1], r.replace)})
	}
	return err
}

// indentOf counts the blanks before the text of a line.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

var itemKey = lazyregexp.New(`^\s*-\s+[^\s:]+:\s*(?:#.*)?$`)

// indentSlips finds items whose dash stands left of, or between, those of their
// list.
func indentSlips(doc *yamlfile.Document) []error {
	var found []error
	var levels []int // the columns of the lists that are open, outermost first
	key := 0         // where the text of the item above begins, if it is a key
	// the item above, where it is one value
	var scalar string
	var scalarAt yamlfile.Position
	for i, line := range strings.Split(string(doc.Text), "\n") {
		text := strings.TrimSpace(line)
		switch {
		case text == "" || text[0] == '#':
			continue
		case !itemLine.MatchString(line):
			if indentOf(line) == 0 {
				levels, key, scalar = nil, 0, ""
			}
			continue
		}
		indent := indentOf(line)
		at := yamlfile.Position{File: doc.File, Line: i + 1, Column: indent + 1}
		if len(levels) > 0 && scalar != "" && indent > levels[len(levels)-1] {
			if scalar == "- pip" {
				found = append(found, yamlfile.Errorf(scalarAt, `"- pip" has a list below it and needs a colon: "- pip:"`))
			} else {
				found = append(found, yamlfile.Errorf(at, "%q is indented deeper than the items above it; put their dashes below each other", text))
			}
			return found // what follows is the same mistake
		}
		scalar, scalarAt = text, at
		if itemKey.MatchString(line) {
			scalar = ""
		}
		above := key
		if key = 0; itemKey.MatchString(line) {
			key = len(line) - len(strings.TrimLeft(line, " -"))
		}
		if len(levels) > 0 && indent > levels[len(levels)-1] && indent < above {
			found = append(found, yamlfile.Errorf(at,
				"%q stands between the columns of two lists; indent it by %d blanks", text, above))
			continue
		}
		for len(levels) > 1 && indent < levels[len(levels)-1] && indent <= levels[len(levels)-2] {
			levels = levels[:len(levels)-1]
		}
		switch {
		case len(levels) == 0 || indent > levels[len(levels)-1]:
			levels = append(levels, indent)
		case indent < levels[len(levels)-1]:
			found = append(found, yamlfile.Errorf(at,
				"the dash of %q is not below those of the list that it belongs to; indent it by %d blanks", text, levels[len(levels)-1]))
		}
	}
	return found
}

// openBracket finds a "[" or "{" that nothing closes.
func openBracket(doc *yamlfile.Document) (at yamlfile.Position, sign string, ok bool) {
	type place struct {
		line, column int
		sign         rune
	}
	var open []place
	line, column := 1, 0
	quote, before := rune(0), ' '
	comment := false
	for _, r := range string(doc.Text) {
		column++
		switch {
		case r == '\n':
			line, column, comment = line+1, 0, false
		case comment:
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '#' && (before == ' ' || before == '\n'):
			comment = true
		case (r == '"' || r == '\'') && strings.ContainsRune(" [{,", before):
			quote = r
		case (r == '[' || r == '{') && (len(open) > 0 || strings.ContainsRune(" \n-", before)):
			open = append(open, place{line, column, r})
		case (r == ']' || r == '}') && len(open) > 0:
			open = open[:len(open)-1]
		}
		before = r
	}
	if len(open) == 0 {
		return at, "", false
	}
	p := open[0]
	return yamlfile.Position{File: doc.File, Line: p.line, Column: p.column}, string(p.sign), true
}

// bareItem is a package without its dash.
var bareItem = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*(?:\s*[=<>!~][^:]*)?$`)

var proseLine = lazyregexp.New(`^[$%] ?[a-z]|^(?:[A-Za-z(*=>][^:]*|[^:]*[.!?])$|^[(<][^)]*[)>] ?\S`)

// proseSlips finds lines that are neither keys nor items: remarks, prompts and
// what a command printed around the file.
func proseSlips(doc *yamlfile.Document) []error {
	var found []error
	for i, line := range strings.Split(string(doc.Text), "\n") {
		text := strings.TrimSpace(line)
		if tab := strings.IndexByte(line[:len(line)-len(strings.TrimLeft(line, " \t"))], '\t'); tab >= 0 && text != "" {
			found = append(found, yamlfile.Errorf(yamlfile.Position{File: doc.File, Line: i + 1, Column: tab + 1}, "found a tab where YAML wants spaces"))
			continue
		}
		if indentOf(line) > 0 && bareItem.MatchString(text) {
			found = append(found, yamlfile.Errorf(yamlfile.Position{File: doc.File, Line: i + 1, Column: indentOf(line) + 1}, `%q needs a dash before it: "- %s"`, text, text))
			continue
		}
		if text == "" || text[0] == '#' || indentOf(line) > 0 || text[0] == '-' || !proseLine.MatchString(text) {
			continue
		}
		found = append(found, yamlfile.Errorf(yamlfile.Position{File: doc.File, Line: i + 1, Column: 1},
			`%q is neither a key nor an item of a list; take it out, or put "# " before it`, text))
	}
	return found
}
