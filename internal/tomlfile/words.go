package tomlfile

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

// slips are the parser's messages, each with what a person calls it; %s in a
// message is what stands at the place.
var slips = []struct {
	parser *lazyregexp.Regexp
	words  string
}{
	{lazyregexp.New(`expected '=' after key`), `%s stands where a key wants "="; a line is KEY = VALUE, and a table begins with [NAME]`},
	{lazyregexp.New(`expected '\]\]?' to close (?:array )?table name`), `the name of a table is letters, digits, - and . in brackets: [project] or [[tool.uv.index]]`},
	{lazyregexp.New(`strings cannot have new lines|(?:basic|literal) string not terminated|unterminated|end of file in`), "a quote is opened and not closed in this line"},
	{lazyregexp.New(`expected ',' or '\]' after array value`), `%s stands where the list wants a "," or its "]"`},
	{lazyregexp.New(`array is incomplete`), `"[" is opened and not closed`},
	{lazyregexp.New(`at start of key`), "%s cannot begin a key; take it out"},
	{lazyregexp.New(`at start of value|expected value|expected digit|expected keyword`), "%s cannot begin a value; text stands in quotes"},
	{lazyregexp.New(`expected newline`), "%s stands behind the end of the value; a line has one key with one value"},
	{lazyregexp.New(`invalid escape|escape sequence|hexadecimal digit`), `a "\" in double quotes begins an escape, and %s is none that TOML knows; take single quotes, in which it stands for itself`},
}

// slip says a message of the parser in a person's words, or as it is where it
// is none of those.
func slip(message string, data []byte, pos yamlfile.Position) *yamlfile.Error {
	message = strings.TrimPrefix(message, "toml: ")
	for _, s := range slips {
		if !s.parser.MatchString(message) {
			continue
		}
		if !strings.Contains(s.words, "%s") {
			return yamlfile.Errorf(pos, "%s", s.words)
		}
		return yamlfile.Errorf(pos, s.words, at(data, pos))
	}
	return yamlfile.Errorf(pos, "is not TOML: %s", message)
}

// at is the word at a place, whose column counts bytes: letters and digits
// together, any other sign by itself.
func at(data []byte, pos yamlfile.Position) string {
	lines := strings.Split(string(data), "\n")
	if pos.Line < 1 || pos.Line > len(lines) {
		return "the end of the file"
	}
	line := lines[pos.Line-1]
	text := line[min(max(pos.Column-1, 0), len(line)):]
	if text == "" {
		return "the end of the line"
	}
	word := text
	if end := strings.IndexFunc(text, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}); end >= 0 {
		word = text[:end]
	}
	if word != "" {
		return strconv.Quote(word)
	}
	_, size := utf8.DecodeRuneInString(text)
	return strconv.Quote(text[:size])
}
