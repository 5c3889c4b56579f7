package cli

import "github.com/spf13/cobra"

// commands lists every command of crun.
func commands(app *App) []*cobra.Command {
	return []*cobra.Command{
		newVersionCmd(app),
	}
}
