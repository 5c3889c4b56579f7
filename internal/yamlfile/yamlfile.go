// Package yamlfile reads the YAML files that people write for crun
// (environment.yml, profiles.yaml, config.yaml) so that every complaint can
// name its file, line and column. It knows no schema: callers walk the nodes.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"crun.dev/crun/internal/lazyregexp"
)

// MaxSize is the largest file that is read, in bytes. The longest environment
// export seen in the wild has about 60 KB; past a megabyte the file is
// something else, and parsing it would only cost memory.
const MaxSize = 1 << 20

// maxDepth bounds nesting; real files nest four deep.
const maxDepth = 64

// Position is a place in a file. Line and Column count from 1; zero means that
// the place is the file as a whole.
type Position struct {
	File   string
	Line   int
	Column int
}

// String gives FILE:LINE:COLUMN, or FILE alone for the file as a whole.
func (p Position) String() string {
	file := Printable(p.File)
	if p.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
}

// Error is one complaint about a file. Its text is "POSITION: MESSAGE".
type Error struct {
	Position
	Message string
	// Code is a stable word for the kind of mistake, or "".
	Code string
	// Fix mends it, or is nil.
	Fix *Fix
}

func (e *Error) Error() string { return e.Position.String() + ": " + e.Message }

// Errorf makes an Error at pos. Its Message is Printable.
func Errorf(pos Position, format string, args ...any) *Error {
	return &Error{Position: pos, Message: Printable(fmt.Sprintf(format, args...))}
}

// Printable gives text with its control characters written as Go does: a file
// may hold what a terminal takes for a command of its own.
func Printable(text string) string { return printable(text, "") }

// PrintableText is Printable for text of several lines, whose line breaks and
// tabs stay.
func PrintableText(text string) string { return printable(text, "\n\t") }

func printable(text, kept string) string {
	hidden := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune(kept, r) }
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Document is a parsed file.
type Document struct {
	// File is the name that messages show.
	File string
	// Root is the content of the one document, or nil for a file that holds
	// nothing but comments.
	Root *yaml.Node
	// Text is the file as UTF-8 with line feeds, without a byte order mark.
	Text []byte
}

// At gives the position of node in the document.
func (d *Document) At(node *yaml.Node) Position {
	return Position{File: d.File, Line: node.Line, Column: node.Column}
}

// ReadFile reads and parses path. Messages name it as given. The error is an
// *Error or, where the file cannot be opened, wraps an *fs.PathError.
func ReadFile(path string) (*Document, error) {
	data, err := Read(path)
	if err != nil {
		return nil, err
	}
	return Parse(data, path)
}

// Read gives the content of a file, of one above MaxSize its beginning, which
// Parse refuses. The error is an *fs.PathError for a folder, and for a pipe that
// has a name: opening one would wait for a writer, deaf to signals. A shell's
// <(command) and /dev/stdin are pipes below /dev, and are read.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("is a folder, not a file")}
	}
	if !info.Mode().IsRegular() && !strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/proc/") {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("is not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return data, nil
}

// Parse parses data; file is the name that messages show. Anchors and aliases
// are taken as YAML means them, but a node that contains itself, nesting past
// maxDepth and a second document are refused. With an error the Document may
// still hold the Text, for a closer look at what went wrong; its Root is then
// not safe to recurse into.
func Parse(data []byte, file string) (*Document, error) {
	if len(data) > MaxSize {
		return nil, Errorf(Position{File: file}, "is larger than 1 MiB, which is no hand-written YAML file")
	}
	return ParseGenerated(data, file)
}

