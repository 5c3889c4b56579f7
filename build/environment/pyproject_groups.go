package environment

import (
	"maps"
	"slices"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/tomlfile"
	"crun.dev/crun/internal/yamlfile"
)

// maxGroups bounds how deep extras and groups name one another.
const maxGroups = 50

// noExtras refuses --extra and --group for a file that can have none.
func (o Options) noExtras() error {
	if len(o.ProjectExtras)+len(o.Groups) == 0 {
		return nil
	}
	flag := "--group " + strings.Join(o.Groups, " --group ")
	if len(o.ProjectExtras) > 0 {
		flag = "--extra " + strings.Join(o.ProjectExtras, " --extra ")
	}
	return yamlfile.Errorf(yamlfile.Position{File: fileName(o)}, `has no extras and no groups, which a pyproject.toml alone has; name that file, or leave %q out`, flag)
}

// extras adds the packages of the extras and groups that are asked for.
func (p *parser) extras(section *PipSection, root *tomlfile.Value) {
	g := groups{parser: p, section: section, root: root, seen: map[string]bool{}, poetry: p.poetryOf(root, section)}
	if name := root.Get("project", "name"); name != nil {
		g.self = names.Distribution(name.Text)
	}
	for _, name := range p.opts.ProjectExtras {
		g.extra(name, root.Pos, "--extra "+name)
	}
	for _, name := range p.opts.Groups {
		g.group(name, root.Pos, "--group "+name)
	}
}

// groups reads extras (PEP 621) and dependency groups (PEP 735) of one file.
type groups struct {
	*parser
	section *PipSection
	root    *tomlfile.Value
	// poetry are Poetry's groups, or nil.
	poetry *poetry
	// self is the project's own name: "lab[plot]" in its own lists means its extra.
	self string
	// seen are the lists that were taken; path those that are being read.
	seen map[string]bool
	path []string
}

// enter tells whether the list called what is still to be read. Groups must not
// go round in a circle (PEP 735); extras may, and installers take each once.
func (g *groups) enter(what string, at yamlfile.Position) bool {
	if i := slices.Index(g.path, what); i >= 0 && strings.HasPrefix(what, "the group ") {
		g.errorf(at, "%s goes round in a circle (%s); take one of them out", what, strings.Join(append(g.path[i:], what), " -> "))
		return false
	}
	if g.seen[what] {
		return false
	}
	if len(g.path) == maxGroups {
		g.errorf(at, "%s is one inside another for more than %d times; name what is wanted itself", what, maxGroups)
		return false
	}
	g.seen[what] = true
	g.path = append(g.path, what)
	return true
}

func (g *groups) leave() { g.path = g.path[:len(g.path)-1] }

// extra adds what [project.optional-dependencies] has under name; asked is how
// that was written, at.
func (g *groups) extra(name string, at yamlfile.Position, asked string) {
	table := g.root.Get("project", "optional-dependencies")
	list := byName(table, name)
	if list == nil {
		if files := byName(g.root.Get("tool", "setuptools", "dynamic", "optional-dependencies"), name); files != nil && isDynamic(g.root.Get("project"), "optional-dependencies") {
			if g.enter("the extra "+names.Distribution(name), at) {
				g.files(g.section, files.Get("file"))
				g.leave()
			}
			return
		}
		g.missing(at, asked, "extra", "[project.optional-dependencies]", table, g.root.Get("dependency-groups"), name, "--group")
		return
	}
	if g.enter("the extra "+names.Distribution(name), at) {
		g.list(list)
		g.leave()
	}
}

// group adds what [dependency-groups] has under name.
func (g *groups) group(name string, at yamlfile.Position, asked string) {
	table := g.root.Get("dependency-groups")
	list := byName(table, name)
	if list == nil {
		if g.poetry.group(name) {
			return
		}
		if old := g.root.Get("tool", "uv", "dev-dependencies"); old != nil && name == "dev" { // uv before 0.4.27
			g.list(old)
			return
		}
		if g.poetry != nil && table == nil {
			table = g.poetry.table.Get("group")
		}
		g.missing(at, asked, "group", "[dependency-groups]", table, g.root.Get("project", "optional-dependencies"), name, "--extra")
		return
	}
	if g.enter("the group "+names.Distribution(name), at) {
		g.list(list)
		g.leave()
	}
}

// list reads requirements, "include-group" and what the project names of itself.
func (g *groups) list(list *tomlfile.Value) {
	if list.List == nil {
		g.errorf(list.Pos, `is %s; allowed is a list: ["ruff", "pytest>=8"]`, list.Kind())
		return
	}
	for _, item := range list.List {
		if include := item.Get("include-group"); include != nil && include.IsText && len(item.Table) == 1 {
			g.group(include.Text, include.Pos, "include-group "+quote(include.Text))
			continue
		}
		if m := selfExtras.FindStringSubmatch(item.Text); m != nil && g.self != "" && names.Distribution(m[1]) == g.self {
			for extra := range strings.SplitSeq(m[2], ",") {
				g.extra(strings.TrimSpace(extra), item.Pos, quote(item.Text))
			}
			continue
		}
		g.pyprojectLine(g.section, item)
	}
}

var selfExtras = lazyregexp.New(`^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*\[([^\]]*)\]\s*$`)

// missing names the lists that there are.
func (g *groups) missing(at yamlfile.Position, asked, kind, header string, table, other *tomlfile.Value, name, flag string) {
	if byName(other, name) != nil {
		g.errorf(at, "has no %s for %s; it has one under that name for %s", kind, asked, flag)
		return
	}
	if table == nil || len(table.Table) == 0 {
		g.errorf(at, "has no %s for %s: it has no %s", kind, asked, header)
		return
	}
	known := slices.Sorted(maps.Keys(table.Table))
	hint := yamlfile.DidYouMean(name, known)
	if hint == "" {
		hint = "; there are " + strings.Join(known, ", ")
	}
	if strings.HasPrefix(asked, "--") {
		at = table.Pos // the command line has no place in the file
	}
	g.errorf(at, "has no %s for %s%s", kind, asked, hint)
}

// byName finds a list by its name, in any spelling (PEP 685, PEP 735).
func byName(table *tomlfile.Value, name string) *tomlfile.Value {
	if table == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(table.Table)) {
		if names.Distribution(key) == names.Distribution(name) {
			return table.Table[key]
		}
	}
	return nil
}

// files reads the requirements files that setuptools is told to take.
func (p *parser) files(section *PipSection, files *tomlfile.Value) {
	if files == nil {
		return
	}
	list := files.List
	if files.IsText {
		list = []*tomlfile.Value{files}
	}
	for _, file := range list {
		r, err := p.pipRequirement("-r "+file.Text, file.Pos)
		if err != nil {
			p.errorf(file.Pos, "%s %s", quote(file.Text), err)
			continue
		}
		p.addPip(section, r, false)
	}
}
