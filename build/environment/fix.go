package environment

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
	"gopkg.in/yaml.v3"
)

// line gives line n of the file, without its line end, or "".
func (p *parser) line(n int) string {
	if p.lines == nil {
		p.lines = strings.Split(string(p.doc.Text), "\n")
	}
	if n < 1 || n > len(p.lines) {
		return ""
	}
	return p.lines[n-1]
}

// rest gives what follows pos in its line.
func (p *parser) rest(pos yamlfile.Position) string {
	if pos.File != p.doc.File {
		return "" // a file that the environment file names
	}
	runes := []rune(p.line(pos.Line))
	if pos.Column < 1 || pos.Column > len(runes) {
		return ""
	}
	return string(runes[pos.Column-1:])
}

// plainValue is what YAML takes as text without quotes, in a list of either
// style.
var plainValue = lazyregexp.New(`^[A-Za-z0-9_./][A-Za-z0-9_.=<>!~+*:/@-]*$`)

// replaceItem is the edit that makes the value at pos, whose text is old, read
// new; nil where the file has it in another form (folded, with an anchor).
func (p *parser) replaceItem(pos yamlfile.Position, old, new string) []yamlfile.Edit {
	rest := p.rest(pos)
	for _, quote := range []string{"", `"`, "'"} {
		if !strings.HasPrefix(rest, quote+old+quote) {
			continue
		}
		if quote == "" {
			// The whole of it, or the rest would be left behind.
			after := rest[len(old):]
			if trimmed := strings.TrimLeft(after, " \t"); trimmed != "" && (trimmed[0] != '#' || trimmed == after) && !strings.ContainsRune(",]", rune(trimmed[0])) {
				return nil
			}
			return []yamlfile.Edit{yamlfile.Replace(pos, old, p.asWritten(new))}
		}
		if strings.ContainsAny(new, `"'\`) {
			return nil
		}
		return []yamlfile.Edit{yamlfile.Replace(pos, quote+old+quote, quote+new+quote)}
	}
	return nil
}

// rewriteItem is replaceItem for an item whose text stands in one line.
func (p *parser) rewriteItem(pos yamlfile.Position, new string) []yamlfile.Edit {
	m := itemText.FindStringSubmatch(p.rest(pos))
	if m == nil {
		return nil
	}
	return p.replaceItem(pos, strings.TrimSpace(m[1]+m[2]+m[3]), new)
}

var itemText = lazyregexp.New(`^(?:"([^"\\]*)"|'([^']*)'|([^'"#&*!|>%@\[\]{}][^#\[\]{}]*?))\s*(?:\s#.*)?$`)

var aloneInLine = lazyregexp.New(`^\s*-\s+(?:[^'"#\s][^#]*?|"[^"]*"|'[^']*')\s*(?:\s#.*)?$`)

// removeItem is the edit that takes the item at pos out with its line; nil
// where it is not alone in its line, or is all that its list has.
func (p *parser) removeItem(pos yamlfile.Position) []yamlfile.Edit {
	line := p.line(pos.Line)
	if p.sharesLine(pos) {
		return nil
	}
	if p.kind == kindRequirements && pos.File == p.doc.File && !strings.HasSuffix(line, `\`) && !strings.HasSuffix(p.line(pos.Line-1), `\`) {
		return p.removeLine(pos.Line)
	}
	if p.kind != kindYAML || pos.File != p.doc.File || !aloneInLine.MatchString(line) || strings.TrimRight(string([]rune(line)[:pos.Column-1]), " \t-") != "" {
		return nil
	}
	indent := strings.TrimSuffix(line, strings.TrimLeft(line, " "))
	if continues(p.line(pos.Line+1), indent) || !p.hasSibling(pos.Line, indent) {
		return nil
	}
	return p.removeLine(pos.Line)
}

// sharesLine tells whether pip is given more than one thing at pos, as in
// "torch -f ADDRESS": without its line, the other would be lost.
func (p *parser) sharesLine(pos yamlfile.Position) bool {
	n := 0
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			if r.Pos == pos {
				n++
			}
		}
	}
	return n > 1
}

// continues tells whether the line belongs to the item above it.
func continues(line, indent string) bool {
	trimmed := strings.TrimLeft(line, " ")
	return trimmed != "" && trimmed[0] != '#' && len(line)-len(trimmed) > len(indent)
}

// hasSibling tells whether an item of the same list stands near line n.
func (p *parser) hasSibling(n int, indent string) bool {
	for _, step := range []int{-1, 1} {
		for i := n + step; i >= 1 && i <= len(p.lines); i += step {
			line := p.lines[i-1]
			trimmed := strings.TrimLeft(line, " ")
			if trimmed == "" || trimmed[0] == '#' {
				continue
			}
			if strings.HasPrefix(line, indent+"- ") {
				return true
			}
			break
		}
	}
	return false
}

// removeLine is the edit that takes line n out.
func (p *parser) removeLine(n int) []yamlfile.Edit {
	old := p.line(n)
	if n < len(p.lines) {
		old += "\n"
	}
	return []yamlfile.Edit{yamlfile.Replace(yamlfile.Position{Line: n, Column: 1}, old, "")}
}

// insertBefore is the edit that puts an item before the one of line n, indented
// like it.
func (p *parser) insertBefore(n int, text string) []yamlfile.Edit {
	line := p.line(n)
	if !strings.HasPrefix(strings.TrimLeft(line, " "), "- ") {
		return nil
	}
	indent := strings.TrimSuffix(line, strings.TrimLeft(line, " "))
	return []yamlfile.Edit{yamlfile.Replace(yamlfile.Position{Line: n, Column: 1}, "", indent+text+"\n")}
}

// removeKey is the edit that takes a key of one line out.
func (p *parser) removeKey(entry *yamlfile.Pair) []yamlfile.Edit {
	value := yamlfile.Resolve(entry.Value)
	if len(p.doc.Root.Content) <= 2 {
		return nil // an empty file would be left
	}
	if entry.Key.Column != 1 || value.Kind != yaml.ScalarNode || value.Line != entry.Key.Line || value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || continues(p.line(entry.Key.Line+1), "") {
		return nil
	}
	return p.removeLine(entry.Key.Line)
}

// fix makes edits a Fix, and none nothing.
func fix(safe bool, edits []yamlfile.Edit) *yamlfile.Fix {
	if len(edits) == 0 {
		return nil
	}
	return &yamlfile.Fix{Edits: edits, Safe: safe}
}
