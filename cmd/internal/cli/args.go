package cli

import (
	"fmt"

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
