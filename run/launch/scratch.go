package launch

import (
	"fmt"
	"os"
)

// makeScratch makes the run's /tmp on disk. The command runs as the caller,
// whose folder it is. One that is there already was made by somebody else: the
// scratch root may be open to all, and the run's id can be seen by then.
func (o *Owner) makeScratch() error {
	if o.plan.Scratch == "" {
		return nil
	}
	if err := os.Mkdir(o.plan.Scratch, 0o700); err != nil {
		return fmt.Errorf("making the run's tmpdir: %w; see 'scratch' in /etc/crun/config.yaml, or use --tmpdir SIZE for one in memory", err)
	}
	return nil
}

func (o *Owner) removeScratch() {
	if o.plan.Scratch == "" {
		return
	}
	if err := os.RemoveAll(o.plan.Scratch); err != nil {
		o.warn(fmt.Errorf("the run's tmpdir is still there: %w", err))
	}
}
