package environment

import (
	"fmt"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
)

// pep440 is a version that pip and uv take, the spellings that they
// normalise included; group 1 is the numbers in front.
var pep440 = lazyregexp.New(`(?i)^v?(?:\d+!)?(\d+(?:\.\d+)*)` +
	`(?:[-_.]?(?:alpha|beta|preview|pre|rc|a|b|c)[-_.]?\d*)?` +
	`(?:-\d+|[-_.]?(?:post|rev|r)[-_.]?\d*)?` +
	`(?:[-_.]?dev[-_.]?\d*)?` +
	`(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?$`)

// checkPipVersion refuses what has the letters of a version and is none: pip
// and uv would, minutes later.
func checkPipVersion(clause, operator, version string) error {
	if operator == "===" {
		return nil // compared as text, whatever it is
	}
	number, wildcard := strings.CutSuffix(version, ".*")
	m := pep440.FindStringSubmatch(number)
	switch {
	case m == nil:
		if trimmed := strings.TrimRight(number, ".*!-_"); trimmed != number && pep440.MatchString(trimmed) {
			return fmt.Errorf(`has the version %q; write "%s%s", or "==%s.*" for whatever begins so`, clause, operator, trimmed, trimmed)
		}
		return fmt.Errorf("has the version %q; allowed are such as ==1.2.3 and >=1.2,<2", clause)
	case wildcard && operator != "==" && operator != "!=":
		return fmt.Errorf(`has %q; the "*" goes with == and != alone: write "%s%s"`, clause, operator, number)
	case operator == "~=" && !strings.Contains(m[1], "."):
		return fmt.Errorf(`has %q, which needs two numbers at least: write "~=%s.0", or ">=%s"`, clause, number, number)
	case strings.Contains(number, "+") && operator != "==" && operator != "!=":
		return fmt.Errorf(`has %q; a local version goes with == and != alone: write "==%s"`, clause, number)
	}
	return nil
}
