package environment

import (
	"errors"
	"slices"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/tomlfile"
	"crun.dev/crun/internal/yamlfile"
)

// uvTables are what [tool.uv] says about where packages come from.
type uvTables struct {
	*parser
	root *tomlfile.Value
	// used are the indexes that a package names.
	used map[string]bool
}

// uvTablesOf reads [tool.uv]; nil where there is none.
func (p *parser) uvTablesOf(root *tomlfile.Value) *uvTables {
	if root.Get("tool", "uv") == nil {
		return nil
	}
	return &uvTables{parser: p, root: root, used: map[string]bool{}}
}

// requirementParts takes "name[extras] versions ; marker" apart.
var requirementParts = lazyregexp.New(`^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[[^\]]*\])?\s*([^;@]*?)\s*(?:;(.*))?$`)

// source gives the line of a requirement as [tool.uv.sources] wants it, or text.
func (u *uvTables) source(text string) string {
	if u == nil {
		return text
	}
	m := requirementParts.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	source := byName(u.root.Get("tool", "uv", "sources"), m[1])
	if source == nil {
		return text
	}
	choices := source.List
	if source.Table != nil {
		choices = []*tomlfile.Value{source}
	}
	for _, choice := range choices {
		marker := choice.Get("marker")
		if choice.Table == nil || marker != nil && !u.applies(PipRequirement{Kind: PipPackage, Text: "x; " + marker.Text}) {
			continue
		}
		if extra := firstValue(choice, "extra", "group"); extra != nil && !u.isAsked(extra.Text) {
			continue
		}
		return u.from(choice, text, m)
	}
	return text
}

// isAsked tells whether an extra or a group was asked for.
func (u *uvTables) isAsked(name string) bool {
	return slices.ContainsFunc(slices.Concat(u.opts.ProjectExtras, u.opts.Groups), func(asked string) bool {
		return names.Distribution(asked) == names.Distribution(name)
	})
}

// from is the line of the requirement m, which text is, from one source.
func (u *uvTables) from(source *tomlfile.Value, text string, m []string) string {
	name, marker := m[1]+m[2], ""
	if strings.TrimSpace(m[4]) != "" {
		marker = " ; " + strings.TrimSpace(m[4])
	}
	subdirectory := source.Get("subdirectory")
	value := func(key string) string {
		if v := source.Get(key); v != nil {
			return v.Text
		}
		return ""
	}
	switch {
	case value("git") != "":
		address := strings.TrimPrefix(value("git"), "git+")
		if commit := firstValue(source, "rev", "tag", "branch"); commit != nil {
			address += "@" + commit.Text
		}
		if subdirectory != nil {
			address += "#subdirectory=" + subdirectory.Text
		}
		return name + " @ git+" + address + marker
	case value("url") != "":
		address := value("url")
		if subdirectory != nil {
			address += "#subdirectory=" + subdirectory.Text
		}
		return name + " @ " + address + marker
	case value("path") != "":
		place := value("path")
		if !strings.HasPrefix(place, ".") && !strings.HasPrefix(place, "/") {
			place = "./" + place
		}
		if editable := source.Get("editable"); editable != nil && editable.IsTrue {
			return "-e " + place + m[2] + marker
		}
		return name + " @ " + place + marker
	case value("index") != "":
		u.used[value("index")] = true
		if !exactVersion.MatchString(m[3]) {
			u.find("key-ignored", SeverityWarning, source.Pos, `%s is to come from the index %s alone; crun searches all indexes and takes the newest version: write the one that is meant into dependencies ("%s==VERSION", with the +cu124 or +cpu that the index has)`, m[1], quote(value("index")), m[1])
		}
		return text
	}
	what := "has neither git, url, path nor index"
	if source.Get("workspace") != nil {
		if folder := u.member(m[1]); folder != "" {
			return "-e ./" + folder + m[2] + marker
		}
		what = "is of a workspace, of which no member of that name is found from here"
	}
	u.errorf(source.Pos, `the source of %s %s; write where it lies: %s = { path = "../%s" }`, m[1], what, m[1], m[1])
	return text
}

var exactVersion = lazyregexp.New(`^\s*={2,3}\s*[0-9][^*,]*$`)

// firstValue gives the first of the keys that a table has.
func firstValue(table *tomlfile.Value, keys ...string) *tomlfile.Value {
	for _, key := range keys {
		if v := table.Get(key); v != nil && v.IsText {
			return v
		}
	}
	return nil
}

