package lock

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"crun.dev/crun/internal/yamlfile"
	"gopkg.in/yaml.v3"
)

// MaxSize is far above any lock, in bytes: one of 500 packages has 0.5 MB.
const MaxSize = 64 << 20

// remedy ends every complaint: a lock is never mended by hand.
const remedy = `take the file from git again, or remove it and run "crun build"`

// Parse reads the lock of one platform, as an image holds it; file is the name that messages show. It is strict: an
// unknown key, a second one, a value of another form and a newer version are
// refused, each with its position, all in one error.
func Parse(data []byte, file string) (*Lock, error) {
	if i := bytes.Index(append([]byte("\n"), data...), []byte("\n<<<<<<< ")); i >= 0 {
		pos := yamlfile.Position{File: file, Line: bytes.Count(data[:i], []byte("\n")) + 1, Column: 1}
		return nil, yamlfile.Errorf(pos, "a merge conflict is left here; %s", remedy)
	}
	doc, err := yamlfile.ParseGenerated(data, file)
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, remedy)
	}
	if doc.Root == nil || doc.Root.Kind != yaml.MappingNode {
		return nil, yamlfile.Errorf(yamlfile.Position{File: file}, "is no crun.lock; %s", remedy)
	}
	if err := checkVersion(doc); err != nil {
		return nil, err
	}
	w := &walker{doc: doc}
	w.walk(doc.Root, reflect.TypeFor[Lock](), "the lock")
	if len(w.errs) > 0 {
		return nil, errors.Join(w.errs...)
	}
	var l Lock
	if err := doc.Root.Decode(&l); err != nil {
		return nil, yamlfile.Errorf(yamlfile.Position{File: file}, "is no crun.lock; %s", remedy)
	}
	var errs []error
	for _, p := range l.check() {
		errs = append(errs, yamlfile.Errorf(doc.At(find(doc.Root, p.path)), "%s; %s", p, remedy))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &l, nil
}

// checkVersion comes before all else: a newer file may have any keys.
func checkVersion(doc *yamlfile.Document) error {
	node := find(doc.Root, []any{"version"})
	var version int
	if node == doc.Root || node.Decode(&version) != nil || version < 1 {
		return yamlfile.Errorf(doc.At(node), `version is missing or no number; %s`, remedy)
	}
	if version > Version {
		return yamlfile.Errorf(doc.At(node), `version %d is newer than this crun reads (%d); upgrade crun, or remove the file and run "crun build"`, version, Version)
	}
	return nil
}

// find gives the node at path, or the nearest one above it.
func find(node *yaml.Node, path []any) *yaml.Node {
	for _, step := range path {
		next := child(node, step)
		if next == nil {
			return node
		}
		node = next
	}
	return node
}

func child(node *yaml.Node, step any) *yaml.Node {
	switch step := step.(type) {
	case int:
		if node.Kind == yaml.SequenceNode && step < len(node.Content) {
			return node.Content[step]
		}
	case string:
		if node.Kind != yaml.MappingNode {
			return nil
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i+1]
			}
		}
	}
	return nil
}

// walker compares a tree with the types that it is to be decoded into, since
// the decoder's own complaints name Go types and lose their columns.
type walker struct {
	doc  *yamlfile.Document
	errs []error
}

func (w *walker) errorf(node *yaml.Node, format string, args ...any) {
	w.errs = append(w.errs, yamlfile.Errorf(w.doc.At(node), "%s; %s", fmt.Sprintf(format, args...), remedy))
}

func (w *walker) walk(node *yaml.Node, t reflect.Type, name string) {
	if t == reflect.TypeFor[Request]() {
		t = reflect.TypeFor[requestYAML]()
	}
	want := map[reflect.Kind]string{
		reflect.Struct: "a mapping", reflect.Slice: "a list", reflect.Bool: "true or false",
		reflect.Int: "a number", reflect.Int64: "a number", reflect.String: "text",
	}[t.Kind()]
	kind := yamlfile.Kind(node)
	switch {
	case node.Kind == yaml.AliasNode:
		kind = "an alias"
	case node.Tag == "!!float" && kind == want:
		kind = "a number with a point"
	}
	if kind != want {
		w.errorf(node, "%s is %s; allowed is %s", name, kind, want)
		return
	}
	switch t.Kind() {
	case reflect.Slice:
		for _, item := range node.Content {
			w.walk(item, t.Elem(), "an item of "+name)
		}
	case reflect.Struct:
		w.mapping(node, fields(t))
	}
}

func (w *walker) mapping(node *yaml.Node, allowed map[string]reflect.Type) {
	names := slices.Sorted(maps.Keys(allowed))
	complain := func(key *yaml.Node, message, _ string) { w.errorf(key, "%s", message) }
	for pair := range yamlfile.Pairs(node, complain) {
		if allowed[pair.Name] == nil {
			w.errorf(pair.Key, "unknown key %q%s", pair.Name, yamlfile.DidYouMean(pair.Name, names))
			continue
		}
		w.walk(pair.Value, allowed[pair.Name], pair.Name)
	}
}

// fields gives the keys of t's YAML and their types.
func fields(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			for name, inner := range fields(field.Type) {
				all[name] = inner
			}
		case name != "-":
			all[name] = field.Type
		}
	}
	return all
}
