package environment

import (
	"path"
	"slices"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

// Stdin is what messages call standard input.
const Stdin = "<stdin>"

// The kinds of files that an environment is read from.
const (
	kindYAML         = "yaml"         // environment.yml
	kindRequirements = "requirements" // requirements.txt
	kindTOML         = "toml"         // pyproject.toml
	kindExplicit     = "explicit"     // conda list --explicit
)

// kindOf tells a file's kind by its name and, where that says nothing, by its
// text. An explicit list may be called anything.
func kindOf(file string, data []byte) string {
	ext := strings.ToLower(path.Ext(file))
	if ext != ".toml" && isExplicit(data) {
		return kindExplicit
	}
	switch ext {
	case ".toml":
		return kindTOML
	case ".txt", ".in":
		return kindRequirements
	}
	if path.Base(file) == "Pipfile" {
		return kindTOML
	}
	if file == Stdin {
		if text, err := yamlfile.Text(data); err == nil {
			return kindOfText(string(text))
		}
	}
	return kindYAML
}

func kindOfText(text string) string {
	isList, lines := true, 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if lines++; lines == 1 && tomlTable.MatchString(line) {
			return kindTOML
		}
		isList = isList && requirementLine.MatchString(strings.TrimSuffix(line, `\`))
	}
	if isList && lines > 0 {
		return kindRequirements
	}
	return kindYAML
}

var (
	tomlTable   = lazyregexp.New(`^(?:\[[A-Za-z0-9_."-]+\]|\[\[[A-Za-z0-9_."-]+\]\]|[A-Za-z0-9_-]+\s*=\s*["\[{].*)\s*(?:#.*)?$`)
	condaExport = lazyregexp.New(`(?m)^# \$ conda create --name <env> --file <this file>`)
	condaPin    = lazyregexp.New(`^[A-Za-z0-9_.-]+=[^=<>!~ ]+=[A-Za-z0-9_.]+$`)
)

// requirementsFile reads a requirements.txt: pip packages, in an environment of
// python and pip.
func (p *parser) requirementsFile(text string) {
	p.env.Name = safeName(p.opts.FolderName)
	at := yamlfile.Position{File: p.env.File, Line: 1, Column: 1}
	switch {
	case condaExport.MatchString(text) && slices.ContainsFunc(pipLines(text, ""), func(line pipLine) bool { return !condaPin.MatchString(line.text) }):
		// "conda list --export" gives every line a build.
		p.code = codeOtherFile
		p.errorf(at, `this is a list of conda packages, for "conda create --file"; put them under "dependencies:" of an environment.yml, one an item ("- python=3.9")`)
		return
	case condaExport.MatchString(text):
		p.code = codeOtherFile
		p.errorf(at, `this is a list that "conda list" wrote, of one machine's exact packages; write an environment file of what was asked for: "crun init --from-conda NAME", or "conda env export --from-history"`)
		return
	}
	p.code = codeBadRequirement
	lines := pipLines(text, p.env.File)
	if len(lines) > 2 && !slices.ContainsFunc(lines, func(line pipLine) bool { return !condaPin.MatchString(line.text) }) {
		p.code = codeOtherFile
		p.errorf(at, `these are conda packages (NAME=VERSION=BUILD); put them under "dependencies:" of an environment.yml`)
		return
	}
	var section PipSection
	p.pipFile(&section, lines, false)
	p.addPython(at)
	p.addSection(section, at)
}

// addPython asks for the Python that opts names.
func (p *parser) addPython(at yamlfile.Position) {
	spec := CondaSpec{Name: "python", Version: "=" + p.opts.Python + patchClauses(p.pythonPatches, p.opts.Python), Pos: at}
	spec.Text = spec.text()
	p.env.Conda = append(p.env.Conda, spec)
	p.usualPython = !p.pythonGiven
	switch {
	case p.pythonGiven || len(p.errs) > 0:
	case p.pythonAllowed != nil:
		p.find("python-added", SeverityNote, p.pythonAllowed.Pos, `requires-python is %q: %s is taken (another one with --python)`, p.pythonAllowed.Text, spec)
	default:
		p.find("python-added", SeverityNote, at, `no python is asked for; %s is added (another one with --python)`, spec)
	}
}

// addSection adds pip packages, and pip.
func (p *parser) addSection(section PipSection, at yamlfile.Position) {
	p.env.Conda = append(p.env.Conda, CondaSpec{Name: "pip", Text: "pip", Pos: at})
	if len(section.Requirements) > 0 {
		p.env.Pip = append(p.env.Pip, section)
	}
}

// readText reads a file that is no YAML.
func (p *parser) readText(data []byte) (string, error) {
	if len(data) > yamlfile.MaxSize {
		return "", yamlfile.Errorf(yamlfile.Position{File: p.env.File}, "is larger than 1 MiB, which is no hand-written file")
	}
	text, err := yamlfile.Text(data)
	if err != nil {
		return "", yamlfile.Errorf(yamlfile.Position{File: p.env.File}, "%v", err)
	}
	p.doc = &yamlfile.Document{File: p.env.File, Text: text}
	return string(text), nil
}
