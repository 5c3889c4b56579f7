package environment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
)

// notConda recognises what people put into the wrong list.
func notConda(text string) error {
	command := commandLine.FindStringSubmatch(text)
	switch {
	case text == "":
		return errors.New("is empty; write a package, or take the item out")
	case command != nil && command[1] == "conda":
		return fmt.Errorf("is a command; write the packages alone, one an item (%s)", condaItems(command[2]))
	case command != nil:
		return fmt.Errorf(`is a command; write its packages under "- pip:", one an item (%s)`, itemExamples(pipWords(command[2])))
	case strings.HasPrefix(text, "-c ") || strings.HasPrefix(text, "--channel"):
		return errors.New(`is an option of conda; put the channel under "channels:"`)
	case channelOption.MatchString(text):
		m := channelOption.FindStringSubmatch(text)
		return fmt.Errorf(`has an option of conda behind it; put the channel under "channels:", or write "- %s::%s"`, m[2], strings.Fields(m[1])[0])
	case gluedComment.MatchString(text):
		return fmt.Errorf(`holds "#" with no blank before it; write the comment as "%s"`, strings.Replace(text, "#", "  #", 1))
	case otherComment.MatchString(text):
		m := otherComment.FindStringSubmatch(text)
		return fmt.Errorf(`has %q behind it; a comment begins with "#"`, strings.TrimSpace(m[1]))
	case strings.HasSuffix(text, ";"):
		return errors.New(`has a ";" at its end; take it out`)
	case strings.HasSuffix(text, ",") && !strings.ContainsAny(strings.TrimRight(text, ", "), ", "):
		return errors.New(`has a "," at its end; take it out`)
	case strings.HasPrefix(text, "-"):
		return errors.New(`is an option of pip; put it under "- pip:"`)
	case strings.Contains(text, ";"):
		return errors.New(`has a marker (";"), which is pip's; put it under "- pip:", or mark the line "# [linux]"`)
	case strings.Contains(text, "{{"), strings.Contains(text, "{%"):
		return errors.New("is a template, which crun does not fill in; write the package out")
	case variable.MatchString(text):
		return errVariable
	case strings.Contains(text, " @ "):
		return errors.New(`is a pip requirement; put it under "- pip:"`)
	}
	return nil
}

// condaItems shows what stands behind "conda install" as items, and says where
// its channels go. Other options are none of a file's.
func condaItems(arguments string) string {
	var packages, channels []string
	words := strings.Fields(arguments)
	for i := 0; i < len(words); i++ {
		name, value, joined := strings.Cut(words[i], "=")
		switch {
		case !strings.HasPrefix(words[i], "-"):
			packages = append(packages, words[i])
		case !slices.Contains([]string{"-c", "--channel", "-n", "--name", "-p", "--prefix", "--file"}, name):
		case !joined && i+1 < len(words):
			i++
			value = words[i]
			fallthrough
		default:
			if value != "" && (name == "-c" || name == "--channel") {
				channels = append(channels, value)
			}
		}
	}
	text := itemExamples(packages)
	if len(channels) > 0 {
		text += `; and under "channels:", ` + itemExamples(channels)
	}
	return text
}

// pipWords takes apart what stands behind "pip install". An option keeps its
// value, and those that a file has not are left out.
func pipWords(arguments string) []string {
	var items []string
	words := strings.Fields(arguments)
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case commandOptions.MatchString("x " + word):
		case slices.Contains(optionsWithValue, word) && i+1 < len(words):
			i++
			items = append(items, word+" "+words[i])
		default:
			items = append(items, word)
		}
	}
	return items
}

// optionsWithValue are those of pip that stand in a file as well and take the
// next word.
var optionsWithValue = []string{"-r", "--requirement", "-c", "--constraint", "-e", "--editable", "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--no-binary", "--only-binary"}

// dotted gives a version that was typed with commas: "=1,21" is 1.21.
func dotted(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.TrimLeft(text, "="), " ", ""), ",", ".")
}

// notCondaURL is for an address that is no channel's.
func notCondaURL(text string) error {
	if strings.Contains(text, "git+") || strings.HasSuffix(text, ".git") || archive.MatchString(text) {
		return errors.New(`is a pip requirement; put it under "- pip:"`)
	}
	return errors.New("is an address, but not of a .conda or .tar.bz2 file")
}

var (
	commandLine   = lazyregexp.New(`^(?:!|\$ ?)?(?:sudo )?(?:(conda|mamba) install|pip3? install|python3? -m pip install)\s+(.*)$`)
	channelOption = lazyregexp.New(`^([A-Za-z0-9_.][^\s]*(?:\s[^-\s]\S*)?)\s+(?:-c|--channel)[\s=]+(\S+)$`)
	gluedComment  = lazyregexp.New(`^[^\s#:/]+#(?:\s|[^\s]*$)`)
	otherComment  = lazyregexp.New(`^[A-Za-z0-9_.][A-Za-z0-9_.=<>-]*\s+((?://|--|;|<-).*)$`)
	commaVersion  = lazyregexp.New(`^={0,2} ?[0-9]+(?:\.[0-9]+)*(?: ?, ?[0-9]+(?:\.[0-9]+)*)+$`)
	caretVersion  = lazyregexp.New(`^=*\^[0-9][0-9.]*$`)
	letterVersion = lazyregexp.New(`\.[xX]$`)
)

// badClause puts the frequent slips into words.
func badClause(text, clause string) error {
	switch {
	case clause == "":
		return fmt.Errorf(`has the version %q with nothing beside a "," or "|"`, text)
	case strings.Trim(clause, "=!<>~") == "":
		return fmt.Errorf("has no version after %q", clause)
	case strings.HasPrefix(clause, "=>"), strings.HasPrefix(clause, "=<"), strings.HasPrefix(clause, "=~"), strings.HasPrefix(clause, "=!"):
		return fmt.Errorf("has %q; the sign is %q", clause[:2], string(clause[1])+"=")
	case caretVersion.MatchString(clause):
		return fmt.Errorf(`has "^", which is Poetry's and npm's; write both ends (">=%s,<NEXT")`, strings.TrimLeft(clause, "=^"))
	case strings.HasPrefix(clause, "@"), strings.HasPrefix(clause, ":"):
		return fmt.Errorf(`has %q before its version; conda's sign is "="`, clause[:1])
	case strings.HasPrefix(clause, "("):
		return fmt.Errorf("has its version in (...); take them out")
	case strings.ContainsAny(clause, `"'`):
		return fmt.Errorf("has quotes inside; put them around the whole item, or take them out")
	case condaClause.MatchString(strings.TrimRight(clause, "=")):
		return fmt.Errorf(`has "=" at its end, where a build would stand; take it out`)
	case strings.ContainsAny(strings.TrimLeft(clause, "=!<>~"), "<>=!~"):
		return fmt.Errorf(`has the version %q; put a "," between its parts`, text)
	case strings.HasPrefix(clause, "==="):
		return errors.New(`has "===", which is pip's; write "=="`)
	}
	return fmt.Errorf("has the version %q; allowed are such as =1.2, ==1.2.3, >=1.2,<2 and 1.2.*", text)
}
