// Command crun builds PyTorch images and runs trainings under limits.
package main

import (
	"os"

	"crun.dev/crun/cmd/internal/cli"
)

func main() {
	os.Exit(cli.Main())
}
