package condaprefix

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/internal/golden"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"gopkg.in/yaml.v3"
)

// readPrefix makes the file system of a txtar file. A line of its "packages" is
// "CHANNEL/ NAME VERSION BUILD : DEPENDS; ... : DIST-INFO ...", for a record as
// conda writes it.
func readPrefix(t *testing.T, file string) fstest.MapFS {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for _, f := range archive.Files {
		if f.Name != "packages" {
			fsys[f.Name] = &fstest.MapFile{Data: f.Data}
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			parts := strings.Split(strings.TrimSpace(line), " : ")
			words := strings.Fields(parts[0])
			stem := strings.Join(words[1:], "-")
			record := map[string]any{
				"channel": strings.TrimSuffix(words[0], "/"), "url": words[0] + stem + ".conda",
				"name": words[1], "version": words[2], "build": words[3], "depends": []string{}, "files": []string{"bin/x"},
			}
			if len(parts) > 1 {
				record["depends"] = strings.Split(parts[1], "; ")
			}
			if len(parts) > 2 {
				site := "lib/python3." + map[bool]string{true: "10", false: "9"}[strings.Contains(file, "pip")] + "/site-packages/"
				record["files"] = []string{site + parts[2] + ".dist-info/METADATA", site + parts[2] + ".dist-info/RECORD"}
			}
			data, err := json.Marshal(record)
			if err != nil {
				t.Fatal(err)
			}
			fsys["conda-meta/"+stem+".json"] = &fstest.MapFile{Data: data}
		}
	}
	return fsys
}

func TestRequest(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			prefix, err := Read(readPrefix(t, file))
			if err != nil {
				t.Fatal(err)
			}
			request := prefix.Request("/work/project", func(path string) bool { return !strings.Contains(path, "gone") })
			text := string(request.YAML("train"))
			_, findings, err := environment.Parse([]byte(text), environment.Options{})
			if err != nil {
				t.Errorf("%s\n%v", text, err)
			}
			for _, f := range findings {
				switch f.Code {
				case "build-pins", "prefix-ignored", "other-platform", "pip-undeclared", "credential-in-file", "in-conda-and-pip", "duplicate":
					t.Error(f)
				}
			}
			text += fmt.Sprintf("\n%d packages -> %d requests\n", request.Packages, request.Count()) + strings.Join(request.Notes, "\n") + "\n"
			if strings.Contains(text, "secret") && !strings.Contains(text, "looks like a secret") || strings.Contains(text, "secret-") {
				t.Errorf("a secret is in\n%s", text)
			}
			golden.Check(t, name+".golden", text)
		})
	}
}

// What a prefix holds may have several lines, or look like something else.
func TestYAMLOfOddValues(t *testing.T) {
	odd := []string{"two\nlines", "one\n", "\n- a", "1.0", "yes", "null", "~", "- a", "a: b", "a #b", "'q\"", "{a}", "\x1b[31m", " blank ", "é", "&a", "!b"}
	request := &Request{Channels: odd, Conda: odd, Pip: odd}
	for i, value := range odd {
		request.Variables = append(request.Variables, environment.Variable{Name: fmt.Sprintf("V%d%s", i, value), Value: value})
	}
	var got struct {
		Channels     []string
		Dependencies []any
		Variables    map[string]string
	}
	if err := yaml.Unmarshal(request.YAML("a\nb"), &got); err != nil {
		t.Fatalf("%v in\n%s", err, request.YAML("a\nb"))
	}
	want := map[string]any{}
	var items []any
	for i, value := range odd {
		items = append(items, value)
		if got.Variables[fmt.Sprintf("V%d%s", i, value)] != value {
			t.Errorf("the variable %q is lost: %q", value, got.Variables)
		}
	}
	want["pip"] = items
	if diff := cmp.Diff(odd, got.Channels) + cmp.Diff(append(items[:len(items):len(items)], any(want)), got.Dependencies); diff != "" {
		t.Error(diff)
	}
}
