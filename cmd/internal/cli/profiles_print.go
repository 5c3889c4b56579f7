package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"gopkg.in/yaml.v3"

	"crun.dev/crun/profiles"
)

// writeProfileList prints the table of crun profiles list.
func writeProfileList(w io.Writer, set *profiles.Set) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tMEMORY\tCPUS\tGPUS\tTIME LIMIT\tFROM\tDESCRIPTION")
	standard, _ := set.Default()
	for _, name := range set.Names() {
		profile, err := set.Resolve(name)
		if err != nil {
			return err
		}
		text := map[string]string{"memory": "-", "cpus": "-", "gpus": "-", "time_limit": "-"}
		description := cmp.Or(profile.Description, "-")
		for _, f := range profile.Fields() {
			text[f.Name] = f.Text
		}
		if name == standard {
			name += " (default)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, text["memory"], text["cpus"], text["gpus"], text["time_limit"], profile.Source.File, description)
	}
	return table.Flush()
}

// profileJSON is a profile as -o json prints it; docs/profiles.md promises it.
type profileJSON struct {
	Name        string               `json:"name"`
	Default     bool                 `json:"default"`
	Description string               `json:"description"`
	Source      string               `json:"source"`
	Extends     []string             `json:"extends"`
	Fields      map[string]fieldJSON `json:"fields"`
}

type fieldJSON struct {
	Value  any    `json:"value"`
	Text   string `json:"text"`
	Source string `json:"source"`
}

func toJSON(set *profiles.Set, profile *profiles.Profile) profileJSON {
	standard, _ := set.Default()
	out := profileJSON{
		Name:        profile.Name,
		Default:     profile.Name == standard,
		Description: profile.Description,
		Source:      profile.Source.String(),
		Extends:     append([]string{}, profile.Extends...),
		Fields:      make(map[string]fieldJSON),
	}
	for _, f := range profile.Fields() {
		out.Fields[f.Name] = fieldJSON{Value: f.Value, Text: f.Text, Source: f.Source.String()}
	}
	return out
}

func writeProfileListJSON(w io.Writer, set *profiles.Set) error {
	standard, _ := set.Default()
	list := struct {
		Default  string        `json:"default"`
		Profiles []profileJSON `json:"profiles"`
	}{standard, []profileJSON{}}
	for _, name := range set.Names() {
		profile, err := set.Resolve(name)
		if err != nil {
			return err
		}
		list.Profiles = append(list.Profiles, toJSON(set, profile))
	}
	return indented(w, list)
}

func writeProfileJSON(w io.Writer, set *profiles.Set, profile *profiles.Profile) error {
	return indented(w, toJSON(set, profile))
}

// writeProfile prints a resolved profile as YAML that means the same when it
// is pasted below profiles, with the place of each value as a comment.
func writeProfile(w io.Writer, profile *profiles.Profile) error {
	type line struct{ text, source string }
	lines := []line{{profile.Name + ":", profile.Source.String()}}
	if len(profile.Extends) > 0 {
		lines[0].source += ", extends " + strings.Join(profile.Extends, ", then ")
	}
	if profile.Description != "" {
		lines = append(lines, line{"  description: " + yamlText(profile.Description), ""})
	}
	group := ""
	for _, f := range profile.Fields() {
		parent, name, nested := strings.Cut(f.Name, ".")
		indent := "  "
		if nested {
			if parent != group {
				lines = append(lines, line{"  " + parent + ":", ""})
			}
			indent = "    "
		} else {
			name = f.Name
		}
		group = parent
		source := f.Source.String()
		value := " " + f.Text
		switch {
		case f.Value == nil:
			value, source = "", "taken from where crun is called, "+source
		case parent == "env":
			value = " " + yamlText(f.Text)
		}
		lines = append(lines, line{indent + name + ":" + value, source})
	}
	width := 0
	for _, l := range lines {
		if l.source != "" {
			width = max(width, len(l.text))
		}
	}
	for _, l := range lines {
		text := l.text
		if l.source != "" {
			text = fmt.Sprintf("%-*s  # %s", width, l.text, l.source)
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}

// yamlText writes text as one line of YAML that reads as the same text.
func yamlText(text string) string {
	if out, err := yaml.Marshal(text); err == nil && strings.Count(string(out), "\n") == 1 {
		return strings.TrimSuffix(string(out), "\n")
	}
	// JSON's strings are YAML's too.
	out, _ := json.Marshal(text)
	return string(out)
}
