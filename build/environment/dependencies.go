package environment

import (
	"fmt"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
	"gopkg.in/yaml.v3"
)

// maxItem bounds one item, in bytes; the longest of real files, an address
// with a signature, has some 600.
const maxItem = 4096

// maxHashed bounds a requirement with its hashes, in bytes. Each file of a
// release has one of 78, and releases have up to some 150 files.
const maxHashed = 64 << 10

// longest is how many bytes an item may have.
func longest(item string) int {
	if strings.Contains(item, " --hash") {
		return maxHashed
	}
	return maxItem
}

// dependencies reads the conda packages and the pip sections, and adds the
// python and the pip that the file leaves out.
func (p *parser) dependencies(entry *yamlfile.Pair, root *yaml.Node) {
	at := p.doc.At(root)
	if entry != nil {
		at = p.doc.At(entry.Key)
	}
	var sections []*yaml.Node
	items := p.listItems(entry, "dependencies", "=", "python=3.9")
	p.lintEmptyPip(items)
	for _, item := range items {
		node := yamlfile.Resolve(item)
		switch {
		case p.leftOut(item):
		case node.Kind == yaml.MappingNode:
			sections = append(sections, p.section(node, len(sections) > 0)...)
		default:
			if text, ok := p.text(item, "conda package"); ok {
				p.condaSpec(text, p.doc.At(item))
			}
		}
	}
	if _, ok := p.env.Python(); !ok && len(p.errs) == 0 {
		spec := CondaSpec{Name: "python", Version: "=" + p.opts.Python, Pos: at}
		spec.Text = spec.text()
		p.env.Conda = append([]CondaSpec{spec}, p.env.Conda...)
		p.usualPython = !p.pythonGiven
		p.find("python-added", SeverityNote, at, "no python is asked for; %s is added (say so with \"- %s\")", spec, spec).Fix = fix(false, p.firstItem(entry, spec.Text))
	}
	if _, ok := p.env.conda("pip"); !ok && len(sections) > 0 {
		spec := CondaSpec{Name: "pip", Text: "pip", Pos: p.doc.At(sections[0])}
		p.env.Conda = append(p.env.Conda, spec)
		p.find("pip-undeclared", SeverityNote, spec.Pos, `pip packages are asked for without pip; it is added (say so with "- pip")`).Fix = fix(true, p.beforePip(sections[0]))
	}
}

// lintEmptyPip looks for "- pip:" whose lines stand below it as items of
// dependencies, so that they are conda packages without anybody having said so.
func (p *parser) lintEmptyPip(items []*yaml.Node) {
	for i, item := range items[:max(0, len(items)-1)] {
		node := yamlfile.Resolve(item)
		if node.Kind != yaml.MappingNode || len(node.Content) != 2 || node.Content[0].Value != "pip" || !yamlfile.IsNull(node.Content[1]) || node.Style&yaml.FlowStyle != 0 {
			continue
		}
		var edits []yamlfile.Edit
		for _, below := range items[i+1:] {
			if below.Line != items[i+1].Line+len(edits) || below.Kind != yaml.ScalarNode || !itemLine.MatchString(p.line(below.Line)) || !readsAsPip(below.Value) {
				edits = nil
				break
			}
			edits = append(edits, yamlfile.Replace(yamlfile.Position{Line: below.Line, Column: 1}, "", "  "))
		}
		next := items[i+1]
		p.find("pip-empty", SeverityWarning, p.doc.At(next),
			`%s stands below "- pip:" but is not indented deeper, so that it is a conda package; indent it and what follows by two more blanks, or take the ":" from "- pip:"`, quote(next.Value)).Fix = fix(false, edits)
	}
}

// readsAsPip tells whether a line that conda takes is one that pip takes too;
// moved below "- pip:" any other would be an error.
func readsAsPip(line string) bool {
	r, err := parsePip(line, func(address string) string { return address })
	return err == nil && r.Kind == PipPackage
}

// beforePip is the edit that declares pip before the section with that key.
func (p *parser) beforePip(key *yaml.Node) []yamlfile.Edit {
	if !pipItem.MatchString(p.line(key.Line)) {
		return nil
	}
	return p.insertBefore(key.Line, "- pip")
}

var pipItem = lazyregexp.New(`^ *- +["']?pip["']? *:`)

