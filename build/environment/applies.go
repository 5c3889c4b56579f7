package environment

import (
	"slices"
	"strings"
)

// applies tells whether pip installs r on the image: no marker of it is
// certainly false there. What a marker asks of a kernel or of a patch release
// of Python is not known here and counts as true.
func (p *parser) applies(r PipRequirement) bool {
	_, text, found := strings.Cut(r.Text, ";")
	if r.Kind == PipURL || r.Kind == PipVCS {
		_, text, found = strings.Cut(r.Text, " ; ")
	}
	if !found {
		return true
	}
	text, _, _ = strings.Cut(text, " --hash")
	m := markerReader{values: p.markerValues()}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		token := markerToken.FindString(rest)
		if token == "" {
			return true
		}
		m.tokens, rest = append(m.tokens, token), rest[len(token):]
	}
	return m.either() != markerFalse
}

// markerValues are the variables of PEP 508 that are known for the image.
func (p *parser) markerValues() map[string]string {
	machine := "x86_64"
	if strings.HasSuffix(p.opts.Platform, "-aarch64") {
		machine = "aarch64"
	}
	values := map[string]string{
		"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux", "platform_machine": machine,
		"implementation_name": "cpython", "platform_python_implementation": "CPython",
	}
	python, _ := p.env.Python()
	if have := pinned(python.Version); len(have) > 1 {
		values["python_version"] = minor(have)
	}
	return values
}

// The answers of a marker are ordered, so that "and" is the lesser of two and
// "or" the greater.
const (
	markerFalse = iota
	markerUnknown
	markerTrue
)

// markerReader answers the tokens of a marker, from left to right.
type markerReader struct {
	tokens []string
	values map[string]string
}

func (m *markerReader) next() string {
	if len(m.tokens) == 0 {
		return ""
	}
	token := m.tokens[0]
	m.tokens = m.tokens[1:]
	return token
}

func (m *markerReader) take(token string) bool {
	if len(m.tokens) == 0 || m.tokens[0] != token {
		return false
	}
	m.tokens = m.tokens[1:]
	return true
}

func (m *markerReader) either() int {
	answer := m.both()
	for m.take("or") {
		answer = max(answer, m.both())
	}
	return answer
}

func (m *markerReader) both() int {
	answer := m.one()
	for m.take("and") {
		answer = min(answer, m.one())
	}
	return answer
}

func (m *markerReader) one() int {
	if m.take("(") {
		answer := m.either()
		m.take(")")
		return answer
	}
	left, operator, right := m.next(), m.next(), ""
	if operator == "not" {
		operator += " " + m.next()
	}
	right = m.next()
	name := left
	if strings.Trim(left, `'"`) != left {
		name = right
	}
	if _, known := m.values[name]; !known {
		return markerUnknown
	}
	holds := false
	switch left, right := m.value(left), m.value(right); {
	case operator == "in":
		holds = strings.Contains(right, left)
	case operator == "not in":
		holds = !strings.Contains(right, left)
	case name == "python_version":
		order := slices.Compare(parseRelease(left), parseRelease(right))
		if strings.Contains(left+right, "*") {
			return markerUnknown
		}
		switch operator {
		case "==":
			holds = order == 0
		case "!=":
			holds = order != 0
		case "<":
			holds = order < 0
		case "<=":
			holds = order <= 0
		case ">":
			holds = order > 0
		case ">=":
			holds = order >= 0
		default:
			return markerUnknown
		}
	case operator == "==" || operator == "===":
		holds = left == right
	case operator == "!=":
		holds = left != right
	default:
		return markerUnknown
	}
	if holds {
		return markerTrue
	}
	return markerFalse
}

// value gives what a token stands for: a variable's value or a text.
func (m *markerReader) value(token string) string {
	if value, known := m.values[token]; known {
		return value
	}
	return strings.Trim(token, `'"`)
}
