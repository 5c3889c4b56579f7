package tomlfile

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	root, err := Parse([]byte(`# ä
title = "x"
[project]
name = 'lab'
dependencies = [
  "numpy<2", # not 2
  "torch",
]
optional."dev" = ["ruff"]
[[tool.uv.index]]
url = "https://a"
[[tool.uv.index]]
url = "https://b"
[tool.uv.index.more]
x = 1
[tool.uv.sources]
torch = { index = "b", n = [{ a = "ä" , b = "c"}] }
`), "pyproject.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		value *Value
		text  string
		place string
	}{
		{root.Get("title"), "x", "2:9"},
		{root.Get("project", "name"), "lab", "4:8"},
		{root.Get("project", "dependencies").List[1], "torch", "7:3"},
		{root.Get("project", "optional", "dev").List[0], "ruff", "9:19"},
		{root.Get("tool", "uv", "index").List[1].Get("url"), "https://b", "13:7"},
		{root.Get("tool", "uv", "sources", "torch", "n").List[0].Get("b"), "c", "17:45"},
	} {
		if test.value == nil || test.value.Text != test.text || test.value.Pos.String() != "pyproject.toml:"+test.place {
			t.Errorf("%+v, want %s at %s", test.value, test.text, test.place)
		}
	}
	if v := root.Get("tool", "uv", "index").List[1].Get("more", "x"); v == nil || v.Kind() != "neither text, a list nor a table" {
		t.Errorf("%+v", v)
	}
	if v := root.Get("project", "gone", "x"); v != nil || v.Kind() != "missing" {
		t.Errorf("%+v", v)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"a = 1\na = 2\n":     "f.toml:2:1: is not TOML:",
		"[project\nname = 1": "f.toml:1:9: the name of a table is",
		"x = \"a\nb":         "f.toml:1:7: a quote is opened and not closed in this line",
		"x = \"a":            "a quote is opened and not closed in this line",
		"x = a":              `f.toml:1:5: "a" cannot begin a value; text stands in quotes`,
		"x = \u201ca\u201d":  "f.toml:1:5: \"\u201c\" cannot begin a value",
		"x =\n":              `f.toml:1:4: the end of the line cannot begin a value`,
		"x = -y":             "cannot begin a value",
		"x: 1":               `f.toml:1:2: ":" stands where a key wants "="`,
		"x = [1 2]":          `f.toml:1:8: "2" stands where the list wants a "," or its "]"`,
		"x = [1, 2":          `"[" is opened and not closed`,
		"}x = 1":             `f.toml:1:1: "}" cannot begin a key; take it out`,
		"x = 'a' b":          `f.toml:1:9: "b" stands behind the end of the value`,
		"x = \"a\\pb\"":      `is none that TOML knows; take single quotes`,
		"[a]\nb = 1\n[a]\n":  "f.toml:3:2: is not TOML: table a already exists",
		"a = [1, 2\nb = 3\n": `f.toml:2:1: "b" stands where the list wants a "," or its "]"`,
	} {
		if _, err := Parse([]byte(text), "f.toml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("[a.b]\nc = [{d = 'e'}]\n[[a.f]]\n[a.f.g]\nh.i = 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if root, err := Parse(data, "f.toml"); (root == nil) == (err == nil) {
			t.Errorf("%v, %v", root, err)
		}
	})
}
