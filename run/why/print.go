package why

import (
	"fmt"
	"strings"

	"crun.dev/crun/run/why/evidence"
)

// words of the lines in both languages.
var headings = map[bool][4]string{
	false: {"why", "evidence", "fix", "also"},
	true:  {"原因", "证据", "建议", "另外"},
}

// Lines gives the verdict in at most five lines: the cause and how sure it is,
// the evidence, the fix, and what else happened.
func (v *Verdict) Lines(chinese bool) []string {
	names := headings[chinese]
	lines := []string{line(names[0], fmt.Sprintf("%s (%s)", v.Cause.In(chinese), sureText(v.Sure, chinese)))}
	if len(v.Signs) > 0 {
		lines = append(lines, line(names[1], signText(v.Signs)))
	}
	if !v.Fix.Empty() {
		lines = append(lines, line(names[2], v.Fix.In(chinese)))
	}
	for i, aside := range v.Asides {
		if i == 2 {
			break
		}
		lines = append(lines, line(names[3], fmt.Sprintf("%s (%s)", aside.Cause.In(chinese), signText(aside.Signs))))
	}
	return lines
}

// sureText is how sure, in either language.
func sureText(sure evidence.Sure, chinese bool) string {
	if chinese {
		return map[evidence.Sure]string{evidence.Certain: "确定", evidence.Likely: "很可能", evidence.Unknown: "未知"}[sure]
	}
	return string(sure)
}

func line(name, text string) string { return fmt.Sprintf("  %-9s %s", name, text) }

func signText(signs []evidence.Sign) string {
	var texts []string
	for _, s := range signs {
		texts = append(texts, s.String())
	}
	return strings.Join(texts, "; ")
}
