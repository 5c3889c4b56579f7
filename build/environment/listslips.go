package environment

import (
	"fmt"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
	"gopkg.in/yaml.v3"
)

var (
	oneItem = lazyregexp.New(`^[^\s,\[\]]+$`)
	// severalSpecs is of "a=1 b" and not of "a =1", "a >= 1" or "a=1 py39_0".
	severalSpecs = lazyregexp.New(`^[A-Za-z_][^\s,=<>!~]*[=<>!~]\S+(?:\s+[A-Za-z_][A-Za-z_.-]*(?:[=<>!~]+[0-9]\S*)?)+$`)
	bullet       = lazyregexp.New(`^([*\x{2022}\x{00b7}\x{2023}\x{25aa}\x{25cf}\x{25e6}\x{2010}-\x{2015}\x{2212}])\s+\S`)
)

// listWords takes apart what stands in a list's place: "a, b", "a b", "[a, b]".
func listWords(text string) []string {
	text = strings.Trim(strings.TrimSpace(text), "[]")
	separator := func(r rune) bool { return r == ',' || r == '\n' }
	if !strings.ContainsFunc(text, separator) && (!strings.ContainsAny(text, "=<>") || severalSpecs.MatchString(text)) {
		separator = func(r rune) bool { return r == ' ' }
	}
	var words []string
	for _, word := range strings.FieldsFunc(text, separator) {
		if word = strings.Trim(strings.TrimSpace(word), `"'`); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// itemExamples shows words as items: `"- a"`, `"- a" and "- b"`. Of many it
// shows three.
func itemExamples(words []string) string {
	const most = 3
	more := ""
	if len(words) > most {
		words, more = words[:most], " and so on"
	}
	var items []string
	for _, word := range words {
		items = append(items, fmt.Sprintf(`"- %s"`, word))
	}
	if len(items) > 1 && more == "" {
		items = append(items[:len(items)-2], items[len(items)-2]+" and "+items[len(items)-1])
	}
	return strings.Join(items, ", ") + more
}

// withSign joins name and version by sign, or by the version's own.
func withSign(name, sign, version string) string {
	if version != "" && strings.ContainsAny(version[:1], "=!<>~") {
		sign = ""
	}
	return name + sign + version
}

// linesWithoutDash finds the lines of a list that has lost its dashes, or has
// other signs in their place, which YAML takes for one text.
func (p *parser) linesWithoutDash(node *yaml.Node) bool {
	if node.Kind != yaml.ScalarNode || node.Style&^yaml.TaggedStyle != 0 {
		return false
	}
	words := strings.Fields(node.Value)
	found := false
	rest := strings.Join(words, " ")
	for n := node.Line; rest != "" && n <= node.Line+len(words); n++ {
		line := p.line(n)
		start := indentOf(line)
		if n == node.Line {
			start = len(string([]rune(line)[:min(node.Column-1, len([]rune(line)))]))
		}
		content, _, _ := strings.Cut(line[start:], " #")
		content = strings.Join(strings.Fields(content), " ")
		after, ok := strings.CutPrefix(rest, content)
		if content == "" || !ok {
			if strings.TrimSpace(line) == "" {
				continue
			}
			break
		}
		rest = strings.TrimSpace(after)
		at := yamlfile.Position{File: p.doc.File, Line: n, Column: len([]rune(line[:start])) + 1}
		switch m := bullet.FindStringSubmatch(content); {
		case m != nil:
			found = true
			p.errorf(at, `an item of a list begins with "-", not with %q`, m[1]).Fix = fix(true, []yamlfile.Edit{yamlfile.Replace(at, m[1], "-")})
		case strings.TrimSpace(line[:start]) == "" && start > 0 && (found || rest != "" || n > node.Line):
			found = true
			p.errorf(at, `%s needs a dash before it: "- %s"`, quote(content), content).Fix = fix(true, []yamlfile.Edit{yamlfile.Replace(at, "", "- ")})
		case n == node.Line && rest == "":
			return false
		}
	}
	return found
}

// quotedLines finds a quote that was meant to close on its own line: "- 'a" and
// below it "- b'".
func (p *parser) quotedLines(node *yaml.Node) bool {
	if node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 || !strings.Contains(node.Value, " - ") {
		return false
	}
	line := p.rest(p.doc.At(node))
	if len(line) < 2 || strings.Contains(line[1:], line[:1]) {
		return false
	}
	p.errorf(p.doc.At(node), "a quote is opened here and not closed in this line")
	return true
}
