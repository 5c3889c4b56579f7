package yamlfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

func TestParseRefuses(t *testing.T) {
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'i'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+p+", ", 10), ", ") + "]\n"
	}
	tests := []struct{ name, text, want string }{
		{"binary", "name: x\x00\x01", "f.yml: is a binary file, not YAML text"},
		{"not UTF-8", "name: caf\xe9\n", "f.yml:1:10: holds the byte 0xE9, which is not UTF-8"},
		{"large", strings.Repeat("# x\n", 300_000), "f.yml: is larger than 1 MiB, which is no hand-written YAML file"},
		{"tab", "a:\n\t- b\n", "f.yml:2:1: "},
		{"itself", "a: &a [*a]\n", "contains itself"},
		{"deep", deep, "is nested more than 64 deep"},
		{"bomb", bomb, "aliases expand to more than a million values"},
		{"two documents", "a: 1\n---\nb: 2\n", `f.yml:2:1: a second document starts here ("---"); only one is allowed`},
		{"open quote", "a: \"b\n", "f.yml"},
		{"mapping in scalar", "a: b\n  c: d\n", "f.yml:2:1: is not YAML"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text), "f.yml")
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("Parse gave %v, want an *Error", err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse said %q, want %q in it", err, tt.want)
			}
		})
	}
}

func TestParseReadsWhatEditorsWrite(t *testing.T) {
	utf16le := []byte{0xFF, 0xFE}
	for _, c := range "a: b\r\n" {
		utf16le = append(utf16le, byte(c), 0)
	}
	for name, data := range map[string][]byte{
		"plain":        []byte("a: b\n"),
		"no last line": []byte("a: b"),
		"CRLF":         []byte("a: b\r\n"),
		"old Mac":      []byte("a: b\r"),
		"byte order":   []byte("\xEF\xBB\xBFa: b\n"),
		"UTF-16":       utf16le,
		"start marker": []byte("---\na: b\n"),
		"end marker":   []byte("a: b\n...\n"),
	} {
		doc, err := Parse(data, "f.yml")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if doc.Root == nil || doc.Root.Kind != yaml.MappingNode || doc.Root.Content[1].Value != "b" {
			t.Errorf("%s: not read as a: b", name)
		}
	}
}

func TestParseOfNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n", "null\n"} {
		doc, err := Parse([]byte(text), "f.yml")
		if err != nil || doc.Root != nil {
			t.Errorf("Parse(%q) = root %v, error %v; want an empty document", text, doc, err)
		}
	}
}

func TestReadFileRefuses(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yml")
	if err := os.WriteFile(large, bytes.Repeat([]byte("a"), 50<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(large); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("50 MB: %v", err)
	}
	if _, err := ReadFile(filepath.Join(dir, "none.yml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := ReadFile(dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("folder: %v", err)
	}
}

func TestSuggest(t *testing.T) {
	allowed := []string{"memory", "memory_swap", "cpus", "cpuset", "pids"}
	for word, want := range map[string]string{
		"memry":   "memory",
		"Memory":  "memory",
		"cpu":     "cpus",
		"memroy":  "memory",
		"pid":     "pids",
		"banana":  "",
		"x":       "",
		"memory_": "memory",
	} {
		if got := suggest(word, allowed); got != want {
			t.Errorf("suggest(%q) = %q, want %q", word, got, want)
		}
	}
}
