package environment

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/tomlfile"
	"crun.dev/crun/internal/yamlfile"
	"gopkg.in/yaml.v3"
)

// Parse reads the content of an environment file. All errors of the file come
// in one go, joined, each a *yamlfile.Error. With an error the Environment is
// nil or holds what could be read, which serves messages alone, and there are
// no findings: what they say of a broken file is mostly wrong.
func Parse(data []byte, opts Options) (*Environment, []Finding, error) {
	if opts.Python != "" && !pythonVersion.MatchString(opts.Python) {
		return nil, nil, fmt.Errorf("python version %q: allowed are such as 3.9 and 3.11.4", opts.Python)
	}
	p := &parser{opts: opts, env: &Environment{File: fileName(opts)}}
	p.including = []string{path.Clean(p.env.File)}
	p.pythonGiven = opts.Python != ""
	if p.opts.Python == "" {
		p.opts.Python = DefaultPython
	}
	if p.opts.Platform == "" {
		p.opts.Platform = "linux-64"
	}
	switch p.kind = kindOf(p.env.File, data); p.kind {
	case kindRequirements, kindTOML, kindExplicit:
		text, err := p.readText(data)
		if err != nil {
			return nil, nil, redactError(coded(err, codeEncoding))
		}
		if p.kind == kindTOML {
			p.pyprojectFile(text)
		} else {
			if err := opts.noExtras(); err != nil {
				return nil, nil, err
			}
			if p.kind == kindExplicit {
				p.explicitFile(text)
			} else {
				p.requirementsFile(text)
			}
		}
		return p.finish()
	}
	if err := opts.noExtras(); err != nil {
		return nil, nil, err
	}
	doc, err := yamlfile.Parse(data, p.env.File)
	if doc == nil {
		return nil, nil, redactError(coded(err, codeEncoding))
	}
	p.doc = doc
	if whole := wholeFile(doc); whole != nil {
		return nil, nil, redactError(coded(whole, codeOtherFile))
	}
	if err != nil {
		p.nameAlone()
		for _, err := range slips(doc, err) {
			p.errs = append(p.errs, coded(withoutValues(doc, err), codeNotYAML))
		}
		return p.env, nil, p.result()
	}
	p.code = codeOtherFile
	p.root(doc.Root)
	return p.finish()
}

// finish looks at the whole of what was read.
func (p *parser) finish() (*Environment, []Finding, error) {
	p.checkHashes()
	if p.env.Exact {
		p.lintExact()
	} else {
		p.checkTorch()
		if len(p.errs) == 0 {
			p.lint()
		}
	}
	if err := p.result(); err != nil {
		return p.env, nil, err
	}
	var findings []Finding
	for _, f := range p.findings {
		if f.Pos.File != p.env.File {
			f.Fix = nil // its edits would be those of another file
		}
		f.Fix = withoutSecret(f.Fix)
		findings = append(findings, *f)
	}
	sortFindings(p.env.File, findings)
	return p.env, findings, nil
}

// fileName is the file's name in messages.
func fileName(opts Options) string { return cmp.Or(opts.File, "environment.yml") }

var pythonVersion = lazyregexp.New(`^[0-9]{1,3}(?:\.[0-9]{1,3}){1,2}$`)

// maxErrors bounds what is told of one file: more says that it is another kind
// of file.
const maxErrors = 50

type parser struct {
	opts     Options
	doc      *yamlfile.Document
	env      *Environment
	findings []*Finding
	errs     []error
	// code is that of the errors in the part that is read.
	code string
	// channelPos are the places of env.Channels.
	channelPos []yamlfile.Position
	// lines are those of doc.Text, once line was called.
	lines []string
	// prefix is the file's, as written.
	prefix string
	// including are the files that are being read, outermost first; includes
	// counts all that were.
	including []string
	includes  int
	// kind is the file's.
	kind string
	// uv is what a pyproject.toml says in [tool.uv], or nil.
	uv *uvTables
	// pythonGiven tells that somebody has chosen opts.Python.
	pythonGiven bool
	// usualPython tells that nobody has, and that the file names no Python.
	usualPython bool
	// pythonPatches is requires-python, which may rule out patches of a version.
	pythonPatches string
	// pythonAllowed is a requires-python that allows the usual Python, or nil.
	pythonAllowed *tomlfile.Value
}

