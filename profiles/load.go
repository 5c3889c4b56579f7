package profiles

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

// Load reads files, the nearest first, and checks every profile in them,
// those too that a nearer file hides. The error joins an *Error for each
// mistake, in the order of the files and their lines; the Set is nil then. A
// file of the Project layer that another program owns is left out with a
// Warning.
func Load(files []File) (*Set, []Warning, error) {
	l := &loader{set: &Set{resolved: make(map[*definition]*Profile)}, order: make(map[string]int)}
	for _, file := range files {
		l.read(file)
	}
	for i, file := range l.set.files {
		l.final(file)
		if file.fallback != "" && l.set.lookup(file.fallback, i) == nil {
			l.errorf(file.defaultAt, "default is %q, which is no profile here%s", file.fallback, l.set.known(file.fallback, i))
		}
		for _, name := range file.names {
			l.check(file.defs[name])
		}
	}
	if len(l.errs) > 0 {
		return nil, l.warnings, l.joined()
	}
	return l.set, l.warnings, nil
}

// loader collects what is wrong while a Set is put together.
type loader struct {
	set      *Set
	order    map[string]int // files by name, the nearest 0
	warnings []Warning
	errs     []*Error
	// buildOnly leaves out what is wrong with profiles.
	buildOnly bool
}

func (l *loader) errorf(at Source, format string, args ...any) {
	l.errs = append(l.errs, &Error{Source: at, Message: fmt.Sprintf(format, args...)})
}

// joined puts the mistakes in order and drops those that several profiles
// inherit from one place.
func (l *loader) joined() error {
	slices.SortStableFunc(l.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(l.order[a.Source.File], l.order[b.Source.File]), cmp.Compare(a.Source.Line, b.Source.Line), cmp.Compare(a.Source.Column, b.Source.Column))
	})
	var all []error
	for i, err := range l.errs {
		if i == 0 || err.Error() != l.errs[i-1].Error() {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// ourKeys finds the start of a profiles file in one that does not parse.
var ourKeys = lazyregexp.New(`(?m)^(version|profiles)[ \t]*:`)

func (l *loader) read(file File) {
	l.order[file.Name] = len(l.order)
	ignored := func(why string) {
		l.warnings = append(l.warnings, Warning{Source: Source{File: file.Name}, Message: why})
	}
	doc, err := yamlfile.Parse(file.Data, file.Name)
	switch {
	case err != nil && file.Layer == Project && !ourKeys.Match(file.Data):
		ignored(notOurs)
		return
	case err != nil:
		var syntax *yamlfile.Error
		if errors.As(err, &syntax) {
			l.errorf(Source(syntax.Position), "%s", syntax.Message)
		} else {
			l.errorf(Source{File: file.Name}, "%v", err)
		}
		return
	case doc.Root == nil:
		ignored("is empty; nothing is taken from it")
		return
	case file.Layer == Project && !hasOurKeys(doc.Root):
		ignored(notOurs)
		return
	}
	parsed, errs := parse(file, doc)
	if l.buildOnly {
		errs = parsed.buildErrs
	}
	l.errs = append(l.errs, errs...)
	parsed.index = len(l.set.files)
	l.set.files = append(l.set.files, parsed)
}

const notOurs = `is left out: it has neither "version" nor "profiles", so it seems to be another program's; if it is meant for crun, write "version: 1" on top`

func hasOurKeys(root *yaml.Node) bool {
	if root.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(root.Content); i += 2 {
		if key := root.Content[i].Value; key == "version" || key == "profiles" {
			return true
		}
	}
	return false
}

// final refuses names that the system's file keeps for itself.
func (l *loader) final(system *catalogue) {
	for _, name := range system.names {
		kept := system.defs[name].profile
		if kept.Final == nil || !*kept.Final {
			continue
		}
		if layer := system.file.Layer; layer != System {
			if layer == User || layer == Project {
				l.warnings = append(l.warnings, Warning{Profile: name, Source: kept.Origin["final"], Message: "final has no effect here; only the system's profiles.yaml can keep a name"})
			}
			continue
		}
		for _, near := range l.set.files[:system.index] {
			if def := near.defs[name]; def != nil {
				l.errorf(def.profile.Source, "profile %q is final at %s and cannot be redefined; give yours another name, with extends: %s if it is to build on it", name, kept.Source, name)
			}
		}
	}
}

// check resolves a profile and looks at what its fields say together.
func (l *loader) check(def *definition) {
	profile := l.resolve(def, nil)
	warnings, errs := profile.check(def.profile.Origin)
	l.errs = append(l.errs, errs...)
	l.warnings = append(l.warnings, warnings...)
}

// resolve applies extends. path has the definitions that are being resolved.
func (l *loader) resolve(def *definition, path []*definition) *Profile {
	if profile := l.set.resolved[def]; profile != nil {
		return profile
	}
	if start := slices.Index(path, def); start >= 0 {
		l.circle(path[start:])
		return &Profile{}
	}
	profile := def.profile.clone()
	if def.extends != "" {
		from := def.file.index
		if def.extends == profile.Name && l.set.lookup(def.extends, from+1) != nil {
			from++ // the farther profile of the same name
		}
		if parent := l.set.lookup(def.extends, from); parent == nil {
			l.errorf(def.extendsAt, "extends is %q, which is no profile in this file or a farther one%s", def.extends, l.set.known(def.extends, from))
		} else {
			base := l.resolve(parent, append(path, def))
			profile.inherit(base)
			profile.Extends = append([]string{base.Name}, base.Extends...)
		}
	}
	if profile.TmpDir != nil && profile.TmpDir.Kind == "" {
		profile.TmpDir = &TmpDir{Size: profile.TmpDir.Size, Kind: TmpFS}
	}
	l.set.resolved[def] = profile
	return profile
}

// circle complains about profiles that extend each other.
func (l *loader) circle(defs []*definition) {
	var names, places []string
	for i, def := range defs {
		names = append(names, def.profile.Name)
		next := defs[(i+1)%len(defs)].profile.Name
		places = append(places, fmt.Sprintf("%s extends %s at %s", def.profile.Name, next, def.extendsAt))
	}
	names = append(names, names[0])
	l.errorf(defs[0].extendsAt, "profiles extend each other in a circle, %s (%s); remove one extends", strings.Join(names, " -> "), strings.Join(places, ", "))
}
