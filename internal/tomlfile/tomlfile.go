// Package tomlfile reads TOML so that every complaint can name its file, line
// and column.
package tomlfile

import (
	"errors"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"crun.dev/crun/internal/yamlfile"
)

// Value is a value with its place: a table, a list, text or something else
// (numbers, dates, true and false), which has none of the three.
type Value struct {
	Pos yamlfile.Position
	// Table has the values by key, for a table; a list of tables ([[a]]) is a
	// list.
	Table map[string]*Value
	// List are the items of a list, nil for others.
	List []*Value
	// Text is that of text, IsText tells it from other values.
	Text   string
	IsText bool
	// IsTrue is for the value true.
	IsTrue bool
}

// Kind names the value's type as a person would.
func (v *Value) Kind() string {
	switch {
	case v == nil:
		return "missing"
	case v.Table != nil:
		return "a table"
	case v.List != nil:
		return "a list"
	case v.IsText:
		return "text"
	}
	return "neither text, a list nor a table"
}

// Get gives the value below tables by their keys, or nil.
func (v *Value) Get(keys ...string) *Value {
	for _, key := range keys {
		if v == nil {
			return nil
		}
		v = v.Table[key]
	}
	return v
}

// Parse reads data, which is UTF-8 with line feeds; file is the name that
// messages show. The error is a *yamlfile.Error.
func Parse(data []byte, file string) (*Value, error) {
	var whole map[string]any
	if err := toml.Unmarshal(data, &whole); err != nil {
		pos := yamlfile.Position{File: file}
		var at *toml.DecodeError
		if errors.As(err, &at) {
			pos.Line, pos.Column = at.Position()
		}
		return nil, slip(err.Error(), data, pos)
	}
	r := &reader{file: file}
	r.parser.Reset(data)
	root := &Value{Pos: yamlfile.Position{File: file, Line: 1, Column: 1}, Table: map[string]*Value{}}
	current := root
	for r.parser.NextExpression() {
		switch node := r.parser.Expression(); node.Kind {
		case unstable.Table:
			current = r.descend(root, node.Key(), false)
		case unstable.ArrayTable:
			current = r.descend(root, node.Key(), true)
		case unstable.KeyValue:
			r.set(current, node)
		}
	}
	return root, nil
}

type reader struct {
	parser unstable.Parser
	file   string
}

// at gives the place of a node; lines count from 1, columns in letters.
func (r *reader) at(node *unstable.Node) yamlfile.Position {
	before := r.parser.Data()[:node.Raw.Offset]
	pos := yamlfile.Position{File: r.file, Line: 1}
	start := 0
	for i, b := range before {
		if b == '\n' {
			pos.Line++
			start = i + 1
		}
	}
	pos.Column = utf8.RuneCount(before[start:]) + 1
	return pos
}

// descend gives the table that a header names, and makes what is not there.
func (r *reader) descend(table *Value, keys unstable.Iterator, list bool) *Value {
	for keys.Next() {
		key := keys.Node()
		next := table.Table[string(key.Data)]
		isLast := keys.IsLast()
		if next == nil {
			next = &Value{Pos: r.at(key)}
			if isLast && list {
				next.List = []*Value{}
			} else {
				next.Table = map[string]*Value{}
			}
			table.Table[string(key.Data)] = next
		}
		if isLast && list {
			item := &Value{Pos: r.at(key), Table: map[string]*Value{}}
			next.List = append(next.List, item)
			return item
		}
		if len(next.List) > 0 { // [a.b] below [[a]] is of its last item
			next = next.List[len(next.List)-1]
		}
		table = next
	}
	return table
}

// set puts "a.b = value" into a table.
func (r *reader) set(table *Value, node *unstable.Node) {
	keys := node.Key()
	for keys.Next() {
		key := keys.Node()
		name := string(key.Data)
		if keys.IsLast() {
			table.Table[name] = r.value(node.Value(), r.at(key))
			return
		}
		next := table.Table[name]
		if next == nil {
			next = &Value{Pos: r.at(key), Table: map[string]*Value{}}
			table.Table[name] = next
		}
		table = next
	}
}

// value reads a value; where it has no place of its own it has its key's.
func (r *reader) value(node *unstable.Node, at yamlfile.Position) *Value {
	v := &Value{Pos: at}
	switch node.Kind {
	case unstable.String:
		v.Pos, v.Text, v.IsText = r.at(node), string(node.Data), true
	case unstable.Bool:
		v.IsTrue = string(node.Data) == "true"
	case unstable.Array:
		v.List = []*Value{}
		for items := node.Children(); items.Next(); {
			if item := items.Node(); item.Kind != unstable.Comment {
				v.List = append(v.List, r.value(item, at))
			}
		}
	case unstable.InlineTable:
		v.Table = map[string]*Value{}
		for pairs := node.Children(); pairs.Next(); {
			if pair := pairs.Node(); pair.Kind == unstable.KeyValue {
				r.set(v, pair)
			}
		}
	}
	return v
}