// result joins the errors, without secrets and in the order of the file.
func (p *parser) result() error {
	sortByPlace(p.env.File, p.errs, func(err error) (pos yamlfile.Position) {
		var e *yamlfile.Error
		if errors.As(err, &e) {
			pos = e.Position
		}
		return pos
	})
	if more := len(p.errs) - maxErrors; more > 0 {
		p.errs = append(p.errs[:maxErrors], coded(yamlfile.Errorf(yamlfile.Position{File: p.env.File}, "has %d more errors", more), codeOtherFile))
	}
	for i, err := range p.errs {
		p.errs[i] = redactError(err)
	}
	return errors.Join(p.errs...)
}

func redactError(err error) error {
	var e *yamlfile.Error
	if errors.As(err, &e) {
		return &yamlfile.Error{Position: e.Position, Message: Redact(e.Message), Code: e.Code, Fix: withoutSecret(e.Fix)}
	}
	return err
}

// coded gives an error of the file its code, where it has none.
func coded(err error, code string) error {
	var e *yamlfile.Error
	if errors.As(err, &e) && e.Code == "" {
		e.Code = code
	}
	return err
}

// errorf adds an error, whose Code and Fix the caller may set.
func (p *parser) errorf(pos yamlfile.Position, format string, args ...any) *yamlfile.Error {
	err := yamlfile.Errorf(pos, format, args...)
	err.Code = p.code
	p.errs = append(p.errs, err)
	return err
}

// find adds a finding, whose Fix the caller may set.
func (p *parser) find(code string, severity Severity, pos yamlfile.Position, format string, args ...any) *Finding {
	if p.kind != kindYAML || pos.File != p.env.File {
		format = inFile.Replace(format)
	}
	f := &Finding{Code: code, Severity: severity, Pos: pos, Message: yamlfile.Printable(Redact(fmt.Sprintf(format, args...)))}
	p.findings = append(p.findings, f)
	return f
}

// nameAlone reads the name of a file that is broken elsewhere.
func (p *parser) nameAlone() {
	root := p.doc.Root
	if root == nil || root.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "name" && root.Content[i+1].Kind == yaml.ScalarNode {
			p.env.Name = root.Content[i+1].Value
		}
	}
}

// keys are those of an environment file; see conda's env/env.py, VALID_KEYS.
var keys = []string{"name", "channels", "dependencies", "variables", "prefix"}

// ignoredKeys are written for other tools that read the same file and say
// nothing that a build could follow.
var ignoredKeys = map[string]string{
	"platforms":   "conda-lock's; crun builds for the platform of the engine",
	"category":    "conda-lock's; crun installs all of the file",
	"description": "a remark; a comment does as well",
	"author":      "a remark; a comment does as well",
	"authors":     "a remark; a comment does as well",
	"version":     "a remark; a comment does as well",
}

// foreignKeys would change what is installed, so they are not passed over.
var foreignKeys = map[string]string{
	"pip":              `belongs into dependencies, as an item: "- pip:"`,
	"python":           `belongs into dependencies: "- python=3.9"`,
	"packages":         `is anaconda-project's; the packages of an environment file stand under "dependencies:"`,
	"env_specs":        "is anaconda-project's; write an environment.yml with name, channels and dependencies",
	"commands":         "is anaconda-project's; take it out",
	"services":         "is anaconda-project's or Docker Compose's; take it out",
	"downloads":        "is anaconda-project's; take it out",
	"channel_priority": "belongs into conda's .condarc; crun solves with flexible priority: take it out",
	"requirements":     `is a recipe's; the packages of an environment file stand under "dependencies:"`,
	"package":          "is a recipe's; write an environment.yml with name, channels and dependencies",
	"includes":         "is conda-devenv's; write the packages out",
	"environment":      `is conda-devenv's; write "variables:"`,
	"<<":               "is YAML's merge key, which crun does not follow; write the values out",
}

