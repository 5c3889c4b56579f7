package profiles

import (
	"fmt"
	"iter"

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

// pairs gives the entries of a mapping.
func (p *parser) pairs(node *yaml.Node) iter.Seq[yamlfile.Pair] {
	return yamlfile.Pairs(node, func(key *yaml.Node, message, remedy string) { p.errorf(key, "%s; %s", message, remedy) })
}

// scalar gives the text of a value that must be one.
func (p *parser) scalar(name string, node *yaml.Node) (string, bool) {
	text, err := yamlfile.Scalar(name, node)
	if err != nil {
		p.errorf(node, "%v", err)
	}
	return text, err == nil
}

// mapping tells whether a value is one, and complains otherwise.
func (p *parser) mapping(name string, node *yaml.Node, example string) bool {
	if value := yamlfile.Resolve(node); value.Kind == yaml.MappingNode {
		return true
	}
	p.errorf(node, "%s must be a mapping such as %s, not %s", name, example, yamlfile.Kind(node))
	return false
}
