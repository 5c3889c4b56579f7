package profiles

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"crun.dev/crun/internal/yamlfile"
)

// parser walks one file and collects its mistakes.
type parser struct {
	doc  *yamlfile.Document
	out  *catalogue
	errs []*Error
}

func (p *parser) at(node *yaml.Node) Source { return Source(p.doc.At(node)) }

func (p *parser) errorf(node *yaml.Node, format string, args ...any) {
	p.errs = append(p.errs, &Error{Source: p.at(node), Message: fmt.Sprintf(format, args...)})
}

// pairs walks a mapping; keys that come twice are mistakes, which a YAML
// decoder would hide or report without the first place.
func (p *parser) pairs(node *yaml.Node, each func(key, value *yaml.Node)) {
	node = yamlfile.Resolve(node)
	first := make(map[string]*yaml.Node)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		name := yamlfile.Resolve(key)
		if name.Kind != yaml.ScalarNode {
			p.errorf(key, "the name of a field must be text, not %s", yamlfile.Kind(key))
			continue
		}
		if before := first[name.Value]; before != nil {
			p.errorf(key, "%q is given twice, first in line %d; remove one of them", name.Value, before.Line)
			continue
		}
		first[name.Value] = key
		each(name, value)
	}
}

// scalar gives the text of a value that must be one.
func (p *parser) scalar(name string, node *yaml.Node) (string, bool) {
	value := yamlfile.Resolve(node)
	switch {
	case yamlfile.IsNull(node):
		p.errorf(node, "%s has no value; give one or remove the line", name)
	case value.Kind != yaml.ScalarNode:
		p.errorf(node, "%s must be a single value, not %s", name, yamlfile.Kind(node))
	default:
		return strings.TrimSpace(value.Value), true
	}
	return "", false
}

// mapping tells whether a value is one, and complains otherwise.
func (p *parser) mapping(name string, node *yaml.Node, example string) bool {
	if value := yamlfile.Resolve(node); value.Kind == yaml.MappingNode {
		return true
	}
	p.errorf(node, "%s must be a mapping such as %s, not %s", name, example, yamlfile.Kind(node))
	return false
}