// ParseGenerated is Parse without MaxSize, for files that a program wrote.
func ParseGenerated(data []byte, file string) (*Document, error) {
	text, err := decode(data, "YAML text", true)
	if err != nil {
		pos := Position{File: file}
		var place *decodeError
		if errors.As(err, &place) {
			pos.Line, pos.Column = place.line, place.column
		}
		return nil, Errorf(pos, "%v", err)
	}
	doc := &Document{File: file, Text: text}
	decoder := yaml.NewDecoder(bytes.NewReader(forParser(text)))
	var root yaml.Node
	if err := decoder.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return doc, nil
		}
		if err := controlCharacter(text, file); err != nil {
			return doc, err
		}
		// Only now: inside brackets and quotes YAML allows tabs.
		if pos, ok := tabIndent(text, file); ok {
			return doc, Errorf(pos, "found a tab where YAML wants spaces")
		}
		return doc, syntaxError(err, file)
	}
	if len(root.Content) == 1 {
		doc.Root = root.Content[0]
	}
	if doc.Root != nil && doc.Root.Kind == yaml.ScalarNode && doc.Root.Tag == "!!null" {
		doc.Root = nil
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		return doc, Errorf(doc.At(&second), `a second document starts here ("---"); only one is allowed`)
	} else if !errors.Is(err, io.EOF) {
		return doc, syntaxError(err, file)
	}
	if doc.Root != nil {
		budget := MaxSize
		if err := doc.bound(doc.Root, 0, map[*yaml.Node]bool{}, &budget); err != nil {
			return doc, err
		}
	}
	return doc, nil
}

// bound refuses trees that are endless or that aliases blow up, so that
// callers may recurse freely.
func (d *Document) bound(node *yaml.Node, depth int, open map[*yaml.Node]bool, budget *int) error {
	*budget--
	switch {
	case depth > maxDepth:
		return Errorf(d.At(node), "is nested more than %d deep", maxDepth)
	case node.Kind == yaml.AliasNode && open[node.Alias]:
		return Errorf(d.At(node), "anchor %q contains itself", node.Value)
	case *budget < 0:
		return Errorf(d.At(node), "aliases expand to more than a million values")
	}
	open[node] = true
	defer delete(open, node)
	if node.Kind == yaml.AliasNode {
		return d.bound(node.Alias, depth+1, open, budget)
	}
	for _, child := range node.Content {
		if err := d.bound(child, depth+1, open, budget); err != nil {
			return err
		}
	}
	return nil
}

// Resolve follows an alias to the node that it names.
func Resolve(node *yaml.Node) *yaml.Node {
	for node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// IsNull tells whether node is absent, empty or written as null.
func IsNull(node *yaml.Node) bool {
	node = Resolve(node)
	return node == nil || node.Kind == yaml.ScalarNode && node.Tag == "!!null"
}

// Kind names node's type as a person would: "a list", "a number", ...
func Kind(node *yaml.Node) string {
	node = Resolve(node)
	switch {
	case IsNull(node):
		return "empty"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	}
	switch node.Tag {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!timestamp":
		return "a date"
	}
	return "text"
}

// Text is data as a Document has it, for files that are text and not YAML. The
// error goes on after the file's name.
func Text(data []byte) ([]byte, error) {
	text, err := decode(data, "text", true)
	var place *decodeError
	if errors.As(err, &place) && place.line > 0 {
		return nil, fmt.Errorf("line %d, column %d %w", place.line, place.column, err)
	}
	return text, err
}

// decodeError is a place in a file that is no text.
type decodeError struct {
	line, column int
	message      string
}

func (e *decodeError) Error() string { return e.message }

// decode makes UTF-8 with line feeds of what editors write: byte order marks
// wherever tools that join files left them, UTF-16 (PowerShell's redirection)
// with a mark or without, CRLF, and the control character that ends files of
// DOS. What it wanted, want, is for the error. Where old is set, comments may be in an older encoding: nothing depends
// on them.
func decode(data []byte, want string, old bool) ([]byte, error) {
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE, 0, 0}), bytes.HasPrefix(data, []byte{0, 0, 0xFE, 0xFF}):
		return nil, &decodeError{message: "is UTF-32 text; save it as UTF-8"}
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		data = decodeUTF16(data[2:], data[0] == 0xFF)
	case len(data) >= 4 && data[0] != 0 && data[1] == 0 && data[2] != 0 && data[3] == 0:
		data = decodeUTF16(data, true)
	case len(data) >= 4 && data[0] == 0 && data[1] != 0 && data[2] == 0 && data[3] != 0:
		data = decodeUTF16(data, false)
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return nil, &decodeError{message: "is a binary file, not " + want}
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	data = bytes.TrimSuffix(data, []byte("\x1a"))
	if !utf8.Valid(data) {
		return decodeOld(data, want, old)
	}
	data = bytes.ReplaceAll(data, []byte("\uFEFF"), nil)
	// The parser breaks lines at these too; columns and lines go by "\n" alone.
	for _, lineBreak := range []string{"\u0085", "\u2028", "\u2029"} {
		data = bytes.ReplaceAll(data, []byte(lineBreak), []byte("\n"))
	}
	return data, nil
}

