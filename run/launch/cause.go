package launch

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/inside"
)

// earlyEnd bounds how long a run may have lasted of which a signal came before
// init listened.
const earlyEnd = 10 * time.Second

// lastSignal names the last signal that crun has sent to the run, or "".
func (o *Owner) lastSignal() (name string) {
	events, err := o.Record.Events()
	if err != nil {
		return ""
	}
	for _, e := range events {
		if e.What == "signal" && unix.SignalNum(e.Attrs["signal"]) != 0 {
			name = e.Attrs["signal"]
		}
	}
	return name
}

// wentDown tells whether a shutdown of the machine has ended the run: it sends
// SIGTERM to all that runs, and nobody else did.
func (o *Owner) wentDown(r *inside.Report) bool {
	if r.Signal != "SIGTERM" && !slices.Contains(r.Got, "SIGTERM") {
		return false
	}
	if ended := r.Reason == inside.ReasonExited || r.Reason == inside.ReasonSignaled; !ended || o.lastSignal() != "" || o.state.Boot == "" {
		return false
	}
	if o.Boot != "" && o.Boot != o.state.Boot {
		return true
	}
	return o.GoingDown != nil && o.GoingDown()
}
