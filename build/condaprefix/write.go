package condaprefix

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// YAML gives the request as an environment file of that name.
func (r *Request) YAML(name string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\n", scalar(name))
	list := func(key string, items []string) {
		if len(items) > 0 {
			fmt.Fprintf(&b, "%s:\n", key)
		}
		for _, item := range items {
			fmt.Fprintf(&b, "  - %s\n", scalar(item))
		}
	}
	list("channels", r.Channels)
	list("dependencies", r.Conda)
	if len(r.Pip) > 0 {
		b.WriteString("  - pip:\n")
	}
	for _, line := range r.Pip {
		fmt.Fprintf(&b, "      - %s\n", scalar(line))
	}
	if len(r.Variables) > 0 {
		b.WriteString("variables:\n")
	}
	for _, v := range r.Variables {
		fmt.Fprintf(&b, "  %s: %s\n", scalar(v.Name), scalar(v.Value))
	}
	return []byte(b.String())
}

// scalar writes text so that YAML takes it for text.
func scalar(text string) string {
	var value any = text
	if strings.Contains(text, "\n") { // several lines would need an indent of their own
		value = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.DoubleQuotedStyle}
	}
	data, err := yaml.Marshal(value)
	if err != nil {
		// Text cannot fail.
		panic(fmt.Sprintf("condaprefix: encoding: %v", err))
	}
	return strings.TrimSuffix(string(data), "\n")
}