// decodeOld is for text that is not UTF-8 throughout.
func decodeOld(data []byte, want string, old bool) ([]byte, error) {
	lines := bytes.Split(data, []byte("\n"))
	for i, line := range lines {
		if utf8.Valid(line) {
			continue
		}
		end := len(line)
		if old {
			end = commentStart(line)
		}
		if !utf8.Valid(line[:end]) {
			column := 1
			for rest := line; ; column++ {
				r, size := utf8.DecodeRune(rest)
				if r == utf8.RuneError && size == 1 {
					return nil, &decodeError{i + 1, column, fmt.Sprintf("holds the byte 0x%02X, which is not UTF-8 (is it Latin-1, Windows-1252 or GBK?); save the file as UTF-8", rest[0])}
				}
				rest = rest[size:]
			}
		}
		lines[i] = append(bytes.Clone(line[:end]), bytes.ToValidUTF8(line[end:], []byte("\uFFFD"))...)
	}
	return decode(bytes.Join(lines, []byte("\n")), want, false)
}

// commentStart is where a line's comment begins, or its end. A "#" inside
// quotes is taken for one as well, which only makes an error of another one.
func commentStart(line []byte) int {
	for i, c := range line {
		if c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return i
		}
	}
	return len(line)
}

func decodeUTF16(data []byte, little bool) []byte {
	units := make([]uint16, 0, len(data)/2)
	for i := 0; i+1 < len(data); i += 2 {
		if little {
			units = append(units, uint16(data[i])|uint16(data[i+1])<<8)
		} else {
			units = append(units, uint16(data[i])<<8|uint16(data[i+1]))
		}
	}
	return []byte(string(utf16.Decode(units)))
}

// controlCharacter finds the first character that YAML does not allow.
func controlCharacter(text []byte, file string) error {
	line, column := 1, 0
	for _, r := range string(text) {
		column++
		switch {
		case r == '\n':
			line, column = line+1, 0
		case r < ' ' && r != '\t', r == 0x7F, r >= 0x80 && r < 0xA0:
			return Errorf(Position{File: file, Line: line, Column: column}, "holds the control character %U, which no key or value can; take it out", r)
		}
	}
	return nil
}

// forParser is the text as the parser is given it: without the version that a
// file declares, of which it refuses 1.2 though it reads such files.
func forParser(text []byte) []byte {
	if bytes.HasPrefix(text, []byte("%YAML 1.")) {
		text = bytes.Clone(text)
		text[0] = '#'
	}
	return text
}

// tabIndent finds the first line that is indented by a tab; the parser's own
// words for that ("found character that cannot start any token") help nobody.
func tabIndent(text []byte, file string) (Position, bool) {
	for i, line := range bytes.Split(text, []byte("\n")) {
		indent := len(line) - len(bytes.TrimLeft(line, " \t"))
		content := bytes.TrimSpace(line)
		if tab := bytes.IndexByte(line[:indent], '\t'); tab >= 0 && len(content) > 0 && content[0] != '#' {
			return Position{File: file, Line: i + 1, Column: tab + 1}, true
		}
	}
	return Position{}, false
}

var yamlLine = lazyregexp.New(`^yaml: (?:unmarshal errors:\s+)?line (\d+): (.*)`)

// syntaxError puts the parser's message behind our position.
func syntaxError(err error, file string) error {
	text := err.Error()
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ := strconv.Atoi(m[1])
		return Errorf(Position{File: file, Line: line, Column: 1}, "is not YAML: %s", m[2])
	}
	return Errorf(Position{File: file}, "is not YAML: %s", strings.TrimPrefix(text, "yaml: "))
}
