package yamlfile

import (
	"fmt"
	"slices"
	"testing"

	"gopkg.in/yaml.v3"
)

func TestPairs(t *testing.T) {
	doc, err := Parse([]byte("a: &name x\n*name : 1\na: 2\n[b]: 3\n? {}\n: 4\nc: 5\n"), "f.yml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for pair := range Pairs(doc.Root, func(key *yaml.Node, message, remedy string) {
		got = append(got, fmt.Sprintf("%d:%d %s; %s", key.Line, key.Column, message, remedy))
	}) {
		got = append(got, fmt.Sprintf("%d:%d %s=%s", pair.Key.Line, pair.Key.Column, pair.Name, pair.Value.Value))
	}
	want := []string{
		"1:1 a=x", "2:1 x=1",
		`3:1 key "a" is here a second time (first on line 1); keep one of them`,
		"4:1 a key is a list; allowed is a word", "5:3 a key is a mapping; allowed is a word",
		"7:1 c=5",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	for range Pairs(doc.Root.Content[1], nil) {
		t.Error("text has a pair")
	}
}

func TestScalar(t *testing.T) {
	doc, err := Parse([]byte("a: ' x '\nb:\nc: [d]\n"), "f.yml")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"x <nil>", " f has no value; give one or remove the line", " f must be a single value, not a list"} {
		text, err := Scalar("f", doc.Root.Content[2*i+1])
		if got := fmt.Sprintf("%s %v", text, err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
