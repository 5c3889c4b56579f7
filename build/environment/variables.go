package environment

import (
	"strings"
	"unicode"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/yamlfile"
	"gopkg.in/yaml.v3"
)

// reserved variables are set by the image or by crun; a value of the file would
// hide the environment that was just built.
var reserved = map[string]string{
	"PATH":              "the image sets it, with the environment's programs first",
	"CONDA_PREFIX":      "the image sets it",
	"CONDA_DEFAULT_ENV": "the image sets it",
}

// shellAssignment is a variable as shells, and Windows', are told it.
var shellAssignment = lazyregexp.New(`(?i)^(?:set |export |- ?)?([A-Za-z_][A-Za-z0-9_]*)=(\S*)`)

func (p *parser) variables(entry *yamlfile.Pair) {
	if entry == nil || yamlfile.IsNull(entry.Value) {
		return
	}
	node := yamlfile.Resolve(entry.Value)
	if node.Kind != yaml.MappingNode {
		example := "WANDB_MODE: offline"
		first := node
		if node.Kind == yaml.SequenceNode && len(node.Content) > 0 {
			first = yamlfile.Resolve(node.Content[0])
		}
		if m := shellAssignment.FindStringSubmatch(first.Value); m != nil && first.Kind == yaml.ScalarNode && !(Variable{Name: m[1], Value: "x"}).isSecret() {
			example = m[1] + ": " + strings.Trim(m[2], `"'`)
		}
		p.errorf(p.doc.At(entry.Value), `variables is %s; allowed are lines such as "%s"`, yamlfile.Kind(node), example)
		return
	}
	for pair := range p.mapping(node) {
		name, value, at := pair.Name, yamlfile.Resolve(pair.Value), p.doc.At(pair.Key)
		reason, isReserved := reserved[name]
		switch {
		case !names.IsVariable(name):
			p.errorf(at, "variable %q is no name; allowed are letters, digits and _, no digit first", name)
		case isReserved:
			p.errorf(at, "variable %s may not be set (%s); take it out", name, reason)
		case strings.HasPrefix(name, "CRUN_"):
			p.errorf(at, "variable %s may not be set (CRUN_ is crun's own); choose another name", name)
		case yamlfile.IsNull(value):
			p.errorf(at, `variable %s has no value; write %s: "" for an empty one`, name, name)
		case value.Kind != yaml.ScalarNode:
			p.errorf(at, "variable %s is %s; allowed is one value", name, yamlfile.Kind(value))
		case strings.ContainsFunc(value.Value, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }):
			// Docker's env files have no way to say a line break.
			p.errorf(at, "variable %s holds a line break or another control character; allowed is one line of text", name)
		default:
			p.env.Variables = append(p.env.Variables, Variable{name, value.Value, at})
		}
	}
}
