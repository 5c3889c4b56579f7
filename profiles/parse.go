package profiles

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

// Version is the version of the format of profiles.yaml that is read here.
const Version = "1"

// namePattern is what a profile may be called: a part of a container label
// and of a file name everywhere.
var namePattern = lazyregexp.New(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// definition is a profile as its file has it, before extends.
type definition struct {
	profile   *Profile
	extends   string
	extendsAt Source
	file      *catalogue
}

// catalogue is one parsed file.
type catalogue struct {
	file      File
	index     int      // in Set.files, 0 the nearest
	names     []string // in the order of the file
	defs      map[string]*definition
	fallback  string // the value of default
	defaultAt Source
	// build is the section of that name, nil where there is none.
	build      *Build
	buildFinal bool
	// buildErrs are those of errs that concern it.
	buildErrs []*Error
}

var topLevel = []string{"version", "default", "build", "profiles"}

// parse reads doc into a catalogue, with every mistake in it.
func parse(file File, doc *yamlfile.Document) (*catalogue, []*Error) {
	out := &catalogue{file: file, defs: make(map[string]*definition)}
	p := &parser{doc: doc, out: out}
	if !p.mapping("the file", doc.Root, "version: 1 and profiles: {...}") {
		return out, p.errs
	}
	seen := make(map[string]bool)
	for pair := range p.pairs(doc.Root) {
		name, value := pair.Name, pair.Value
		seen[name] = true
		switch name {
		case "version":
			if text, ok := p.scalar("version", value); ok && text != Version {
				p.errorf(value, "version is %q; this crun reads version %s, a newer file needs a newer crun", text, Version)
				out.buildErrs = append(out.buildErrs, p.errs[len(p.errs)-1])
			}
		case "default":
			if text, ok := p.scalar("default", value); ok {
				out.fallback, out.defaultAt = text, p.at(value)
			}
		case "build":
			before := len(p.errs)
			if !yamlfile.IsNull(value) { // a heading whose entries are commented out
				p.build(file.Layer, value)
			}
			out.buildErrs = append(out.buildErrs, p.errs[before:]...)
		case "profiles":
			if yamlfile.IsNull(value) || !p.mapping("profiles", value, "small: {memory: 4g}") {
				continue
			}
			for profile := range p.pairs(value) {
				p.profile(profile)
			}
		default:
			hint := yamlfile.DidYouMean(name, topLevel)
			if slices.Contains(fieldNames(), name) {
				hint = "; it belongs into a profile, below profiles and its name"
			} else if hint == "" {
				hint = "; a profiles file has " + orList(topLevel)
			}
			p.errorf(pair.Key, "unknown key %q%s", name, hint)
		}
	}
	for _, name := range []string{"version", "profiles"} {
		if !seen[name] && !(name == "profiles" && seen["build"]) {
			p.errs = append(p.errs, &Error{Source: Source{File: file.Name}, Message: missing[name]})
		}
	}
	return out, p.errs
}

var missing = map[string]string{
	"version":  `has no version; write "version: 1" on top (if it is another program's file, read yours with --profiles FILE)`,
	"profiles": `has no profiles; write them below the key "profiles"`,
}

// profile reads one entry below profiles.
func (p *parser) profile(pair yamlfile.Pair) {
	name, key, value := pair.Name, pair.Key, pair.Value
	if !namePattern.MatchString(name) {
		p.errorf(key, "%q is not a name for a profile; write at most 63 of a-z, 0-9, '.', '_' and '-', the first a letter or digit", name)
	}
	profile := &Profile{Name: name, Source: p.at(key), Origin: make(map[string]Source)}
	def := &definition{profile: profile, file: p.out}
	p.out.names = append(p.out.names, name)
	p.out.defs[name] = def
	if yamlfile.IsNull(value) {
		p.errorf(key, "profile %q is empty; give it a field such as memory: 4g, or remove it", name)
		return
	}
	if !p.mapping("profile "+name, value, "{memory: 4g, cpus: 2}") {
		return
	}
	for field := range p.pairs(value) {
		p.field(def, field)
	}
}

// field reads one field of a profile.
func (p *parser) field(def *definition, pair yamlfile.Pair) {
	name, value := pair.Name, pair.Value
	profile, kind := def.profile, yamlfile.Resolve(value).Kind
	switch {
	case name == "description":
		if text, ok := p.scalar(name, value); ok {
			profile.Description = yamlfile.Printable(strings.Join(strings.Fields(text), " "))
		}
	case name == "extends":
		if kind == yaml.SequenceNode {
			p.errorf(value, "extends must name one profile, not a list; let that one extend the next")
		} else if text, ok := p.scalar(name, value); ok {
			def.extends, def.extendsAt = text, p.at(value)
		}
	case name == "env":
		if p.mapping(name, value, "{PYTHONUNBUFFERED: 1}") {
			for variable := range p.pairs(value) {
				p.env(profile, variable)
			}
		}
	case name == "gpus" && kind == yaml.SequenceNode:
		p.gpuIDs(profile, value)
	case parts[name] != nil && kind == yaml.MappingNode:
		for part := range p.pairs(value) {
			whole := name + "." + part.Name
			if !known(whole) {
				p.errorf(part.Key, "unknown field %q in %s; it has %s%s", part.Name, name, andList(parts[name]), yamlfile.DidYouMean(part.Name, parts[name]))
				continue
			}
			p.value(profile, whole, part.Value)
		}
	case strings.Contains(name, ".") || parts[name] == nil && !known(name):
		p.errorf(pair.Key, "%v", unknownField(name))
	default:
		p.value(profile, name, value)
	}
}

func known(name string) bool {
	_, ok := fieldNamed(name)
	return ok
}

func (p *parser) value(profile *Profile, name string, node *yaml.Node) {
	text, ok := p.scalar(name, node)
	if !ok {
		return
	}
	if err := profile.set(name, text, p.at(node)); err != nil {
		p.errorf(node, "%v", err)
	}
}

// env reads one variable. Its value is taken as it is written: 007 stays 007.
func (p *parser) env(profile *Profile, pair yamlfile.Pair) {
	name, value := "env."+pair.Name, yamlfile.Resolve(pair.Value)
	if err := checkEnvName(pair.Name); err != nil {
		p.errorf(pair.Key, "env has %q, which %v", pair.Name, err)
		return
	}
	switch {
	case yamlfile.IsNull(value):
		profile.setEnv(EnvVar{Name: pair.Name, FromHost: true})
	case value.Kind != yaml.ScalarNode:
		p.errorf(pair.Value, "%s must be a single value, not %s", name, yamlfile.Kind(value))
		return
	default:
		if err := checkEnvValue(value.Value); err != nil {
			p.errorf(pair.Value, "the value of %s %v", name, err)
			return
		}
		profile.setEnv(EnvVar{Name: pair.Name, Value: value.Value})
	}
	profile.Origin[name] = p.at(pair.Key)
}

// gpuIDs reads a list of GPUs, each with its own place.
func (p *parser) gpuIDs(profile *Profile, list *yaml.Node) {
	nodes := yamlfile.Resolve(list).Content
	if len(nodes) == 0 {
		p.errorf(list, "gpus is an empty list; write none for no GPU, or name one such as [0]")
		return
	}
	var ids []string
	for _, node := range nodes {
		id, ok := p.scalar("an entry of gpus", node)
		if !ok {
			return
		}
		if err := checkGPUID(id); err != nil {
			p.errorf(node, "gpus names %q, which %v", id, err)
			return
		}
		ids = append(ids, id)
	}
	gpus, err := parseGPUIDs(ids)
	if err != nil {
		p.errorf(list, "gpus %v", err)
		return
	}
	profile.GPUs = &gpus
	profile.Origin["gpus"] = p.at(list)
}
