package yamlfile

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"gopkg.in/yaml.v3"
)

// Pair is one entry of a mapping. Key and Value are as the file has them, so
// that complaints name the place: either may be an alias.
type Pair struct {
	Key, Value *yaml.Node
	// Name is the key's text.
	Name string
}

// Pairs gives the entries of a mapping in the order of the file, and nothing
// for another node. A key that is no text, and one that was there before, are
// left out; complain is told what is wrong with them and what to do: a decoder
// takes them without a word, or with the second place alone.
func Pairs(mapping *yaml.Node, complain func(key *yaml.Node, message, remedy string)) iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		mapping := Resolve(mapping)
		if mapping == nil || mapping.Kind != yaml.MappingNode {
			return
		}
		first := make(map[string]*yaml.Node)
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			pair := Pair{Key: mapping.Content[i], Value: mapping.Content[i+1]}
			name := Resolve(pair.Key)
			pair.Name = name.Value
			switch before := first[pair.Name]; {
			case name.Kind != yaml.ScalarNode:
				complain(pair.Key, "a key is "+Kind(name), "allowed is a word")
				continue
			case before != nil:
				complain(pair.Key, fmt.Sprintf("key %q is here a second time (first on line %d)", pair.Name, before.Line), "keep one of them")
				continue
			}
			first[pair.Name] = pair.Key
			if !yield(pair) {
				return
			}
		}
	}
}

// Scalar gives the text of a single value, without blanks around it. The
// error, which has no place, begins with name.
func Scalar(name string, node *yaml.Node) (string, error) {
	value := Resolve(node)
	switch {
	case IsNull(node):
		return "", errors.New(name + " has no value; give one or remove the line")
	case value.Kind != yaml.ScalarNode:
		return "", fmt.Errorf("%s must be a single value, not %s", name, Kind(node))
	}
	return strings.TrimSpace(value.Value), nil
}
