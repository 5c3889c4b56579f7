package yamlfile

import (
	"strings"
	"testing"
)

func TestApply(t *testing.T) {
	at := func(line, column int) Position { return Position{Line: line, Column: column} }
	for name, test := range map[string]struct {
		in    string
		edits []Edit
		want  string // or "error: " and a part of it
	}{
		"nothing":          {"a: b\n", nil, "a: b\n"},
		"a word":           {"a: bé c\nd: e", []Edit{Replace(at(1, 6), " c", ""), Replace(at(2, 1), "d", "x")}, "a: bé\nx: e"},
		"a line":           {"a\nb\nc\n", []Edit{Replace(at(2, 1), "b\n", "")}, "a\nc\n"},
		"an insertion":     {"a\nc\n", []Edit{Replace(at(2, 1), "", "b\n")}, "a\nb\nc\n"},
		"at the end":       {"a\n", []Edit{Replace(at(2, 1), "", "b\n")}, "a\nb\n"},
		"twice the same":   {"a\n", []Edit{Replace(at(1, 1), "a", "b"), Replace(at(1, 1), "a", "b")}, "b\n"},
		"CRLF":             {"a\r\nb\r\n", []Edit{Replace(at(2, 1), "", "x\n")}, "a\r\nx\r\nb\r\n"},
		"a mark":           {"\xEF\xBB\xBFa\n", []Edit{Replace(at(1, 1), "a", "b")}, "b\n"},
		"insert, replace":  {"a\n", []Edit{Replace(at(1, 1), "a", "b"), Replace(at(1, 1), "", "x")}, "xb\n"},
		"other text":       {"a\n", []Edit{Replace(at(1, 1), "b", "c")}, `error: line 1, column 1 does not hold "b"`},
		"behind the line":  {"a\nb\n", []Edit{Replace(at(1, 3), "", "c")}, "error: line 1, column 3"},
		"behind the file":  {"a\n", []Edit{Replace(at(7, 1), "", "c")}, "error: line 7"},
		"one in the other": {"abc\n", []Edit{Replace(at(1, 1), "abc", "x"), Replace(at(1, 2), "b", "y")}, "error: two changes of line 1"},
	} {
		got, err := Apply([]byte(test.in), test.edits)
		if want, ok := strings.CutPrefix(test.want, "error: "); ok {
			if err == nil || !strings.Contains(err.Error(), want) || got != nil {
				t.Errorf("%s: %q, %v; want the error %q", name, got, err, want)
			}
			continue
		}
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, test.want)
		}
	}
}

func TestReplaceEnds(t *testing.T) {
	if e := Replace(Position{Line: 3, Column: 2}, "é\nxy", ""); e.EndLine != 4 || e.EndColumn != 3 {
		t.Errorf("%+v", e)
	}
}
