package cli

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/monitor"
	"crun.dev/crun/run/record"
)

// defaultSettle is how long crun run -d watches a run: most scripts that fail
// at once (an import, a path, an argument) do so within it.
const defaultSettle = 5 * time.Second

// lastLines is how much is shown of a run that has ended by then.
const lastLines = 10

// settle waits whether a run in the background stays up, and gives its state
// where it is over by then. A signal ends the waiting, not the run.
func (f *foreground) settle() (over *record.State, err error) {
	wait := defaultSettle
	if f.job.options.settle != nil {
		wait = *f.job.options.settle
	}
	settled := time.After(wait)
	messages := f.client.Messages()
	for {
		select {
		case m, ok := <-messages:
			switch {
			case !ok:
				messages = nil // the next command gives it another monitor
			case m.What == monitor.Ended:
				return m.State, nil
			case m.What == monitor.Failed:
				return nil, failure(m)
			}
		case s := <-f.signals:
			switch number, _ := s.(syscall.Signal); number {
			case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP:
				return nil, f.leave(128 + int(number))
			case syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGQUIT:
				f.forwardEarly(s)
			}
		case <-settled:
			// What a monitor that died could not tell is in the record.
			if state, err := f.record.State(); err == nil && state.Phase.Over() {
				return &state, nil
			}
			return nil, nil
		}
	}
}

// forwardEarly passes a signal on to the run.
func (f *foreground) forwardEarly(s os.Signal) {
	var none launch.Interrupts
	state, err := f.record.State()
	if err == nil {
		err = launch.Signal(context.Background(), f.job.engine, f.record, state.Container, "crun run", none.Next(s).Signal)
	}
	if err != nil {
		f.app.warn(err.Error())
	}
}

// endedEarly tells of a run in the background that has failed already: with the
// end of what it wrote, which is on no terminal.
func (f *foreground) endedEarly(s *record.State) error {
	log := f.record.ReadLog()
	defer log.Close()
	p := &logPrinter{out: f.app.Err, err: f.app.Err, options: &logsOptions{}, tail: &lineTail{lines: lastLines}}
	err := p.copy(log)
	if err == nil {
		err = p.flushTail()
	}
	if err != nil {
		f.app.warn(fmt.Sprintf("its log: %v", err))
	}
	if s.Phase == record.Ended {
		f.app.sayEnd(f.record, f.job.plan, s, f.warned)
		return &exitError{code: exitEngine}
	}
	return f.ended(s)
}
