package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Root gives the command tree for the documentation that is made from it; it
// reads nothing of the machine.
func Root() *cobra.Command {
	none := func(string) string { return "" }
	return newRootCmd(&App{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Getenv: none, Dir: "/"})
}
