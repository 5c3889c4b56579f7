package monitor

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/record"
)

// ErrDetached says that the foreground has left a run that goes on.
var ErrDetached = errors.New("detached")

// ErrBrokenPipe is ErrDetached because nobody reads the output any more.
var ErrBrokenPipe = errors.New("nobody reads the output")

// DrainIdle bounds the wait for output behind the end of a run.
const DrainIdle = 5 * time.Second

// Foreground follows a run that has been started to its end.
type Foreground struct {
	Record  *record.Record
	Session *launch.Session
	Client  *Client
	// Signals are those that this process gets.
	Signals <-chan os.Signal
	// Grace is the time between SIGTERM and SIGKILL at the second Ctrl-C.
	Grace time.Duration
	// Send sends a signal, by name, to the run.
	Send func(signal string) error
	// Warn prints a failure that does not end the following.
	Warn func(error)
}

// Follow returns when the run is over, with its state, or when this process is
// to leave it: ErrDetached, ErrBrokenPipe. A monitor that dies is replaced.
func (f *Foreground) Follow(ctx context.Context) (record.State, error) {
	var interrupts launch.Interrupts
	var kill, late <-chan time.Time
	output := f.Session.Output()
	messages := f.Client.Messages()
	for {
		select {
		case m, ok := <-messages:
			switch {
			case !ok:
				var err error
				if messages, err = f.replace(); err != nil {
					return f.await(ctx, err)
				}
			case m.What == Ended:
				f.Session.Drain(DrainIdle)
				if f.Session.BrokenPipe() {
					return *m.State, ErrBrokenPipe
				}
				return *m.State, nil
			case m.What == Failed:
				return f.await(ctx, errors.New(m.Error))
			}
		case <-output:
			output = nil
			if f.Session.BrokenPipe() {
				return record.State{}, ErrBrokenPipe
			}
			late = time.After(DrainIdle) // as a rule the end comes right behind
		case <-late:
			f.Warn(errors.New("the engine has ended the output, but not the run; crun logs -f shows the rest"))
		case <-kill:
			f.send("SIGKILL")
		case signal := <-f.Signals:
			if signal == syscall.SIGWINCH {
				f.Session.Resize(ctx)
				continue
			}
			action := interrupts.Next(signal)
			if action.Detach {
				return record.State{}, ErrDetached
			}
			if action.Grace {
				kill = time.After(f.Grace)
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

// replace starts a monitor in the place of one that died. Where another
// command was faster, the channel is nil: the record tells the end.
func (f *Foreground) replace() (<-chan Message, error) {
	lock, err := f.Record.TryLock()
	if err != nil {
		return nil, err
	}
	client, err := Adopt(f.Record, lock)
	if err != nil {
		return nil, err
	}
	f.Client = client
	return client.Messages(), nil
}

// await watches the record for the end that no monitor of ours will tell. why
// is the error should nobody own the run.
func (f *Foreground) await(ctx context.Context, why error) (record.State, error) {
	for {
		over, err := launch.WaitOver(ctx, f.Record, time.Second)
		if err != nil {
			return record.State{}, err
		}
		if over {
			state, err := f.Record.State()
			if err == nil {
				f.Session.Drain(DrainIdle)
			}
			return state, err
		}
		if !f.Record.Owned() {
			return record.State{}, why
		}
		select {
		case signal := <-f.Signals:
			switch signal {
			case syscall.SIGHUP:
				return record.State{}, ErrDetached
			case syscall.SIGWINCH:
				f.Session.Resize(ctx)
			case syscall.SIGINT:
				f.send("SIGINT")
			}
		default:
		}
	}
}
