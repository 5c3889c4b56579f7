package cli

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
)

// addOutputFlag adds -o to a command that can print for machines.
func addOutputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "", "print as `FORMAT`: json")
	// The name of the flag is right above, so there is no error to have.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveNoFileComp))
}

func checkOutput(cmd *cobra.Command, output string) error {
	if output != "" && output != "json" {
		return usagef(cmd, "-o is %q; the one format is json", output)
	}
	return nil
}

// printJSON prints v for -o json.
func (app *App) printJSON(v any) error { return indented(app.Out, v) }

// indented writes v as JSON for -o json.
func indented(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
