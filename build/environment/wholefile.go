package environment

import (
	"slices"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
	"gopkg.in/yaml.v3"
)

const (
	// writeOne ends a message about a file that has nothing of an environment.
	writeOne = ", not an environment file: write one with name, channels and dependencies"
	// exportOne ends one about the output of a command.
	exportOne = `, not an environment file: "conda env export --from-history > environment.yml" writes one`
)

// otherTexts are files of another kind that their first line tells, that is
// their first that is neither empty nor a comment of "#". The more particular
// ones come first.
var otherTexts = []struct {
	line    *lazyregexp.Regexp
	message string
}{
	{lazyregexp.New(`(?i)^<(?:!doctype|html|\?xml|head|!--)`), "this is a web page, not an environment file: download the file itself (on GitHub: the button Raw)"},
	{lazyregexp.New(`^404: Not Found$`), "this is a server's answer that there is no such file; download it from its right address"},
	{lazyregexp.New(`^version https://git-lfs\.github\.com/spec/`), `this is a pointer of Git LFS, not the file: run "git lfs pull"`},
	{lazyregexp.New(`^(?:diff --git |Index: |--- a/|\+\+\+ b/|@@ -\d)`), `this is a patch, not an environment file: apply it with "git apply"`},
	{lazyregexp.New(`^(?:\$ |> |\(\w+\) ?[$>] ?)?(?:sudo |call )?(?:conda|mamba|micromamba|pip3?|python3? -m pip|source|apt(?:-get)?|export|cd|module load|set -|git clone)\s+\S`), "this is a list of shell commands" + writeOne},
	{lazyregexp.New(`(?i)^(?:set [A-Z_]+=|@?echo (?:off|on)|rem )`), "this is a Windows batch file" + writeOne},
	{lazyregexp.New(`^FROM\s+\S+(?:\s+(?i:as)\s+\S+)?$`), "this is a Dockerfile" + writeOne},
	{lazyregexp.New(`^(?:import \w|from \w\S* import )`), "this is a Python program" + writeOne},
	{lazyregexp.New(`^Package\s+Version`), `this is what "pip list" prints, not an environment file: write "pip freeze > requirements.txt" and name that`},
	{lazyregexp.New(`^\[[A-Za-z0-9_."-]+\]\s*$`), "this is TOML (pyproject.toml, pixi.toml)" + writeOne},
}

// otherComments are the same for a first line that is a comment.
var otherComments = []struct {
	line    *lazyregexp.Regexp
	message string
}{
	{lazyregexp.New(`^#!`), "this is a script" + writeOne},
	{lazyregexp.New(`^# packages in environment at `), `this is what "conda list" prints` + exportOne},
	{lazyregexp.New(`^# This file may be used to create an environment using:`), `this is a list of "conda list --export"` + exportOne},
}

// otherKeys are files of another kind that a key tells, where there are no
// dependencies that could be read.
var otherKeys = []struct {
	keys    []string
	message string
}{
	{[]string{"cells", "nbformat"}, "this is a Jupyter notebook" + writeOne},
	{[]string{"on", "jobs"}, "this is a workflow of GitHub Actions" + writeOne},
	{[]string{"apiVersion", "kind"}, "this is a file for Kubernetes" + writeOne},
	{[]string{"services"}, "this is a file for Docker Compose" + writeOne},
	{[]string{"metadata", "package"}, "this is a lock of conda-lock, not an environment file: name it conda-lock.yml"},
	{[]string{"package", "requirements"}, `this is a recipe of conda-build, not an environment file: write one with the packages of "run:" under "dependencies:"`},
	{[]string{"conda_env", "entry_points"}, `this is an MLproject file, not an environment file: name the one behind "conda_env:"`},
	{[]string{"entry_points", "python_env"}, "this is an MLproject file" + writeOne},
	{[]string{"site_name"}, "this is a file for MkDocs" + writeOne},
	{[]string{"repos"}, "this is a file for pre-commit" + writeOne},
	{[]string{"env_specs"}, "this is an anaconda-project file" + writeOne},
	{[]string{"ssl_verify"}, "this is conda's own configuration (.condarc)" + writeOne},
	{[]string{"channel_alias"}, "this is conda's own configuration (.condarc)" + writeOne},
	{[]string{"custom_channels"}, "this is conda's own configuration (.condarc)" + writeOne},
	{[]string{"default_channels"}, "this is conda's own configuration (.condarc)" + writeOne},
	{[]string{"show_channel_urls"}, "this is conda's own configuration (.condarc)" + writeOne},
	{[]string{"auto_activate_base"}, "this is conda's own configuration (.condarc)" + writeOne},
	{[]string{"envs_dirs"}, "this is conda's own configuration (.condarc)" + writeOne},
	{[]string{"pkgs_dirs"}, "this is conda's own configuration (.condarc)" + writeOne},
}

