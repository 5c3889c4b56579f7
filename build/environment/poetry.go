package environment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/tomlfile"
)

// poetry reads Poetry's own tables, [tool.poetry.*].
type poetry struct {
	*parser
	section *PipSection
	table   *tomlfile.Value
	sources *uvTables
	seen    map[string]bool
}

func (p *parser) poetryOf(root *tomlfile.Value, section *PipSection) *poetry {
	table := root.Get("tool", "poetry")
	if table == nil {
		return nil
	}
	return &poetry{parser: p, section: section, table: table, sources: &uvTables{parser: p, root: root, used: map[string]bool{}}, seen: map[string]bool{}}
}

// poetryFile reads a file whose packages stand in [tool.poetry.dependencies].
func (p *parser) poetryFile(root *tomlfile.Value) {
	p.code = codeBadRequirement
	var section PipSection
	po := p.poetryOf(root, &section)
	list := po.table.Get("dependencies")
	name := ""
	if v := po.table.Get("name"); v != nil {
		name = v.Text
	}
	if p.env.Name == "" {
		p.env.Name = safeName(name)
	}
	po.python(list.Get("python"))
	p.addPython(list.Pos)
	po.packages(list)
	for _, asked := range p.opts.ProjectExtras {
		if extras := po.table.Get("extras"); byName(extras, asked) == nil {
			p.errorf(list.Pos, "has no extra for --extra %s%s", asked, known(extras, asked))
		}
	}
	g := groups{parser: p, section: &section, root: root, seen: map[string]bool{}, poetry: po}
	for _, asked := range p.opts.Groups {
		g.group(asked, list.Pos, "--group "+asked)
	}
	po.indexes()
	module := strings.ReplaceAll(names.Distribution(name), "-", "_")
	isPackage := module != "" && p.opts.Exists != nil && (p.opts.Exists(beside(p.env.File, module)) || p.opts.Exists(beside(p.env.File, "src/"+module)))
	if isPackage && root.Get("build-system") != nil && len(p.errs) == 0 {
		r, err := p.pipRequirement("-e .", root.Get("build-system").Pos)
		if err != nil {
			panic(err)
		}
		p.place(&r)
		section.Requirements = append(section.Requirements, r)
	}
	p.addSection(section, list.Pos)
}

// beside is a name in the folder of file.
func beside(file, name string) string { return file[:strings.LastIndexByte(file, '/')+1] + name }

// known names what a table has: the likely one, or all.
func known(table *tomlfile.Value, name string) string {
	if table == nil || len(table.Table) == 0 {
		return "; it has none"
	}
	return "; there are " + strings.Join(slices.Sorted(maps.Keys(table.Table)), ", ")
}

// python chooses a Python that Poetry's constraint allows.
func (po *poetry) python(value *tomlfile.Value) {
	if value == nil {
		return
	}
	text := *value
	if version := value.Get("version"); version != nil {
		text = *version
	}
	clauses, err := poetryVersions(text.Text)
	if err != nil {
		po.errorf(text.Pos, "python %s", err)
		return
	}
	if clauses == "" {
		return
	}
	po.requiresPython(&tomlfile.Value{Pos: text.Pos, Table: map[string]*tomlfile.Value{
		"requires-python": {Pos: text.Pos, Text: clauses, IsText: true},
	}})
}

// packages reads a table of packages by name.
func (po *poetry) packages(table *tomlfile.Value) {
	// In the order of the file: a table has none of its own.
	keys := slices.SortedFunc(maps.Keys(table.Table), func(a, b string) int {
		x, y := table.Table[a].Pos, table.Table[b].Pos
		return 1000*(x.Line-y.Line) + x.Column - y.Column
	})
	for _, name := range keys {
		if name == "python" {
			continue
		}
		value := table.Table[name]
		choices := value.List
		if choices == nil {
			choices = []*tomlfile.Value{value}
		}
		for _, choice := range choices {
			po.add(name, choice)
		}
	}
}

