package environment

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/tomlfile"
)

// requiresPython chooses a Python that the project allows: the one that was
// asked for, DefaultPython, or the oldest.
func (p *parser) requiresPython(project *tomlfile.Value) {
	value := project.Get("requires-python")
	if value == nil {
		return
	}
	asked := strings.Join(strings.Fields(value.Text), "")
	if !value.IsText || !pythonConstraint.MatchString(asked) {
		p.errorf(value.Pos, `requires-python is %s; allowed is a constraint such as ">=3.9" or ">=3.9,<3.13"`, quote(value.Text))
		return
	}
	p.pythonPatches = asked
	allowed := func(version string) bool { return allowsPython(asked, parseRelease(version)) }
	if m := oneRelease.FindStringSubmatch(asked); m != nil && !p.pythonGiven {
		p.opts.Python, p.pythonGiven = m[1], true
		p.find("python-chosen", SeverityNote, value.Pos, "requires-python is %q: Python %s is taken (another one with --python)", value.Text, m[1])
		return
	}
	if allowed(p.opts.Python) {
		p.pythonAllowed = value
		return
	}
	if p.pythonGiven {
		p.errorf(value.Pos, "requires-python %q does not allow --python %s; leave --python out, or change the file", value.Text, p.opts.Python)
		return
	}
	for minor := range 30 {
		version := release{3, minor}.String()
		if minor >= 6 && allowed(version) {
			p.opts.Python, p.pythonGiven = version, true
			p.find("python-chosen", SeverityNote, value.Pos, "requires-python is %q: Python %s is taken, the oldest that it allows (another one with --python)", value.Text, version)
			return
		}
	}
	p.errorf(value.Pos, "requires-python %q allows no Python 3 that there is", value.Text)
}

var pythonConstraint = lazyregexp.New(`^(?:(?:===|==|~=|!=|<=|>=|<|>)[0-9]+(?:\.[0-9]+)*(?:\.\*)?(?:(?:a|b|rc)[0-9]+)?,?)+$`)

// oneRelease is a requires-python of one release, patch and all.
var oneRelease = lazyregexp.New(`^={2,3}(3\.[0-9]+\.[0-9]+)$`)

// allowsPython tells whether some patch of a version (3.9, or 3.9.18 alone)
// fulfils a constraint.
func allowsPython(constraint string, version release) bool {
	patches := 1
	if len(version) == 2 {
		patches = 40
	}
	for patch := range patches {
		full := version
		if len(version) == 2 {
			full = release{version[0], version[1], patch}
		}
		fits := true
		for text := range strings.SplitSeq(strings.TrimSuffix(constraint, ","), ",") {
			fits = fits && fitsClause(full, text)
		}
		if fits {
			return true
		}
	}
	return false
}

// patchClauses are the parts of a constraint that rule out patches of a minor
// version of Python, as conda has them: ",<3.9.10" of ">=3.8,<3.9.10" for 3.9.
func patchClauses(constraint, version string) string {
	minor := parseRelease(version)
	if len(minor) != 2 {
		return "" // one patch alone
	}
	var text strings.Builder
	for clause := range strings.SplitSeq(strings.TrimSuffix(constraint, ","), ",") {
		number := strings.TrimLeft(clause, "=!<>~")
		if r := parseRelease(number); len(r) < 3 || r.compare(minor) != 0 || strings.HasSuffix(number, ".*") {
			continue
		}
		operator := clause[:len(clause)-len(number)]
		switch operator {
		case "~=":
			operator = ">=" // within the minor version
		case "===":
			operator = "=="
		}
		text.WriteString("," + operator + number)
	}
	return text.String()
}

func fitsClause(version release, text string) bool {
	number := strings.TrimLeft(text, "=!<>~")
	operator := text[:len(text)-len(number)]
	want := parseRelease(number)
	isPrefix := strings.HasSuffix(number, ".*")
	for len(want) < 3 && !isPrefix && operator != "~=" {
		want = append(want, 0)
	}
	order := version.compare(want)
	switch operator {
	case "==", "===":
		return order == 0
	case "!=":
		return order != 0
	case ">=":
		return order >= 0
	case ">":
		return order > 0
	case "<=":
		return order <= 0
	case "<":
		return order < 0
	case "~=":
		return len(want) > 1 && order >= 0 && version.compare(want[:len(want)-1]) == 0
	}
	return false
}