// firstItem is the edit that puts an item at the start of a list.
func (p *parser) firstItem(entry *yamlfile.Pair, text string) []yamlfile.Edit {
	if entry == nil {
		return nil
	}
	list := yamlfile.Resolve(entry.Value)
	if list.Kind != yaml.SequenceNode || len(list.Content) == 0 || list.Style&yaml.FlowStyle != 0 {
		return nil
	}
	n := list.Content[0].Line
	if !strings.HasPrefix(strings.TrimLeft(p.line(n), " "), "- ") {
		return nil
	}
	return p.insertBefore(n, "- "+text)
}

// section reads an item that is a mapping: "pip:", or a slip. It gives the
// keys of the pip sections.
func (p *parser) section(node *yaml.Node, another bool) []*yaml.Node {
	var sections []*yaml.Node
	for pair := range p.mapping(node) {
		name, key, value := pair.Name, pair.Key, yamlfile.Resolve(pair.Value)
		switch {
		case p.leftOut(key):
		case selectorKey.MatchString(name) && value.Kind == yaml.ScalarNode:
			p.selectedItem(name, pair)
		case name == "pip":
			if another {
				p.find("pip-sections", SeverityWarning, p.doc.At(key), "another pip section; crun installs them all in order, conda keeps the last alone: put them into one")
			}
			sections = append(sections, key)
			p.pipSection(&pair)
		case value.Kind == yaml.ScalarNode && !yamlfile.IsNull(value):
			p.errorf(p.doc.At(key), `"%s: %s" is a mapping, not a conda package; write "- %s"`, name, value.Value, withSign(name, "=", value.Value))
		case yamlfile.IsNull(value) && strings.ContainsAny(name, "=<>"):
			p.errorf(p.doc.At(key), `"%s:" has a ":" at its end; take it out`, name)
		default:
			p.errorf(p.doc.At(key), `"%s:" is no section of dependencies; the only one is "- pip:"`, name)
		}
	}
	return sections
}

// selectorKey is micromamba's way to choose items: "- sel(linux): numpy".
var selectorKey = lazyregexp.New(`^sel\(([^()]{1,200})\)$`)

// selectedItem takes an item whose selector holds.
func (p *parser) selectedItem(key string, pair yamlfile.Pair) {
	at, value := p.doc.At(pair.Value), yamlfile.Resolve(pair.Value)
	selector := selectorKey.FindStringSubmatch(key)[1]
	holds, ok := evaluate(selector, p.opts.Platform)
	switch {
	case !ok:
		p.errorf(p.doc.At(pair.Key), "%q is no selector; allowed are such as sel(linux), sel(unix), sel(win) and sel(osx)", key)
	case !holds:
		p.find("selector-applied", SeverityNote, p.doc.At(pair.Key), "%s is left out: [%s] does not hold on %s", value.Value, selector, p.opts.Platform)
	default:
		if text, ok := p.text(pair.Value, "conda package"); ok {
			p.condaSpec(text, at)
		}
	}
}

func (p *parser) pipSection(entry *yamlfile.Pair) {
	defer func(code string) { p.code = code }(p.code)
	p.code = codeBadRequirement
	var section PipSection
	for _, item := range p.listItems(entry, "pip", "==", "einops==0.8.0") {
		if p.leftOut(item) {
			continue
		}
		node := yamlfile.Resolve(item)
		if node.Kind == yaml.MappingNode && len(node.Content) == 2 && node.Content[1].Kind == yaml.ScalarNode {
			key, value := node.Content[0], node.Content[1]
			p.errorf(p.doc.At(key), `"%s: %s" is a mapping, not a pip requirement; write "- %s", or put it in quotes`, key.Value, value.Value, withSign(key.Value, "==", value.Value))
			continue
		}
		text, ok := p.text(item, "pip requirement")
		if !ok {
			continue
		}
		if p.lookalike(text, p.doc.At(item)) {
			continue
		}
		if err := notPip(text); err != nil {
			p.errorf(p.doc.At(item), "%s %v", quote(text), err)
			continue
		}
		// conda hands the items to pip as lines of a requirements file.
		for _, part := range splitOptions(text) {
			requirement, err := p.pipRequirement(part, p.doc.At(item))
			if err != nil {
				p.errorf(p.doc.At(item), "%s %v", quote(part), err)
				continue
			}
			p.addPip(&section, requirement, false)
		}
	}
	if len(section.Requirements) > 0 {
		p.env.Pip = append(p.env.Pip, section)
	}
}