// add reads one package: its version, or a table with more.
func (po *poetry) add(name string, value *tomlfile.Value) {
	version := value
	if value.Table != nil {
		version = value.Get("version")
	}
	if value.Table == nil && !value.IsText {
		po.errorf(value.Pos, `%s is %s; allowed is a version in quotes ("^1.2", "*") or a table`, name, value.Kind())
		return
	}
	if optional := value.Get("optional"); optional != nil && optional.IsTrue && !po.isAsked(name) {
		return
	}
	clauses := ""
	if version != nil {
		var err error
		if clauses, err = poetryVersions(version.Text); err != nil {
			po.errorf(version.Pos, "%s %s", name, err)
			return
		}
	}
	extras := ""
	if list := value.Get("extras"); list != nil {
		var words []string
		for _, extra := range list.List {
			words = append(words, extra.Text)
		}
		extras = "[" + strings.Join(words, ",") + "]"
	}
	marker, err := poetryMarker(value)
	if err != nil {
		po.errorf(value.Pos, "%s %s", name, err)
		return
	}
	text := name + extras + clauses
	if marker != "" {
		text += "; " + marker
	}
	source := poetrySource(value)
	if len(source.Table) > 0 {
		text = po.sources.from(source, text, []string{text, name, extras, clauses, marker})
	}
	if pre := value.Get("allow-prereleases"); pre != nil && pre.IsTrue {
		po.find("key-ignored", SeverityWarning, pre.Pos, "allow-prereleases is not followed: name a version of %s that is one", name)
	}
	r, err := po.pipRequirement(text, value.Pos)
	if err != nil {
		po.errorf(value.Pos, "%s %s", quote(text), inTOML.Replace(err.Error()))
		return
	}
	po.addPip(po.section, r, false)
}

// poetrySource gives the place that a package's table names, in uv's words.
func poetrySource(value *tomlfile.Value) *tomlfile.Value {
	source := &tomlfile.Value{Pos: value.Pos, Table: map[string]*tomlfile.Value{}}
	for key, uv := range map[string]string{
		"git": "git", "rev": "rev", "tag": "tag", "branch": "branch", "subdirectory": "subdirectory",
		"url": "url", "path": "path", "file": "path", "develop": "editable", "source": "index",
	} {
		if v := value.Get(key); v != nil {
			source.Table[uv] = v
		}
	}
	return source
}

// isAsked tells whether an extra that is asked for has an optional package.
func (po *poetry) isAsked(name string) bool {
	for _, asked := range po.opts.ProjectExtras {
		extra := byName(po.table.Get("extras"), asked)
		if extra != nil && slices.ContainsFunc(extra.List, func(item *tomlfile.Value) bool {
			return names.Distribution(item.Text) == names.Distribution(name)
		}) {
			return true
		}
	}
	return false
}

// group reads Poetry's group called name; false where there is none.
func (po *poetry) group(name string) bool {
	if po == nil {
		return false
	}
	group := byName(po.table.Get("group"), name)
	list := group.Get("dependencies")
	if dev := po.table.Get("dev-dependencies"); group == nil && name == "dev" {
		list = dev // Poetry before 1.2
	}
	if list == nil && group.Get("include-groups") == nil {
		return false
	}
	if po.seen[names.Distribution(name)] {
		return true
	}
	po.seen[names.Distribution(name)] = true
	if list != nil {
		po.packages(list)
	}
	if include := group.Get("include-groups"); include != nil {
		for _, item := range include.List {
			if !po.group(item.Text) {
				po.errorf(item.Pos, "has no group %s%s", quote(item.Text), known(po.table.Get("group"), item.Text))
			}
		}
	}
	return true
}

