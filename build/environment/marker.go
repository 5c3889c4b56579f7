package environment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

// markerVariables are those of PEP 508.
var markerVariables = []string{
	"python_version", "python_full_version", "os_name", "sys_platform",
	"platform_release", "platform_system", "platform_version",
	"platform_machine", "platform_python_implementation",
	"implementation_name", "implementation_version", "extra",
}

// oldMarkerVariables are the names that came before PEP 508's, which pip still
// takes (packaging's parser of markers).
var oldMarkerVariables = map[string]string{
	"os.name":                        "os_name",
	"sys.platform":                   "sys_platform",
	"platform.version":               "platform_version",
	"platform.machine":               "platform_machine",
	"platform.python_implementation": "platform_python_implementation",
	"python_implementation":          "platform_python_implementation",
}

var (
	markerToken  = lazyregexp.New(`^(?:"[^"\\]*"|'[^'\\]*'|[A-Za-z_.]+|===|==|~=|!=|<=|>=|<|>|\(|\))`)
	markerString = lazyregexp.New(`^['"][A-Za-z0-9 ._*+!~:()/,-]*['"]$`)
)

// parseMarker checks an environment marker and gives it with single blanks.
func parseMarker(text string) (string, error) {
	var tokens []string
	depth := 0
	for rest := strings.TrimSpace(text); rest != ""; {
		token := markerToken.FindString(rest)
		if token == "" {
			return "", fmt.Errorf("has the marker %q, which ends or goes on in an unknown way at %q", strings.TrimSpace(text), rest)
		}
		length := len(token)
		if name := oldMarkerVariables[token]; name != "" {
			token = name
		}
		switch {
		case token == "(":
			depth++
		case token == ")":
			depth--
		case token[0] == '"' || token[0] == '\'':
			if !markerString.MatchString(token) {
				return "", fmt.Errorf("has %s in its marker; allowed are letters, digits and . _ * + - in quotes", token)
			}
		case slices.Contains([]string{"and", "or", "not", "in"}, token):
		case strings.Trim(token, "=<>~!") != "" && !slices.Contains(markerVariables, token):
			return "", fmt.Errorf("has %q in its marker%s", token, markerHint(token))
		}
		if depth < 0 {
			break
		}
		tokens = append(tokens, token)
		rest = strings.TrimSpace(rest[length:])
	}
	if depth != 0 {
		return "", errors.New(`has a marker with a "(" or ")" too many`)
	}
	if len(tokens) == 0 {
		return "", errors.New(`has nothing behind ";"; write a marker, or take the ";" out`)
	}
	if n := markerOr(tokens); n < len(tokens) {
		return "", fmt.Errorf("has the marker %q, which ends or goes on in an unknown way at %q", strings.TrimSpace(text), strings.Join(tokens[n:], " "))
	}
	marker := strings.Join(tokens, " ")
	marker = strings.ReplaceAll(strings.ReplaceAll(marker, "( ", "("), " )", ")")
	return marker, nil
}

// markerOr gives how many of the tokens are comparisons with "and" or "or"
// between them, those in brackets included.
func markerOr(tokens []string) int {
	whole := 0
	for n := 0; ; n++ {
		length := markerComparison(tokens[n:])
		if length == 0 {
			return whole
		}
		n += length
		whole = n
		if n == len(tokens) || tokens[n] != "and" && tokens[n] != "or" {
			return whole
		}
	}
}

// markerComparison gives how many tokens the comparison has that they begin
// with, or 0 where it is none.
func markerComparison(tokens []string) int {
	at := func(i int) string {
		if i < len(tokens) {
			return tokens[i]
		}
		return ""
	}
	if at(0) == "(" {
		if n := markerOr(tokens[1:]); n > 0 && at(n+1) == ")" {
			return n + 2
		}
		return 0
	}
	operator := 1
	switch {
	case at(1) == "not" && at(2) == "in":
		operator = 2
	case at(1) == "in" || at(1) != "" && strings.Trim(at(1), "=<>~!") == "":
	default:
		return 0
	}
	if !markerOperand(at(0)) || !markerOperand(at(1+operator)) {
		return 0
	}
	return 2 + operator
}

func markerOperand(token string) bool {
	return strings.HasPrefix(token, `"`) || strings.HasPrefix(token, "'") || slices.Contains(markerVariables, token)
}

func markerHint(word string) string {
	if clause := yamlfile.DidYouMean(word, markerVariables); clause != "" {
		return clause
	}
	return "; allowed are python_version, sys_platform, platform_machine and the others of PEP 508, and texts in quotes"
}
