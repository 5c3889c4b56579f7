// Command crun-init is PID 1 of a run. It reads back the limits that the
// kernel holds, refuses to start the command where they are not those of the
// plan, then forwards signals, reaps, keeps the time limit, and leaves a
// report of how the command ended and what it used.
//
// It speaks to crun by the files of package run/inside alone, so that it works
// the same below every engine. It is static and has to stay under 3 MB: it is
// copied into each container.
package main

import (
	"os"
	"runtime"
)

func main() {
	// Its threads count against the run's pids, and it has nothing to do.
	runtime.GOMAXPROCS(1)
	os.Exit(run(os.Args[1:]))
}
