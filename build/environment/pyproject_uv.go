package environment

import (
	"slices"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/tomlfile"
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
		what = "is of a workspace, which crun does not read"
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
	if list := uv.Get("constraint-dependencies"); list != nil {
		for _, item := range list.List {
			r, err := u.pipRequirement(item.Text, item.Pos)
			if err != nil {
				u.errorf(item.Pos, "%s %s", quote(item.Text), inTOML.Replace(err.Error()))
				continue
			}
			u.addPip(&lines, r, true)
		}
	}
	if list := uv.Get("override-dependencies"); list != nil && len(list.List) > 0 {
		u.find("key-ignored", SeverityWarning, list.Pos, `override-dependencies is not followed: crun installs no package against what another one says that it needs; hold versions with constraint-dependencies, or leave the package that asks for others out`)
	}
	section.Requirements = append(lines.Requirements, section.Requirements...)
}
