package environment

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
	"gopkg.in/yaml.v3"
)

// notYAML begins the message of a file that the YAML parser refused.
const notYAML = "is not YAML: "

var unknownAlias = lazyregexp.New(`unknown anchor '([^']*)'`)

// slips gives what a person did wrong in a file that is not YAML, all of it, or
// the line at which it ends to be YAML where nothing is recognised.
func slips(doc *yamlfile.Document, err error) []error {
	var parsed *yamlfile.Error
	if !errors.As(err, &parsed) || !strings.HasPrefix(parsed.Message, notYAML) {
		return []error{err}
	}
	if found := lineSlips(doc, parsed.Message); len(found) > 0 {
		return found
	}
	if m := unknownAlias.FindStringSubmatch(parsed.Message); m != nil {
		return []error{aliasError(doc, m[1])}
	}
	if found := indentSlips(doc); len(found) > 0 {
		return found
	}
	if at, sign, ok := openBracket(doc); ok {
		return []error{yamlfile.Errorf(at, "%q is opened here and not closed", sign)}
	}
	if found := proseSlips(doc); len(found) > 0 {
		return found
	}
	return []error{brokenLine(doc)}
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

const secretVariable = `(?i)\b\w*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET_?KEY|CREDENTIALS?)`

var (
	// secretBefore is the name of a variable that holds a secret, with what stands
	// between it and its value, however it is written there.
	secretBefore = lazyregexp.New(secretVariable + `(?:["']?\s*[=:]\s*|\s+)`)
	// secretValue is such a name with its value in a message, which quotes it.
	// Group 1 is the name.
	secretValue = lazyregexp.New(`(` + secretVariable + `(?:\s*[=:]\s*|\s+))(?:\\.|[^"\\])+`)
	quotedText  = lazyregexp.New(`"(?:\\.|[^"\\])*"`)
	wordSign    = lazyregexp.New(`[\pL\pN]`)
)

// withoutValues hides what looks like a secret in a line of doc that could not
// be read as the variable that it is: all that stands behind the name, for who
// knows where the value ends.
func withoutValues(doc *yamlfile.Document, err error) error {
	var found *yamlfile.Error
	if !errors.As(err, &found) {
		return err
	}
	const hidden = "***"
	inside := func(text string) string { q := strconv.Quote(text); return q[1 : len(q)-1] }
	if lines := strings.Split(string(doc.Text), "\n"); found.Line > 0 && found.Line <= len(lines) {
		line := strings.TrimSpace(lines[found.Line-1])
		if at := secretBefore.FindStringIndex(line); at != nil && at[1] < len(line) {
			name, value := line[at[0]:at[1]], line[at[1]:]
			found.Message = strings.NewReplacer(inside(name+value), inside(name)+hidden, name+value, name+hidden).Replace(found.Message)
			// What is shown may be a part of the value.
			found.Message = quotedText.ReplaceAllStringFunc(found.Message, func(quoted string) string {
				if text, err := strconv.Unquote(quoted); err == nil && wordSign.MatchString(text) && strings.Contains(value, text) {
					return `"` + hidden + `"`
				}
				return quoted
			})
		}
	}
	found.Message = secretValue.ReplaceAllString(found.Message, "${1}"+hidden)
	return err
}

// gluedError is for a line that starts with a dash and a letter.
func gluedError(at yamlfile.Position, text string) *yamlfile.Error {
	text = strings.TrimSpace(text)
	if err := strayRules.error(at.File, at.Line, strings.Repeat(" ", at.Column-1)+text); err != nil {
		return err
	}
	if strings.HasPrefix(text, "--") || shortOption.MatchString(text) {
		err := yamlfile.Errorf(at, `%q is an option; write it as an item: "- %s"`, text, text)
		err.Fix = fix(true, []yamlfile.Edit{yamlfile.Replace(at, "", "- ")})
		return err
	}
	err := yamlfile.Errorf(at, "%q needs a blank after the dash", text)
	at.Column++
	err.Fix = fix(true, []yamlfile.Edit{yamlfile.Replace(at, "", " ")})
	return err
}

var itemHead = lazyregexp.New(`^\S+ `)

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
			if head := strings.TrimSpace(itemHead.FindString(node.Value)); !whole && head == "pip" && strings.HasPrefix(content, "- ") {
				// All that follows is one text, and one mistake.
				at := yamlfile.Position{File: p.doc.File, Line: node.Line, Column: node.Column}
				err := p.errorf(at, `"- pip" has a list below it and needs a colon: "- pip:"`)
				err.Code, err.Fix = codeNotYAML, fix(true, []yamlfile.Edit{yamlfile.Replace(at, "pip", "pip:")})
				return true
			}
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
