package environment

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

func says(fixed *Fixed) string {
	codes := func(findings []Finding) string {
		var all []string
		for _, f := range findings {
			all = append(all, f.Code)
		}
		return strings.Join(slices.Compact(slices.Sorted(slices.Values(all))), " ")
	}
	return strings.TrimSpace(fmt.Sprintf("%d -> %d, made %s, unknown %s, left %s",
		fixed.Before, fixed.After, codes(fixed.Made), strings.Join(fixed.Unknown, " "), codes(fixed.Left)))
}

func TestFixAll(t *testing.T) {
	data, err := os.ReadFile("testdata/fixes.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range txtar.Parse(data).Files {
		files[f.Name] = string(f.Data)
	}
	for name, in := range files {
		name, ok := strings.CutSuffix(name, ".in")
		if !ok {
			continue
		}
		want := files[name+".out"]
		if want == "" {
			want = in
		}
		for _, ends := range []string{"\n", "\r\n"} {
			fixed, err := FixAll([]byte(strings.ReplaceAll(in, "\n", ends)), Options{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if diff := cmp.Diff(strings.ReplaceAll(want, "\n", ends), string(fixed.Text)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if got := says(fixed); got != strings.TrimSpace(files[name+".says"]) {
				t.Errorf("%s: %s\nwant %s", name, got, files[name+".says"])
			}
		}
	}
}

// TestFixAllTwice: of every file that the tests have, FixAll leaves nothing to
// fix, brings no error, and asks for no other direct package than before.
func TestFixAllTwice(t *testing.T) {
	var all []testCase
	for _, path := range caseFiles {
		all = append(all, readCases(t, path)...)
	}
	for _, c := range all {
		before, findings, err := Parse(c.file, Options{})
		broken, count0 := err != nil, len(findings)
		fixed, err := FixAll(c.file, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		again, err := FixAll(fixed.Text, Options{})
		if err != nil || len(again.Made) > 0 || string(again.Text) != string(fixed.Text) {
			t.Errorf("%s is fixed twice: %v %v", c.name, err, again.Made)
		}
		if len(fixed.Made) == 0 && string(fixed.Text) != string(c.file) {
			t.Errorf("%s is changed without a fix", c.name)
		}
		if broken {
			continue
		}
		after, findings, err := Parse(fixed.Text, Options{})
		if err != nil {
			t.Errorf("%s: %v in\n%s", c.name, err, fixed.Text)
			continue
		}
		if len(fixed.Made) > 0 && len(findings) >= count0 {
			t.Errorf("%s has %d findings after %d", c.name, len(findings), count0)
		}
		if before.Name != after.Name || !slices.Equal(before.Channels, after.Channels) {
			t.Errorf("%s: %v %v, was %v %v", c.name, after.Name, after.Channels, before.Name, before.Channels)
		}
	}
}

// The prefix that the file names settles what requires what, in the versions
// that are installed there.
func TestExportByPrefix(t *testing.T) {
	text := "name: a\nchannels: [conda-forge]\ndependencies:\n"
	for _, name := range []string{"own", "helper", "old", "openssl", "python", "readline", "tk", "xz", "zlib"} {
		text += "  - " + name + "=1.0\n"
	}
	text += "prefix: /envs/a\n"
	installed := func(prefix string) func(string) (string, []string, bool) {
		if prefix != "/envs/a" {
			t.Errorf("asked for %q", prefix)
		}
		return func(name string) (string, []string, bool) {
			switch name {
			case "own":
				return "1.0", []string{"helper", "python"}, true
			case "helper":
				return "1.0", nil, true
			case "old":
				// It was updated after the export.
				return "2.0", []string{"own"}, true
			}
			return "", nil, false
		}
	}
	for _, test := range []struct {
		installed func(string) func(string) (string, []string, bool)
		want      string
	}{
		{installed, "own old python"},
		{func(string) func(string) (string, []string, bool) { return nil }, "own helper old python"},
	} {
		fixed, err := FixAll([]byte(text), Options{Installed: test.installed})
		if err != nil {
			t.Fatal(err)
		}
		env, _, err := Parse(fixed.Text, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, spec := range env.Conda {
			names = append(names, spec.Name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

// TestRequires checks the form of requires.txt: sorted names, each once, none
// that requires itself.
func TestRequires(t *testing.T) {
	table, known := requires()
	for name, lines := range table {
		for _, line := range lines {
			if !slices.IsSorted(line.names) || len(slices.Compact(slices.Clone(line.names))) != len(line.names) {
				t.Errorf("%s: %q is not sorted", name, line.names)
			}
			if slices.Contains(line.names, name) {
				t.Errorf("%s requires itself", name)
			}
		}
	}
	for _, name := range []string{"python", "libllvm*", "statsmodels"} {
		if !known[name] {
			t.Errorf("%s is not known", name)
		}
	}
}

func TestNeeded(t *testing.T) {
	requires := func(name string) []string {
		return map[string][]string{
			"a": {"b", "gone"}, "b": {"a"}, "gone": {"c", "gone"}, "c": {"c"}, "d": {"a"}, "x": {"y"}, "y": {"x"},
		}[name]
	}
	for _, test := range []struct{ names, keep, want string }{
		{"a b c d", "", "d"},
		{"a b c", "", "a"},
		{"b a c", "", "b"},
		{"c", "", "c"},
		{"d b c", "b", "d b c"},
		{"x y d", "", "x d"},
		{"", "", ""},
	} {
		got := Needed(strings.Fields(test.names), func(name string) bool { return name == test.keep }, requires)
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, want %s", test.names, got, test.want)
		}
	}
}

// TestFixAllCountsBroken: what could not be read before its fix counts as a
// package of the file as it was.
func TestFixAllCountsBroken(t *testing.T) {
	fixed, err := FixAll([]byte("channels: [conda-forge]\ndependencies:\n  - python=3.9=h_1\n  -scipy\nprefix: /x\n"), Options{})
	if err != nil || fixed.Before != 2 || fixed.After != 2 {
		t.Errorf("%d packages became %d, error %v", fixed.Before, fixed.After, err)
	}
}
