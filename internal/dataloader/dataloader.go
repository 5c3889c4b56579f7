// Package dataloader finds numbers of DataLoader workers that are written into
// scripts and their configs.
package dataloader

import (
	"bytes"
	"slices"
	"strconv"

	"crun.dev/crun/internal/lazyregexp"
)

// Number is one that a file has.
type Number struct {
	Line   int // from 1
	Value  int
	Option string // the command-line option whose default it is, "--num-workers", or ""
	// Text is what stands there: "num_workers=16".
	Text string
}

// name is what torch, Lightning and transformers (dataloader_num_workers) call
// it, and constants; of is what stands before it.
const (
	of   = `(?:(?:data[-_]?loader|data|loader|train|val|valid|eval|test)[-_])?`
	name = of + `(?:num_workers|NUM_WORKERS)`
)

var (
	// With the annotation that a variable may have: "num_workers: int = 8".
	keyword   = lazyregexp.New(`\b` + name + `\s*(?::[^=\n]{1,60})?=\s*(\d{1,4})\b`)
	key       = lazyregexp.New(`["']` + name + `["']\s*:\s*(\d{1,4})\b`)
	option    = lazyregexp.New(`["'](--` + of + `(?:num[-_]?|n[-_]?)?workers)["']`)
	byDefault = lazyregexp.New(`\bdefault\s*=\s*(\d{1,4})\b`)
	argument  = lazyregexp.New(`\b(?:add_argument|option)\s*\(`)
	absl      = lazyregexp.New(`\bDEFINE_integer\s*\(\s*["'](` + name + `)["']\s*,\s*(?:default\s*=\s*)?(\d{1,4})\b`)
	inConfig  = lazyregexp.New(`(?m)^[ \t{]*["']?` + name + `["']?[ \t]*:[ \t]*(\d{1,4})[ \t]*,?[ \t]*(?:#.*)?$`)
)

// InScript finds them in Python, in the order of their lines: num_workers=16, as
// an argument, a variable or a key of a dict, and the default of an option
// (argparse, click, absl) called --num-workers, --workers or so. What a comment
// or a string says is none. It is a search and no parser: what is computed is
// not found.
func InScript(source []byte) (found []Number) {
	code := mask(source, false)
	withStrings := mask(source, true)
	for _, at := range keyword.FindAllStringSubmatchIndex(string(code), -1) {
		if !computed(code[at[3]:]) {
			found = append(found, number(source, code, at, ""))
		}
	}
	for _, at := range key.FindAllStringSubmatchIndex(string(withStrings), -1) {
		// In a string that holds one the number is blank.
		if !computed(code[at[3]:]) && code[at[2]] != ' ' {
			found = append(found, number(source, withStrings, at, ""))
		}
	}
	for _, at := range absl.FindAllStringSubmatchIndex(string(withStrings), -1) {
		if code[at[4]] != ' ' {
			found = append(found, number(source, withStrings, []int{at[0], at[1], at[4], at[5]}, "--"+string(withStrings[at[2]:at[3]])))
		}
	}
	for _, call := range argument.FindAllStringSubmatchIndex(string(code), -1) {
		end := closing(code, call[1])
		name := option.FindStringSubmatch(string(withStrings[call[1]:end]))
		value := byDefault.FindStringSubmatchIndex(string(code[call[1]:end]))
		if name == nil || value == nil {
			continue
		}
		for i := range value {
			value[i] += call[1]
		}
		found = append(found, number(source, code, value, name[1]))
	}
	slices.SortStableFunc(found, func(a, b Number) int { return a.Line - b.Line })
	return found
}

// computed tells whether what stands behind a number makes another one of it.
func computed(behind []byte) bool {
	behind = bytes.TrimLeft(behind, " \t")
	return len(behind) > 0 && bytes.IndexByte([]byte("*/+-%<>"), behind[0]) >= 0
}

// InConfig finds them in a file of YAML or JSON that has one to a line.
func InConfig(data []byte) (found []Number) {
	for _, at := range inConfig.FindAllStringSubmatchIndex(string(data), -1) {
		found = append(found, number(data, data, at, ""))
	}
	return found
}

// Persistent tells whether a script keeps its workers from one epoch to the next
// or says that it does not.
func Persistent(source []byte) bool {
	return bytes.Contains(mask(source, false), []byte("persistent_workers"))
}

// number makes one of a match whose first group is the value.
func number(source, code []byte, at []int, option string) Number {
	value, _ := strconv.Atoi(string(code[at[2]:at[3]])) // four digits at most
	return Number{
		Line: bytes.Count(source[:at[2]], []byte("\n")) + 1, Value: value, Option: option,
		Text: string(bytes.Join(bytes.Fields(code[at[0]:at[1]]), []byte(" "))),
	}
}

// closing gives the end of the call whose arguments begin at from.
func closing(code []byte, from int) int {
	depth := 1
	for i := from; i < len(code); i++ {
		switch code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(code)
}

// mask blanks comments and strings, so that places stay as they are. Strings of
// one line are kept where keep says so.
func mask(source []byte, keep bool) []byte {
	out := bytes.Clone(source)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(source); {
		switch c := source[i]; c {
		case '#':
			end := bytes.IndexByte(source[i:], '\n')
			if end < 0 {
				end = len(source) - i
			}
			blank(i, i+end)
			i += end
		case '"', '\'':
			triple := bytes.Repeat([]byte{c}, 3)
			long := bytes.HasPrefix(source[i:], triple)
			end := stringEnd(source, i, c, long)
			if long || !keep {
				blank(i, end)
			}
			i = end
		default:
			i++
		}
	}
	return out
}

// stringEnd gives the place behind the string that begins at from.
func stringEnd(source []byte, from int, quote byte, long bool) int {
	i := from + 1
	if long {
		i = from + 3
	}
	for ; i < len(source); i++ {
		switch {
		case source[i] == '\\':
			i++
		case long && bytes.HasPrefix(source[i:], bytes.Repeat([]byte{quote}, 3)):
			return i + 3
		case !long && (source[i] == quote || source[i] == '\n'):
			return i + 1
		}
	}
	return len(source)
}
