package profiles

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fieldNames has the fields of a profile as a file writes them, in the order
// in which they are shown.
func fieldNames() []string {
	names := []string{"description", "extends"}
	for _, f := range fields {
		name, _, _ := strings.Cut(f.name, ".")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return append(names, "env")
}

func fieldNamed(name string) (field, bool) {
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return fields[i], true
}

// Field is one value of a resolved profile.
type Field struct {
	// Name is the field's, "tmpdir.size" and "env.FOO" for parts.
	Name string
	// Text is the value as a file has it. For a variable that is taken from
	// the host it is "".
	Text string
	// Value is the value for a machine: bytes, seconds, CPUs and counts as
	// numbers; shares, words and "unlimited" as strings; nil for a variable
	// that is taken from the host.
	Value  any
	Source Source
}

// Fields lists what is set, in the order of fieldNames.
func (p *Profile) Fields() []Field {
	var all []Field
	for _, f := range fields {
		if source, ok := p.Origin[f.name]; ok {
			all = append(all, Field{Name: f.name, Text: f.text(p), Value: f.value(p), Source: source})
		}
	}
	for _, v := range p.Env {
		one := Field{Name: "env." + v.Name, Text: v.Value, Source: p.Origin["env."+v.Name]}
		if !v.FromHost {
			one.Value = v.Value
		}
		all = append(all, one)
	}
	return all
}

// Override sets one field to a value as a file would write it, with the same
// checks; "tmpdir" takes SIZE or SIZE,KIND, and a variable is "env.NAME". What
// fields say together is for Check to look at, after the last Override. The
// error names source, the value and what is allowed.
func (p *Profile) Override(name, value string, source Source) error {
	if p.Origin == nil {
		p.Origin = make(map[string]Source)
	}
	if err := p.set(name, value, source); err != nil {
		return &Error{Source: source, Message: err.Error()}
	}
	return nil
}

// set is Override without the place in its error.
func (p *Profile) set(name, value string, source Source) error {
	if name == "tmpdir" {
		dir, err := parseTmpDir(value)
		if err != nil {
			return fmt.Errorf("tmpdir is %q, which %w", value, err)
		}
		p.Origin["tmpdir.size"] = source
		if dir.Kind != "" {
			p.Origin["tmpdir.kind"] = source
		} else if p.TmpDir != nil {
			dir.Kind = p.TmpDir.Kind
		}
		p.TmpDir = &dir
		return nil
	}
	if name == "signal_before_kill" {
		return p.setSignal(value, source)
	}
	if variable, ok := strings.CutPrefix(name, "env."); ok {
		if err := checkEnvName(variable); err != nil {
			return fmt.Errorf("env has %q, which %w", variable, err)
		}
		if err := checkEnvValue(value); err != nil {
			return fmt.Errorf("the value of %s %w", name, err)
		}
		p.setEnv(EnvVar{Name: variable, Value: value})
		p.Origin[name] = source
		return nil
	}
	f, ok := fieldNamed(name)
	if !ok {
		return unknownField(name)
	}
	if err := f.set(p, value); err != nil {
		return fmt.Errorf("%s is %q, which %w", name, value, err)
	}
	p.Origin[name] = source
	return nil
}

// setEnv puts v into the sorted list, which it does not change in place.
func (p *Profile) setEnv(v EnvVar) {
	env := slices.Clone(p.Env)
	i, found := slices.BinarySearchFunc(env, v.Name, func(e EnvVar, name string) int { return strings.Compare(e.Name, name) })
	if found {
		env[i] = v
	} else {
		env = slices.Insert(env, i, v)
	}
	p.Env = env
}

// inherit takes over from parent what p does not set: each field, part of
// tmpdir and variable by itself. Description and final stay p's own.
func (p *Profile) inherit(parent *Profile) {
	for _, f := range fields {
		source, given := parent.Origin[f.name]
		if _, own := p.Origin[f.name]; own || !given || f.name == "final" {
			continue
		}
		f.copy(p, parent)
		p.Origin[f.name] = source
	}
	for _, v := range parent.Env {
		name := "env." + v.Name
		if _, own := p.Origin[name]; !own {
			p.setEnv(v)
			p.Origin[name] = parent.Origin[name]
		}
	}
}

// clone copies p so that no change of the copy reaches p: values behind
// pointers are replaced, never changed in place.
func (p *Profile) clone() *Profile {
	q := *p
	q.Extends = slices.Clone(p.Extends)
	q.Origin = maps.Clone(p.Origin)
	return &q
}
