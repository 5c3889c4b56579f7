package monitor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/record"
)

// ErrDetached says that the foreground has left a run that goes on.
var ErrDetached = errors.New("detached")

// ErrLeft is ErrDetached because the detach keys were pressed.
var ErrLeft = errors.New("left")

// ErrBrokenPipe is ErrDetached because nobody reads the output any more.
var ErrBrokenPipe = errors.New("nobody reads the output")

// DrainIdle bounds the wait for output behind the end of a run.
const DrainIdle = 5 * time.Second

// lateEnd is how long the end of a run may come behind its output: on a machine
// that is busy an engine takes seconds to say it.
const lateEnd = 30 * time.Second

// Bounds of the following.
const (
	lookEvery    = 100 * time.Millisecond // at the record, where no monitor of ours tells
	overTime     = time.Second            // from a run that is over to its complete record
	drainLimit   = time.Second            // for the rest of the output, once a signal came
	replacements = 5                      // of monitors that died
)

// Foreground follows a run that has been started to its end.
type Foreground struct {
	Record  *record.Record
	Session *launch.Session
	// Client is the run's monitor, where this process has started it.
	Client *Client
	// Signals are those that this process gets.
	Signals <-chan os.Signal
	// Grace is the time between SIGTERM and SIGKILL at the second Ctrl-C.
	Grace time.Duration
	// Send sends a signal, by name, to the run.
	Send func(signal string) error
	// Warn prints a failure that does not end the following.
	Warn func(error)
	// Noted prints what should be known while the run goes on; nil prints none.
	Noted func(text string)

	interrupts launch.Interrupts
	messages   <-chan Message // nil while the record alone tells
	failed     error          // what our last monitor could not do
	replaced   int
	killAt     time.Time        // when the grace time ends; zero: it has not begun
	kill       <-chan time.Time // that time, where no monitor of ours knows it
}

// Follow returns when the run is over, with its state, or when this process is
// to leave it: ErrDetached, ErrBrokenPipe. A monitor that dies is replaced.
func (f *Foreground) Follow(ctx context.Context) (record.State, error) {
	var late <-chan time.Time
	output := f.Session.Output()
	if f.Client != nil {
		f.messages = f.Client.Messages()
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case m, ok := <-f.messages:
			switch {
			case ok && m.What == Ended:
				return f.over(m.State)
			case ok && m.What == Noted && f.Noted != nil:
				for _, text := range m.Warnings {
					f.Noted(text)
				}
			case !ok:
				f.alone(nil)
			case m.What == Failed:
				f.alone(errors.New(m.Error))
			}
		case <-look.C:
			if f.messages != nil {
				continue
			}
			state, err := f.look(ctx)
			if err != nil {
				return record.State{}, err
			}
			if state != nil {
				return f.over(state)
			}
		case <-output:
			output = nil
			if f.Session.BrokenPipe() {
				return record.State{}, ErrBrokenPipe
			}
			late = time.After(lateEnd) // as a rule the end comes right behind
		case <-late:
			f.Warn(errors.New("the engine has ended the output, but not the run; crun logs -f shows the rest"))
		case <-f.Session.Left():
			return record.State{}, ErrLeft
		case <-f.kill:
			f.send("SIGKILL")
		case signal := <-f.Signals:
			if signal == syscall.SIGWINCH {
				f.Session.Resize(ctx)
				continue
			}
			action := f.interrupts.Next(signal)
			if action.Detach {
				return record.State{}, ErrDetached
			}
			if action.Grace {
				f.killAt = time.Now().Add(f.Grace)
				f.killLater()
			}
			f.send(action.Signal)
		}
	}
}

func (f *Foreground) send(signal string) {
	if signal == "" {
		return
	}
	// Not in this goroutine: an engine that hangs must not keep the third
	// Ctrl-C from being heard.
	go func() {
		if err := f.Send(signal); err != nil {
			f.Warn(err)
		}
	}()
}

// killLater has SIGKILL sent at the end of the grace time: by the monitor,
// which outlives this process, where there is one of ours.
func (f *Foreground) killLater() {
	f.kill = nil
	switch left := max(0, time.Until(f.killAt)); {
	case f.killAt.IsZero():
	case f.messages == nil || f.Client.KillAfter(left) != nil:
		f.kill = time.After(left)
	}
}

// alone goes on without a monitor of ours: the record tells the end. failed is
// what that monitor could not do, nil for one that died.
func (f *Foreground) alone(failed error) {
	f.messages, f.failed = nil, failed
	f.killLater()
}

// look reads the record of a run that no monitor of ours owns: its state once
// it is over, and nil before. A run that nobody owns gets a monitor anew, but
// for one that has failed at it.
func (f *Foreground) look(ctx context.Context) (*record.State, error) {
	state, err := f.Record.State()
	if err != nil {
		return nil, err
	}
	if state.Phase.Over() {
		if _, err := launch.WaitOver(ctx, f.Record, overTime); err != nil {
			return nil, err
		}
		state, err = f.Record.State()
		return &state, err
	}
	lock, err := f.Record.TryLock()
	switch {
	case errors.Is(err, record.ErrLocked):
		return nil, nil // another command was faster, or looks too
	case err != nil:
		return nil, err
	case f.failed != nil:
		lock.Unlock()
		return nil, f.failed
	case f.replaced == replacements:
		lock.Unlock()
		return nil, fmt.Errorf("its monitor has died %d times; crun ps starts another one, and %s/monitor.log may say why", replacements+1, f.Record.Dir())
	}
	f.replaced++
	client, err := Adopt(f.Record, lock)
	if err != nil {
		return nil, err
	}
	f.Client, f.messages = client, client.Messages()
	f.killLater()
	return nil, nil
}

// over waits for the rest of the output of a run that is over. That a reader
// of ours is slow is no reason to leave it, but a signal is.
func (f *Foreground) over(state *record.State) (record.State, error) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		f.Session.Drain(DrainIdle)
	}()
	var limit <-chan time.Time
	for {
		select {
		case signal := <-f.Signals:
			if signal != syscall.SIGWINCH && limit == nil {
				limit = time.After(drainLimit)
			}
			continue
		case <-limit:
		case <-drained:
		}
		break
	}
	if f.Session.BrokenPipe() {
		return *state, ErrBrokenPipe
	}
	return *state, nil
}
