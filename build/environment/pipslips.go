package environment

import (
	"errors"
	"fmt"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
)

// commandOptions are those that "pip install" has and a requirements file has not.
var commandOptions = lazyregexp.New(`^[^-\s]\S*\s+(-[qUvI]+|--(?:upgrade|user|quiet|no-cache-dir|force-reinstall|no-deps|break-system-packages)(?:\s.*)?)$`)

// notPip recognises what people put into a pip section that is no requirement.
func notPip(text string) error {
	command := commandLine.FindStringSubmatch(text)
	switch {
	case command != nil && command[1] == "conda":
		return fmt.Errorf("is a command of conda; put its packages under dependencies, one an item (%s)", condaItems(command[2]))
	case command != nil:
		return fmt.Errorf("is a command; write its packages alone, one an item (%s)", itemExamples(pipWords(command[2])))
	case commandOptions.MatchString(text):
		return fmt.Errorf("has options of pip's command line behind it; take them out (%q)", commandOptions.FindStringSubmatch(text)[1])
	case strings.HasPrefix(text, "install "):
		return fmt.Errorf("is a command; write its packages alone, one an item (%s)", itemExamples(pipWords(strings.TrimPrefix(text, "install "))))
	case gluedComment.MatchString(text):
		return fmt.Errorf(`holds "#" with no blank before it; write the comment as "%s"`, strings.Replace(text, "#", "  #", 1))
	case otherComment.MatchString(text) && !strings.HasPrefix(otherComment.FindStringSubmatch(text)[1], ";") && !strings.HasPrefix(otherComment.FindStringSubmatch(text)[1], "--"):
		return fmt.Errorf(`has %q behind it; a comment begins with "#"`, strings.TrimSpace(otherComment.FindStringSubmatch(text)[1]))
	case strings.HasSuffix(text, ",") && !strings.ContainsAny(strings.TrimRight(text, ", "), ", "):
		return errors.New(`has a "," at its end; take it out`)
	}
	return nil
}
