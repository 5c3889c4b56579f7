package environment

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// FuzzParse: whatever the bytes, there is an environment or an error; and an
// environment written out again is the same one.
func FuzzParse(f *testing.F) {
	for _, path := range caseFiles {
		for _, c := range readCases(f, path) {
			f.Add(c.file)
		}
	}
	f.Add([]byte("channels:\n- https://0/t/00/t/0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		env, findings, err := Parse(data, Options{FolderName: "folder"})
		if err != nil {
			if err.Error() == "" || len(findings) > 0 {
				t.Fatalf("%q, %v", err, findings)
			}
			return
		}
		if env == nil || env.ImageName() == "" || env.EnvDir() == "" {
			t.Fatalf("%+v", env)
		}
		for _, spec := range env.Conda {
			if strings.HasPrefix(spec.Text, "-") || strings.ContainsAny(spec.Text, " \n\r\t\"'`$\\;") && spec.URL == "" && spec.Channel == "" {
				t.Errorf("conda %q", spec.Text)
			}
		}
		first := string(env.Canonical())
		again, _, err := Parse(render(t, env), Options{FolderName: "other"})
		if err != nil {
			t.Fatalf("%s\n%v", render(t, env), err)
		}
		if second := string(again.Canonical()); first != second {
			t.Fatalf("first  %s\nsecond %s", first, second)
		}
	})
}

// render writes an environment as a file.
func render(t *testing.T, env *Environment) []byte {
	var dependencies []any
	for _, spec := range env.Conda {
		dependencies = append(dependencies, spec.Text)
	}
	for _, section := range env.Pip {
		var lines []string
		for _, r := range section.Requirements {
			lines = append(lines, r.Text)
		}
		dependencies = append(dependencies, map[string]any{"pip": lines})
	}
	variables := map[string]string{}
	for _, v := range env.Variables {
		variables[v.Name] = v.Value
	}
	data, err := yaml.Marshal(map[string]any{
		"name": env.Name, "channels": env.Channels, "dependencies": dependencies, "variables": variables,
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}