// indexes adds [[tool.poetry.source]].
func (po *poetry) indexes() {
	sources := po.table.Get("source")
	if sources == nil {
		return
	}
	for _, source := range sources.List {
		address, priority, name := source.Get("url"), "", ""
		if v := source.Get("priority"); v != nil {
			priority = v.Text
		}
		if v := source.Get("name"); v != nil {
			name = v.Text
		}
		if address == nil || priority == "explicit" && !po.sources.used[name] {
			continue // PyPI itself has no address there
		}
		option := "--extra-index-url "
		if v := source.Get("default"); priority == "default" || v != nil && v.IsTrue {
			option = "--index-url "
		}
		r, err := po.pipRequirement(option+address.Text, address.Pos)
		if err != nil {
			po.errorf(address.Pos, "%s %s", quote(address.Text), inTOML.Replace(err.Error()))
			continue
		}
		po.section.Requirements = append([]PipRequirement{r}, po.section.Requirements...)
	}
}

// poetryMarker joins the conditions of a package's table.
func poetryMarker(value *tomlfile.Value) (string, error) {
	var parts []string
	if v := value.Get("markers"); v != nil {
		parts = append(parts, "("+v.Text+")")
	}
	if v := value.Get("platform"); v != nil {
		parts = append(parts, fmt.Sprintf(`sys_platform == "%s"`, v.Text))
	}
	if v := value.Get("python"); v != nil {
		clauses, err := poetryVersions(v.Text)
		if err != nil {
			return "", fmt.Errorf("is for a python that %w", err)
		}
		for clause := range strings.SplitSeq(clauses, ",") {
			number := strings.TrimLeft(clause, "=!<>~")
			if number == "" {
				continue
			}
			variable := "python_version"
			if strings.Count(number, ".") > 1 && !strings.HasSuffix(number, "*") {
				variable = "python_full_version"
			}
			parts = append(parts, fmt.Sprintf(`%s %s "%s"`, variable, clause[:len(clause)-len(number)], number))
		}
	}
	if len(parts) == 1 {
		return strings.TrimSuffix(strings.TrimPrefix(parts[0], "("), ")"), nil
	}
	return strings.Join(parts, " and "), nil
}

var poetryClause = lazyregexp.New(`^(\^|~|===?|~=|!=|<=|>=|<|>|=)?\s*v?([0-9]+(?:\.[0-9]+)*)([-._+A-Za-z0-9]*)(\.\*)?$`)

// poetryVersions writes Poetry's "^1.2", "~1.2", "1.2" and "1.*" as pip has them.
// See https://python-poetry.org/docs/dependency-specification/.
func poetryVersions(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "*" || text == "" {
		return "", nil
	}
	if strings.Contains(text, "|") {
		return "", fmt.Errorf(`has the version %s, of which pip knows no alternatives; write one range (">=1.2,<3")`, quote(text))
	}
	var clauses []string
	for _, clause := range strings.FieldsFunc(operatorBlank.ReplaceAllString(text, "$1"), func(c rune) bool { return c == ',' || c == ' ' }) {
		m := poetryClause.FindStringSubmatch(clause)
		if m == nil {
			return "", fmt.Errorf(`has the version %s; allowed are such as "^1.2", "~1.2", ">=1.2,<2", "1.2.*" and "*"`, quote(text))
		}
		operator, number, more, star := m[1], m[2], m[3], m[4]
		switch operator {
		case "^", "~":
			clauses = append(clauses, ">="+number+more, "<"+poetryEnd(operator, number))
		case "", "=":
			clauses = append(clauses, "=="+number+more+star)
		default:
			clauses = append(clauses, operator+number+more+star)
		}
	}
	return strings.Join(clauses, ","), nil
}

var operatorBlank = lazyregexp.New(`([\^~=!<>])\s+`)

// poetryEnd is the first version behind "^number" or "~number".
func poetryEnd(operator, number string) string {
	parts := strings.Split(number, ".")
	last := min(1, len(parts)-1) // "~1.2.3" ends at 1.3, "~1" at 2
	if operator == "^" {         // the first that is not 0, else the last
		last = slices.IndexFunc(parts, func(part string) bool { return strings.Trim(part, "0") != "" })
		if last < 0 {
			last = len(parts) - 1
		}
	}
	n, _ := strconv.Atoi(parts[last]) // a number, by the pattern
	return strings.Join(append(slices.Clone(parts[:last]), strconv.Itoa(n+1)), ".")
}