func (p *parser) root(root *yaml.Node) {
	if root == nil {
		p.errorf(yamlfile.Position{File: p.env.File}, `is empty; an environment file has at least "dependencies:" and a list of packages`)
		return
	}
	if root.Kind != yaml.MappingNode {
		if found := lineSlips(p.doc, ""); root.Kind == yaml.ScalarNode && len(found) > 0 {
			for _, err := range found {
				p.errs = append(p.errs, coded(err, codeNotYAML))
			}
			return
		}
		p.errorf(p.doc.At(root), `is %s, but an environment file has the keys name, channels and dependencies: put the packages under "dependencies:"`, yamlfile.Kind(root))
		return
	}
	if hasNoKey(root) {
		first := root.Content[0]
		p.errorf(p.doc.At(first), "has none of the keys of an environment file (name, channels, dependencies), but %q and others; name the file that is meant, or write one", first.Value)
		return
	}
	p.code = codeBadKey
	values := map[string]*yamlfile.Pair{}
	for pair := range p.mapping(root) {
		values[pair.Name] = &pair
		at := p.doc.At(pair.Key)
		if reason, ok := ignoredKeys[pair.Name]; ok {
			p.find("key-ignored", SeverityNote, at, "key %q is not used (%s)", pair.Name, reason)
		} else if reason, ok := foreignKeys[pair.Name]; ok {
			p.errorf(at, "key %q %s", pair.Name, reason)
		} else if !slices.Contains(keys, pair.Name) {
			p.errorf(at, "unknown key %q%s", pair.Name, didYouMean(pair.Name)).Fix = p.renameKey(pair.Name, at)
		}
	}
	p.code = codeBadName
	p.name(values["name"])
	p.code = codeBadChannel
	p.channels(values["channels"], root)
	p.code = codeBadPackage
	p.dependencies(values["dependencies"], root)
	p.code = codeBadVariable
	p.variables(values["variables"])
	if prefix := values["prefix"]; prefix != nil {
		p.prefix = strings.TrimSpace(yamlfile.Resolve(prefix.Value).Value)
		p.find("prefix-ignored", SeverityNote, p.doc.At(prefix.Key), "prefix is a folder of the machine that the file was exported on; it is not used and can go").Fix = fix(true, p.removeKey(prefix))
	}
}

func didYouMean(key string) string {
	if clause := yamlfile.DidYouMean(key, keys); clause != "" {
		return clause
	}
	return "; allowed are " + strings.Join(keys, ", ")
}

// renameKey mends a key of the file that has one likely reading.
func (p *parser) renameKey(key string, at yamlfile.Position) *yamlfile.Fix {
	_, name, ok := strings.Cut(yamlfile.DidYouMean(key, keys), `"`)
	if name, _, _ = strings.Cut(name, `"`); !ok || !strings.HasPrefix(p.rest(at), key) {
		return nil
	}
	for i := 0; i < len(p.doc.Root.Content); i += 2 {
		if p.doc.Root.Content[i].Value == name {
			return nil
		}
	}
	return fix(strings.EqualFold(strings.TrimSpace(key), name), []yamlfile.Edit{yamlfile.Replace(at, key, name)})
}

// mapping gives the entries of a mapping.
func (p *parser) mapping(node *yaml.Node) iter.Seq[yamlfile.Pair] {
	return yamlfile.Pairs(node, func(key *yaml.Node, message, remedy string) {
		p.errorf(p.doc.At(key), "%s; %s", message, remedy)
	})
}

// name sets the environment's name.
func (p *parser) name(entry *yamlfile.Pair) {
	p.env.Name = safeName(p.opts.FolderName)
	if entry == nil || yamlfile.IsNull(entry.Value) {
		return
	}
	node := yamlfile.Resolve(entry.Value)
	if node.Kind != yaml.ScalarNode {
		p.errorf(p.doc.At(entry.Value), "name is %s; allowed is a word, such as name: train", yamlfile.Kind(node))
		return
	}
	// The text as written: "39" and "1e3" are names too.
	name := strings.TrimSpace(node.Value)
	if name == "" {
		return
	}
	if err := checkName(name, p.doc.At(entry.Value)); err != nil {
		var e *yamlfile.Error
		if base := safeName(path.Base(name)); errors.As(err, &e) && strings.Contains(name, "/") {
			// "conda env export" writes the folder of an environment that has
			// no name.
			e.Fix = fix(true, p.replaceItem(e.Position, name, base))
		}
		p.errs = append(p.errs, coded(err, p.code))
		return
	}
	p.env.Name = name
}
