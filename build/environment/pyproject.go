package environment

import (
	"strings"

	"crun.dev/crun/internal/tomlfile"
)

// foreignTables are those of tools whose packages stand in a form of their own,
// with what to do.
var foreignTables = []struct {
	keys   []string
	remedy string
}{
	{[]string{"tool", "pixi", "dependencies"}, `are pixi's own form; "pixi workspace export conda-environment environment.yml" writes the file to build`},
	{[]string{"dependencies"}, `are pixi's or Cargo's own form; for pixi "pixi workspace export conda-environment environment.yml" writes the file to build`},
	{[]string{"packages"}, `are pipenv's own form; "pipenv requirements > requirements.txt" writes the file to build`},
	{[]string{"tool", "pdm", "dev-dependencies"}, `are PDM's own form; "pdm export -o requirements.txt" writes the file to build`},
	{[]string{"tool", "flit", "metadata", "requires"}, `are flit's old form; move them to [project] dependencies`},
	{[]string{"tool", "setuptools", "dynamic", "optional-dependencies"}, `are optional alone; name the ones that are wanted with --extra NAME`},
}

// pyprojectFile reads a pyproject.toml (PEP 621): the project's dependencies, in an
// environment of a Python that it allows.
func (p *parser) pyprojectFile(text string) {
	p.env.Name = safeName(p.opts.FolderName)
	p.code = codeOtherFile
	root, err := tomlfile.Parse([]byte(text), p.env.File)
	if err != nil {
		p.errs = append(p.errs, coded(err, codeNotTOML))
		return
	}
	project := root.Get("project")
	if project == nil && root.Get("dependency-groups") != nil && len(p.opts.Groups) > 0 {
		// Groups need no project.
		project = &tomlfile.Value{Pos: root.Pos, Table: map[string]*tomlfile.Value{}}
	}
	hasPoetry := root.Get("tool", "poetry", "dependencies") != nil
	if project == nil && hasPoetry {
		p.poetryFile(root)
		return
	}
	if project == nil || project.Table == nil {
		p.noProject(root)
		return
	}
	p.code = codeBadRequirement
	if name := project.Get("name"); name != nil && name.IsText && p.env.Name == "" {
		p.env.Name = safeName(name.Text)
	}
	p.requiresPython(project)
	at := project.Pos
	if list := project.Get("dependencies"); list != nil {
		at = list.Pos
	}
	p.addPython(at)
	p.uv = p.uvTablesOf(root)
	var section PipSection
	if list := project.Get("dependencies"); list != nil {
		p.pyprojectLines(&section, list)
	} else if isDynamic(project, "dependencies") && hasPoetry {
		po := p.poetryOf(root, &section) // Poetry 2
		po.packages(root.Get("tool", "poetry", "dependencies"))
		po.indexes()
	} else if isDynamic(project, "dependencies") {
		p.dynamic(&section, project.Get("dynamic"), root)
	}
	p.extras(&section, root)
	p.uv.options(&section)
	if build := root.Get("build-system"); build != nil && len(p.errs) == 0 {
		// The project is a package: a run imports it from where it lies.
		r, err := p.pipRequirement("-e .", build.Pos)
		if err != nil {
			panic(err)
		}
		p.place(&r)
		section.Requirements = append(section.Requirements, r)
	}
	p.addSection(section, at)
	p.besideProject(root, hasPoetry && project.Get("dependencies") == nil && isDynamic(project, "dependencies"))
}

// besideTables are tables of tools beside [project] that say something of its
// packages.
var besideTables = []struct {
	tool, owner string
	keys        []string
	what        string
}{
	{"pdm", "PDM's", []string{"source"}, besideIndex},
	{"poetry", "Poetry's", []string{"source"}, besideIndex},
	{"poetry", "Poetry's", []string{"dependencies"}, `write its packages and versions among the dependencies of [project]`},
	{"pixi", "pixi's", []string{"dependencies", "pypi-dependencies"}, `its packages are left out: "pixi workspace export conda-environment environment.yml" writes a file with them`},
}

const besideIndex = `packages come from the index that pip uses; write "--extra-index-url URL" and "-e ." into a requirements.txt for others`

// besideProject tells of those that the file has. Poetry's may have been read.
func (p *parser) besideProject(root *tomlfile.Value, isPoetryRead bool) {
	for _, beside := range besideTables {
		for _, key := range beside.keys {
			if table := root.Get("tool", beside.tool, key); table != nil && !(isPoetryRead && beside.tool == "poetry") {
				p.find("key-ignored", SeverityWarning, table.Pos, "[tool.%s.%s] is %s own and not followed: %s", beside.tool, key, beside.owner, beside.what)
			}
		}
	}
}

// noProject says what a file without [project] is.
func (p *parser) noProject(root *tomlfile.Value) {
	if members := root.Get("tool", "uv", "workspace", "members"); members != nil {
		var folders []string
		for _, item := range members.List {
			folders = append(folders, item.Text)
		}
		p.errorf(members.Pos, "is the root of a workspace of uv and asks for no packages itself; name the pyproject.toml of one of its members (%s)", strings.Join(folders, ", "))
		return
	}
	for _, foreign := range foreignTables {
		if table := root.Get(foreign.keys...); table != nil {
			p.errorf(table.Pos, "the packages of [%s] %s", strings.Join(foreign.keys, "."), foreign.remedy)
			return
		}
	}
	p.errorf(root.Pos, `has no [project] table, so it asks for no packages; write [project] with dependencies = ["torch"], or a requirements.txt or environment.yml`)
}

// pyprojectLines reads a list of PEP 508 requirements.
func (p *parser) pyprojectLines(section *PipSection, list *tomlfile.Value) {
	if list.List == nil {
		p.errorf(list.Pos, `dependencies is %s; allowed is a list: ["torch==2.4.0", "tqdm"]`, list.Kind())
		return
	}
	for _, item := range list.List {
		p.pyprojectLine(section, item)
	}
}

// pyprojectLine reads one PEP 508 requirement.
func (p *parser) pyprojectLine(section *PipSection, item *tomlfile.Value) {
	text := strings.TrimSpace(item.Text)
	switch {
	case !item.IsText:
		p.errorf(item.Pos, "the item is %s, not a requirement; write it in quotes", item.Kind())
		return
	case len(text) > maxItem:
		p.errorf(item.Pos, "the item is %d bytes long; a requirement has at most %d", len(text), maxItem)
		return
	case strings.HasPrefix(text, "-"):
		p.errorf(item.Pos, "%s is an option of pip, which [project] cannot hold; write it into a requirements.txt with \"-e .\", and build that", quote(text))
		return
	}
	text = p.uv.source(text)
	r, err := p.pipRequirement(text, item.Pos)
	if err != nil {
		p.errorf(item.Pos, "%s %s", quote(text), inTOML.Replace(err.Error()))
		return
	}
	p.addPip(section, r, false)
}

var inTOML = strings.NewReplacer(`"- `, `"`)

func isDynamic(project *tomlfile.Value, name string) bool {
	list := project.Get("dynamic")
	if list == nil {
		return false
	}
	for _, item := range list.List {
		if item.Text == name {
			return true
		}
	}
	return false
}

// dynamic reads dependencies that setuptools is told to take from files.
func (p *parser) dynamic(section *PipSection, at, root *tomlfile.Value) {
	files := root.Get("tool", "setuptools", "dynamic", "dependencies", "file")
	if files == nil {
		p.errorf(at.Pos, `dependencies are "dynamic", so that only a build of the package knows them; write a requirements.txt with "-e .", and build that`)
		return
	}
	p.files(section, files)
}
