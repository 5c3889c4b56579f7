package launch

import (
	"os"
	"syscall"
)

// Interrupts turns the signals that crun gets while a run is attached into
// those that the run gets: the first Ctrl-C is SIGINT, the second SIGTERM with
// a grace time, the third SIGKILL; other signals are passed on as they are.
type Interrupts struct{ count int }

// Action is what to do for a signal.
type Action struct {
	// Signal is to be sent, by name, or "".
	Signal string
	// Grace says to send SIGKILL after the run's grace time.
	Grace bool
	// Detach says to leave the run alone and end.
	Detach bool
}

// forwarded are the signals that pass through.
var forwarded = map[os.Signal]string{
	syscall.SIGTERM: "SIGTERM",
	syscall.SIGQUIT: "SIGQUIT",
	syscall.SIGUSR1: "SIGUSR1",
	syscall.SIGUSR2: "SIGUSR2",
}

// Signals are those that Next knows.
func Signals() []os.Signal {
	all := []os.Signal{syscall.SIGINT, syscall.SIGHUP}
	for signal := range forwarded {
		all = append(all, signal)
	}
	return all
}

// Next tells what to do for a signal.
func (i *Interrupts) Next(signal os.Signal) Action {
	switch signal {
	case syscall.SIGHUP:
		return Action{Detach: true}
	case syscall.SIGINT:
		i.count++
		switch i.count {
		case 1:
			return Action{Signal: "SIGINT"}
		case 2:
			return Action{Signal: "SIGTERM", Grace: true}
		}
		return Action{Signal: "SIGKILL"}
	}
	return Action{Signal: forwarded[signal]}
}
