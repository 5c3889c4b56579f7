package cli

import "github.com/spf13/cobra"

// commands lists every command of crun.
func commands(app *App) []*cobra.Command {
	return []*cobra.Command{
		newInitCmd(app),
		newBuildCmd(app),
		newLintCmd(app),
		newCheckCmd(app),
		newLockCmd(app),
		newImagesCmd(app),
		newPruneCmd(app),
		newRunCmd(app, nil),
		newPsCmd(app, nil),
		newLogsCmd(app, nil),
		newAttachCmd(app, nil),
		newExecCmd(app, nil),
		newShellCmd(app, nil),
		newWaitCmd(app, nil),
		newStopCmd(app, nil),
		newKillCmd(app, nil),
		newRestartCmd(app, nil),
		newRmCmd(app, nil),
		newInspectCmd(app, nil),
		newWhyCmd(app, nil),
		newMonitorCmd(app),
		newProfilesCmd(app),
		newDoctorCmd(app),
		newVersionCmd(app),
	}
}