// text gives an item's text, or says what is wrong with it.
func (p *parser) text(item *yaml.Node, what string) (string, bool) {
	node := yamlfile.Resolve(item)
	at := p.doc.At(item)
	switch {
	case yamlfile.IsNull(node):
		p.errorf(at, "the item is empty; write a %s, or take the dash out", what)
	case node.Kind == yaml.SequenceNode:
		p.errorf(at, "the item is a list, not a %s; write what is in it as items of the list around it", what)
	case node.Kind != yaml.ScalarNode:
		p.errorf(at, "the item is %s, not a %s", yamlfile.Kind(node), what)
	case p.gluedDash(node, false):
	case strings.HasPrefix(node.Tag, "!") && !strings.HasPrefix(node.Tag, "!!"):
		p.errorf(at, `%q begins with "!", which has a meaning of its own in YAML; take it out, or put the value in quotes`, strings.TrimSpace(node.Tag+" "+node.Value))
	case p.quotedLines(node):
	case node.Tag != "!!str":
		p.errorf(at, "%q is %s, not a %s", node.Value, yamlfile.Kind(node), what)
	case len(node.Value) > longest(node.Value):
		p.errorf(at, "the item is %d bytes long; a %s has at most %d", len(node.Value), what, longest(node.Value))
	case strings.ContainsAny(strings.TrimSpace(node.Value), "\n\r\x00"):
		p.errorf(at, "the item holds several lines; write each %s as an item of its own", what)
	default:
		text, _, _ := strings.Cut(" "+strings.TrimSpace(node.Value), " #")
		return strings.TrimSpace(text), true
	}
	return "", false
}

// listItems gives the items of a list and refuses what is none; missing and
// empty values are empty lists. The remedy shows the value as an item, its
// version after sign.
func (p *parser) listItems(entry *yamlfile.Pair, what, sign, example string) []*yaml.Node {
	if entry == nil || yamlfile.IsNull(entry.Value) {
		return nil
	}
	node := yamlfile.Resolve(entry.Value)
	if node.Kind == yaml.SequenceNode {
		return node.Content
	}
	if p.gluedDash(node, true) || p.linesWithoutDash(node) {
		return nil
	}
	at := p.doc.At(entry.Value)
	examples := []string{example}
	switch {
	case node.Kind == yaml.ScalarNode && oneItem.MatchString(node.Value):
		examples = []string{node.Value}
	case node.Kind == yaml.ScalarNode:
		if words := listWords(node.Value); len(words) > 0 {
			examples = words
		}
	case node.Kind == yaml.MappingNode && len(node.Content) > 0:
		key, value := node.Content[0], node.Content[1]
		at = p.doc.At(key)
		if value.Kind == yaml.ScalarNode && value.Value != "" {
			examples = []string{withSign(key.Value, sign, value.Value)}
		} else if flow := node.Style&yaml.FlowStyle != 0; flow && yamlfile.IsNull(value) {
			p.errorf(at, `%s is in {...}; a list stands in [...] ("%s: [%s, ...]")`, what, what, key.Value)
			return nil
		}
	}
	p.errorf(at, `%s must be a list (%s)`, what, itemExamples(examples))
	return nil
}

var selectorComment = lazyregexp.New(`^#\s*\[([^\[\]]{1,200})\]`)

// leftOut tells whether a selector comment ("# [win]") takes the item out.
// conda itself reads them in recipes only, but people mean them here too.
func (p *parser) leftOut(item *yaml.Node) bool {
	comment := item.LineComment
	if node := yamlfile.Resolve(item); comment == "" && node.Kind == yaml.ScalarNode {
		comment = node.LineComment
	}
	m := selectorComment.FindStringSubmatch(comment)
	if m == nil {
		return false
	}
	holds, ok := evaluate(m[1], p.opts.Platform)
	if !ok || holds {
		return false
	}
	text := item.Value
	if item.Kind != yaml.ScalarNode {
		text = fmt.Sprintf("the item of line %d", item.Line)
	}
	p.find("selector-applied", SeverityNote, p.doc.At(item), "%s is left out: [%s] does not hold on %s", text, m[1], p.opts.Platform)
	return true
}