var (
	requirementLine = lazyregexp.New(`^(?:-r|-c|-e|-f|-i|--[a-z-]+)[ =]\S|^(?:git\+|https?:)\S+$|^[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?\s*(?:(?:===|==|~=|!=|<=|>=|<|>)\s*[0-9][^:]*|@\s*\S+.*|;.*)?(?:\s#.*)?$`)
	pinnedLine      = lazyregexp.New(`[=<>~]=|[<>@]|^-|://`)
	condaLine       = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]*=[0-9][A-Za-z0-9._+!]*(?:=[A-Za-z0-9_.]+)?$|^[A-Za-z0-9_.-]+::\S+$|^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	assignment      = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.-]*\s+=\s+["'\[{]`)
	keyLine         = lazyregexp.New(`^["']?[A-Za-z_][A-Za-z0-9_ -]*["']?\s*[:：]`)
)

// hasNoKey tells whether a mapping has no key of an environment file, nor one
// that was meant for it.
func hasNoKey(root *yaml.Node) bool {
	for i := 0; i < len(root.Content); i += 2 {
		if root.Content[i].Kind != yaml.ScalarNode || nearKey(root.Content[i].Value) {
			return false
		}
	}
	return len(root.Content) > 0
}

// nearKey tells whether a key is an environment file's, or was meant to be.
func nearKey(key string) bool {
	return slices.Contains(keys, key) || ignoredKeys[key] != "" || foreignKeys[key] != "" || yamlfile.DidYouMean(key, keys) != ""
}

// wholeFile recognises files of another kind under an environment's name.
func wholeFile(doc *yamlfile.Document) error {
	var names []string
	if doc.Root != nil && doc.Root.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(doc.Root.Content); i += 2 {
			names = append(names, doc.Root.Content[i].Value)
		}
		if slices.Contains(names, "dependencies") {
			return nil
		}
	}
	var first yamlfile.Position
	var firstText, commentText string
	lines, pinned, matched, conda := 0, 0, 0, true
	n, other, otherLine := 0, "", 0
	for line := range strings.SplitSeq(string(doc.Text), "\n") {
		n++
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line == "---" && lines == 0:
			continue
		case line[0] == '#':
			if commentText == "" && lines == 0 {
				commentText = line
			}
			continue
		}
		if lines++; lines == 1 {
			first, firstText = yamlfile.Position{File: doc.File, Line: n, Column: 1}, line
		}
		if requirementLine.MatchString(line) {
			matched++
		} else if other == "" {
			other, otherLine = line, n
		}
		conda = conda && condaLine.MatchString(line)
		if pinnedLine.MatchString(line) {
			pinned++
		}
	}
	top := yamlfile.Position{File: doc.File, Line: 1, Column: 1}
	for _, kind := range otherComments {
		if kind.line.MatchString(commentText) {
			return yamlfile.Errorf(top, "%s", kind.message)
		}
	}
	for _, kind := range otherTexts {
		if kind.line.MatchString(firstText) {
			return yamlfile.Errorf(top, "%s", kind.message)
		}
	}
	if names != nil {
		for _, kind := range otherKeys {
			if !slices.ContainsFunc(kind.keys, func(key string) bool { return !slices.Contains(names, key) }) {
				return yamlfile.Errorf(doc.At(doc.Root.Content[2*slices.Index(names, kind.keys[0])]), "%s", kind.message)
			}
		}
		return nil
	}
	switch {
	case matched == lines && pinned > 0:
		return yamlfile.Errorf(top, "this is a list of pip requirements, not an environment file: name it requirements.txt")
	case matched*3 >= lines*2 && pinned > 0:
		return yamlfile.Errorf(top, "this looks like a list of pip requirements, not an environment file: name it requirements.txt (line %d, %s, is none)", otherLine, quote(other))
	case conda && lines > 0 && strings.Contains(string(doc.Text), "="):
		return yamlfile.Errorf(first, `this is a list of conda packages, not an environment file: put them under "dependencies:", each with a dash ("- %s")`, firstText)
	case assignment.MatchString(firstText) && !keyLine.MatchString(firstText):
		return yamlfile.Errorf(first, "this is TOML (pyproject.toml, pixi.toml)%s", writeOne)
	}
	return nil
}
