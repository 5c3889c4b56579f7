package environment

import (
	"errors"
	"strings"
	"unicode/utf8"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
	"gopkg.in/yaml.v3"
)

// notYAML begins the message of a file that the YAML parser refused.
const notYAML = "is not YAML: "

var (
	conflictLine = lazyregexp.New(`^(?:<<<<<<<|>>>>>>>|=======)(?: |$)`)
	gluedLine    = lazyregexp.New(`^\s*(-[A-Za-z0-9_.'"].*)$`)
	shortOption  = lazyregexp.New(`^-[A-Za-z](?:\s|$)`)
	pipKeyLine   = lazyregexp.New(`^\s+(pip\s*:).*$`)
	itemLine     = lazyregexp.New(`^\s*-\s`)
	openQuote    = lazyregexp.New(`^\s*(?:-\s+|[A-Za-z_]+:\s+)("[^"]*|'[^']*)$`)
	reservedSign = lazyregexp.New("^\\s*-\\s+(([@`%]).*)$")
	twoColons    = lazyregexp.New(`^\s*(?:-\s+)?[^'"\s#][^#]*?:\s[^#]*?(\S+:)\s`)
	templateLine = lazyregexp.New(`(\{%|\{\{)`)
	oddBlank     = lazyregexp.New("^[ \t]*([\u00a0\u1680\u2000-\u200b\u202f\u3000\ufeff])")
	unknownAlias = lazyregexp.New(`unknown anchor '([^']*)'`)
)

// slips gives what a person did wrong in a file that is not YAML, all of it,
// or the parser's own error where nothing is recognised.
func slips(doc *yamlfile.Document, err error) []error {
	var parsed *yamlfile.Error
	if !errors.As(err, &parsed) || !strings.HasPrefix(parsed.Message, notYAML) {
		return []error{err}
	}
	var found []error
	sawItem := false
	for i, line := range strings.Split(string(doc.Text), "\n") {
		at := func(index []int, group int) yamlfile.Position {
			return yamlfile.Position{File: doc.File, Line: i + 1, Column: utf8.RuneCountInString(line[:index[2*group]]) + 1}
		}
		if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' || strings.HasPrefix(line, "---") {
			continue
		}
		if m := conflictLine.FindStringIndex(line); m != nil {
			return []error{yamlfile.Errorf(at(m, 0), "a merge conflict is left here; decide which of the two sides counts")}
		}
		if m := oddBlank.FindStringSubmatchIndex(line); m != nil {
			r, _ := utf8.DecodeRuneInString(line[m[2]:])
			found = append(found, yamlfile.Errorf(at(m, 1), "the line is indented with the character %U, which only looks like a space; type spaces", r))
		} else if m := gluedLine.FindStringSubmatchIndex(line); m != nil {
			found = append(found, gluedError(at(m, 1), line[m[2]:m[3]]))
		} else if m := pipKeyLine.FindStringSubmatchIndex(line); m != nil && sawItem {
			found = append(found, yamlfile.Errorf(at(m, 1), `"pip:" is an item of the list: "- pip:"`))
		} else if m := reservedSign.FindStringSubmatchIndex(line); m != nil {
			found = append(found, yamlfile.Errorf(at(m, 1), `%q cannot start a value; put it in quotes: "- '%s'"`, line[m[4]:m[5]], strings.TrimSpace(line[m[2]:m[3]])))
		} else if m := openQuote.FindStringSubmatchIndex(line); m != nil {
			found = append(found, yamlfile.Errorf(at(m, 1), "a quote is opened and not closed"))
		} else if m := templateLine.FindStringSubmatchIndex(line); m != nil {
			found = append(found, yamlfile.Errorf(at(m, 1), "is a template (%s), which crun does not fill in; write the values out", line[m[2]:m[3]]))
		} else if m := twoColons.FindStringSubmatchIndex(line); m != nil && strings.Contains(parsed.Message, "mapping values") {
			found = append(found, yamlfile.Errorf(at(m, 1), `a second ": " stands in the line; put the value in quotes`))
		}
		sawItem = sawItem || itemLine.MatchString(line)
	}
	if len(found) > 0 {
		return found
	}
	if m := unknownAlias.FindStringSubmatch(parsed.Message); m != nil {
		return []error{aliasError(doc, m[1])}
	}
	return []error{err}
}

