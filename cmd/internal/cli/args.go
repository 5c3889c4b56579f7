package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"crun.dev/crun/internal/yamlfile"
)

// noArgs refuses arguments, with usageError's exit code.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{command: cmd.CommandPath(), err: fmt.Errorf("%s takes no argument, not %q", cmd.CommandPath(), args[0])}
	}
	return nil
}

// timeFlag is a time on the command line, as profiles write it.
type timeFlag time.Duration

func (t *timeFlag) String() string {
	if *t == 0 {
		return ""
	}
	return time.Duration(*t).String()
}

func (t *timeFlag) Type() string { return "TIME" }

func (t *timeFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("write it as 10s, 2m or 1h")
	case d < 0:
		return errors.New("it cannot be negative")
	}
	*t = timeFlag(d)
	return nil
}

// usagef makes a usageError of cmd.
func usagef(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{command: cmd.CommandPath(), err: fmt.Errorf(format, args...)}
}

// didYouMean is the clause that offers the command of parent whose name is
// nearest to word, or "".
func didYouMean(parent *cobra.Command, word string) string {
	var names []string
	for _, command := range parent.Commands() {
		if command.IsAvailableCommand() {
			names = append(names, command.Name())
		}
	}
	return yamlfile.DidYouMean(word, names)
}