// options adds the indexes and the constraints of [tool.uv]. It is called once
// all requirements are read.
func (u *uvTables) options(section *PipSection) {
	if u == nil {
		return
	}
	var lines PipSection
	add := func(option string, v *tomlfile.Value) {
		if v == nil {
			return
		}
		r, err := u.pipRequirement(option+" "+v.Text, v.Pos)
		if err != nil {
			u.errorf(v.Pos, "%s %s", quote(v.Text), inTOML.Replace(err.Error()))
			return
		}
		u.addPip(&lines, r, false)
	}
	uv := u.root.Get("tool", "uv")
	if indexes := uv.Get("index"); indexes != nil {
		for _, index := range indexes.List {
			name := ""
			if v := index.Get("name"); v != nil {
				name = v.Text
			}
			is := func(key string) bool { v := index.Get(key); return v != nil && v.IsTrue }
			format := index.Get("format")
			switch {
			case index.Get("url") == nil:
				u.errorf(index.Pos, `the index %s has no url; write url = "https://..."`, quote(name))
			case is("explicit") && !u.used[name]:
			case format != nil && format.Text == "flat":
				add("--find-links", index.Get("url"))
			case is("default"):
				add("--index-url", index.Get("url"))
			default:
				add("--extra-index-url", index.Get("url"))
			}
		}
	}
	add("--index-url", uv.Get("index-url"))
	for _, list := range []struct{ key, option string }{{"extra-index-url", "--extra-index-url"}, {"find-links", "--find-links"}} {
		if v := uv.Get(list.key); v != nil {
			for _, item := range v.List {
				add(list.option, item)
			}
		}
	}
	u.choices(uv, &lines)
	u.versions(uv, "constraint-dependencies", &u.env.Constraints)
	u.versions(uv, "override-dependencies", &u.env.Overrides)
	u.notFollowed(uv)
	section.Requirements = append(lines.Requirements, section.Requirements...)
}

// choices adds the options of [tool.uv] that say which files are taken.
func (u *uvTables) choices(uv *tomlfile.Value, section *PipSection) {
	add := func(text string, pos yamlfile.Position) {
		r, err := u.pipRequirement(text, pos)
		if err != nil {
			u.errorf(pos, "%s %s", quote(text), inTOML.Replace(err.Error()))
			return
		}
		u.addPip(section, r, false)
	}
	if pre := uv.Get("prerelease"); pre != nil && pre.Text == "allow" {
		add("--pre", pre.Pos)
	}
	for _, list := range []struct{ key, option string }{{"no-binary-package", "--no-binary"}, {"no-build-package", "--only-binary"}} {
		v := uv.Get(list.key)
		if v == nil || len(v.List) == 0 {
			continue
		}
		var words []string
		for _, item := range v.List {
			words = append(words, item.Text)
		}
		add(list.option+" "+strings.Join(words, ","), v.Pos)
	}
	for _, flag := range []struct{ key, option string }{{"no-index", "--no-index"}, {"no-binary", "--no-binary :all:"}, {"no-build", "--only-binary :all:"}} {
		if v := uv.Get(flag.key); v != nil && v.IsTrue {
			add(flag.option, v.Pos)
		}
	}
}

// versions reads a list of requirements that ask for nothing themselves.
func (u *uvTables) versions(uv *tomlfile.Value, key string, into *[]PipRequirement) {
	list := uv.Get(key)
	if list == nil {
		return
	}
	for _, item := range list.List {
		r, err := u.pipRequirement(item.Text, item.Pos)
		if err == nil && r.Kind != PipPackage && r.Kind != PipURL && r.Kind != PipVCS {
			err = errors.New("is no package with a version")
		}
		if err != nil {
			u.errorf(item.Pos, "%s %s", quote(item.Text), inTOML.Replace(err.Error()))
			continue
		}
		*into = append(*into, r)
	}
}

// unfollowedKeys are those of [tool.uv] that decide which packages come and that
// crun has no way for, each with what to do.
var unfollowedKeys = []struct{ key, remedy string }{
	{"exclude-dependencies", `packages come with all that they need; keep one away with override-dependencies (["NAME ; sys_platform == 'never'"])`},
	{"exclude-newer", "the newest versions that fit are taken, and crun.lock keeps them"},
	{"exclude-newer-package", "the newest versions that fit are taken, and crun.lock keeps them"},
	{"dependency-metadata", "what a package needs is taken from the package itself; override-dependencies can change it"},
}

func (u *uvTables) notFollowed(uv *tomlfile.Value) {
	for _, one := range unfollowedKeys {
		if v := uv.Get(one.key); v != nil {
			u.find("key-ignored", SeverityWarning, v.Pos, "%s is not followed: %s", one.key, one.remedy)
		}
	}
	if resolution := uv.Get("resolution"); resolution != nil && strings.HasPrefix(resolution.Text, "lowest") {
		u.find("key-ignored", SeverityWarning, resolution.Pos, "resolution = %s is not followed: the newest versions that fit are taken", quote(resolution.Text))
	}
}

// member is the folder of a workspace's member, from the file's, or "". Members
// are patterns of folders, whose last part is mostly a "*".
func (u *uvTables) member(name string) string {
	members := u.root.Get("tool", "uv", "workspace", "members")
	if members == nil || u.opts.ReadFile == nil {
		return ""
	}
	for _, item := range members.List {
		for _, spelling := range []string{name, names.Distribution(name), strings.ReplaceAll(names.Distribution(name), "-", "_")} {
			folder := strings.TrimSuffix(strings.ReplaceAll(item.Text, "*", spelling), "/")
			data, err := u.opts.ReadFile(beside(u.env.File, folder+"/pyproject.toml"))
			if err != nil || folder == "" {
				continue
			}
			project, err := tomlfile.Parse(data, folder)
			if err != nil {
				continue
			}
			if called := project.Get("project", "name"); called != nil && names.Distribution(called.Text) == names.Distribution(name) {
				return folder
			}
		}
	}
	return ""
}