// aliasError finds the "*name" that the parser names without its place.
func aliasError(doc *yamlfile.Document, name string) error {
	pos := yamlfile.Position{File: doc.File}
	before, _, ok := strings.Cut(string(doc.Text), "*"+name)
	if ok {
		pos.Line = strings.Count(before, "\n") + 1
		pos.Column = utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	}
	return yamlfile.Errorf(pos, `"*%s" refers to an anchor "&%s" that is not above it; a value that starts with * needs quotes`, name, name)
}

// gluedError is for a line that starts with a dash and a letter.
func gluedError(at yamlfile.Position, text string) error {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "--") || shortOption.MatchString(text) {
		return yamlfile.Errorf(at, `%q is an option; write it as an item: "- %s"`, text, text)
	}
	return yamlfile.Errorf(at, "%q needs a blank after the dash", text)
}

// gluedDash finds the lines that YAML took as a continuation of a plain value
// although they start with a dash: "- a" and below it "    -b". For a list
// that became one text (whole), the first line counts too.
func (p *parser) gluedDash(node *yaml.Node, whole bool) bool {
	if node.Kind != yaml.ScalarNode || node.Style&^yaml.TaggedStyle != 0 {
		return false
	}
	found := false
	p.line(node.Line)
	rest := strings.Join(strings.Fields(node.Value), " ")
	for n := node.Line; rest != "" && n <= len(p.lines); n++ {
		line := []rune(p.lines[n-1])
		start := len(line) - len([]rune(strings.TrimLeft(string(line), " \t")))
		if n == node.Line {
			start = min(node.Column-1, len(line))
		}
		content := string(line[start:])
		if i := strings.Index(content, " #"); i >= 0 {
			content = content[:i]
		}
		content = strings.Join(strings.Fields(content), " ")
		at := yamlfile.Position{File: p.doc.File, Line: n, Column: start + 1}
		if strings.HasPrefix(content, "-") && (n > node.Line || whole) {
			found = true
			if strings.HasPrefix(content, "- ") {
				p.errorf(at, "%q is indented deeper than the items above it; put their dashes below each other", content)
			} else {
				p.errs = append(p.errs, coded(gluedError(at, content), codeNotYAML))
			}
		}
		after, ok := strings.CutPrefix(rest, content)
		if !ok {
			break
		}
		rest = strings.TrimSpace(after)
	}
	return found
}

var (
	requirementLine = lazyregexp.New(`^(?:-r|-c|-e|-f|-i|--[a-z-]+)[ =]\S|^(?:git\+|https?:)\S+$|^[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?\s*(?:(?:===|==|~=|!=|<=|>=|<|>)\s*[0-9][^:]*|@\s*\S+.*|;.*)?(?:\s#.*)?$`)
	pinnedLine      = lazyregexp.New(`[=<>~]=|[<>@]|^-|://`)
	tomlLine        = lazyregexp.New(`^\[[A-Za-z0-9_."-]+\]\s*$`)
)

// wholeFile recognises files of another kind under an environment's name.
func wholeFile(doc *yamlfile.Document) error {
	if doc.Root != nil && doc.Root.Kind == yaml.MappingNode {
		return nil
	}
	at := yamlfile.Position{File: doc.File, Line: 1, Column: 1}
	lines, pinned, requirements := 0, 0, true
	for line := range strings.SplitSeq(string(doc.Text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		lines++
		switch {
		case line == "@EXPLICIT":
			return yamlfile.Errorf(at, `this is an explicit list of "conda list --explicit", not an environment file: write one with name, channels and dependencies ("conda env export --from-history")`)
		case lines == 1 && tomlLine.MatchString(line):
			return yamlfile.Errorf(at, "this is TOML (pyproject.toml, pixi.toml), not an environment file: write one with name, channels and dependencies")
		}
		requirements = requirements && requirementLine.MatchString(line)
		if pinnedLine.MatchString(line) {
			pinned++
		}
	}
	if requirements && pinned > 0 {
		return yamlfile.Errorf(at, "this is a list of pip requirements, not an environment file: name it requirements.txt")
	}
	return nil
}
