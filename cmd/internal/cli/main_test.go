package cli

import (
	"fmt"
	"os"
	"testing"
)

// TestMain ends a monitor at once: crun starts itself again for one, and a test
// that gets that far would start all tests again, which start monitors.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "monitor" {
		fmt.Fprintln(os.Stderr, "a test has started a run")
		os.Exit(exitEngine)
	}
	os.Exit(m.Run())
}
