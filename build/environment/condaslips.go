package environment

import (
	"errors"
	"fmt"
	"strings"
)

// notConda recognises what people put into the wrong list.
func notConda(text string) error {
	switch {
	case text == "":
		return errors.New("is empty; write a package, or take the item out")
	case strings.HasPrefix(text, "-c ") || strings.HasPrefix(text, "--channel"):
		return errors.New(`is an option of conda; put the channel under "channels:"`)
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

// notCondaURL is for an address that is no channel's.
func notCondaURL(text string) error {
	if strings.Contains(text, "git+") || strings.HasSuffix(text, ".git") || archive.MatchString(text) {
		return errors.New(`is a pip requirement; put it under "- pip:"`)
	}
	return errors.New("is an address, but not of a .conda or .tar.bz2 file")
}

// badClause puts the frequent slips into words.
func badClause(text, clause string) error {
	switch {
	case clause == "":
		return fmt.Errorf(`has the version %q with nothing beside a "," or "|"`, text)
	case strings.Trim(clause, "=!<>~") == "":
		return fmt.Errorf("has no version after %q", clause)
	case strings.HasPrefix(clause, "=>"), strings.HasPrefix(clause, "=<"):
		return fmt.Errorf("has %q; the sign is %q", clause[:2], string(clause[1])+"=")
	case strings.HasPrefix(clause, "==="):
		return errors.New(`has "===", which is pip's; write "=="`)
	}
	return fmt.Errorf("has the version %q; allowed are such as =1.2, ==1.2.3, >=1.2,<2 and 1.2.*", text)
}
