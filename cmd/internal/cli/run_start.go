package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/monitor"
	"crun.dev/crun/run/record"
)

// Exit codes of a foreground command that leaves a run alone, as shells show
// the signals that would have ended it.
const (
	exitSIGHUP  = 128 + int(syscall.SIGHUP)
	exitSIGPIPE = 128 + int(syscall.SIGPIPE)
)

// abandonTime bounds the wait for a monitor to clean up behind a run that was
// given up before its start.
const abandonTime = 30 * time.Second

// startTime bounds the wait for an engine that starts a run which its caller
// wants to leave.
const startTime = 3 * time.Second

// start starts the run and, unless detached, follows it to its end.
func (app *App) start(ctx context.Context, j *job) error {
	if j.home != "" {
		if err := os.MkdirAll(j.home, 0o700); err != nil {
			j.giveUp()
			return fmt.Errorf("making the runs' home: %w", err)
		}
	}
	for _, w := range j.warnings {
		app.warnOnce(j.plan.Project, w)
	}
	app.sayWorkers(j.plan, j.options.command)
	app.sayFindings(j)
	// From here on signals are the run's. Those that came before have ended
	// ctx, and so do those up to the start.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, append(launch.Signals(), syscall.SIGWINCH, syscall.SIGPIPE)...)
	defer signal.Stop(signals)

	r, err := j.store.Commit(j.plan, record.NewState(time.Now(), j.engineRef))
	if err == nil {
		err = j.client.Send(monitor.Request{Secrets: j.secrets, Arch: j.arch, Share: j.share, API: j.api})
	}
	if err != nil {
		j.giveUp()
		return err
	}
	f := &foreground{app: app, job: j, record: r, client: j.client, signals: signals}
	return f.run(ctx)
}

// foreground is a crun run that is attached.
type foreground struct {
	app     *App
	job     *job
	record  *record.Record
	client  *monitor.Client
	signals chan os.Signal
	session *launch.Session
	warned  int      // how many of the record's warnings have been said
	noted   []string // those that were said while it went on
}

func (f *foreground) run(ctx context.Context) error {
	container, err := f.created(ctx)
	f.job.leaveTurn() // the engine lists its CPUs from here on
	if err != nil {
		return err
	}
	if !f.job.options.detach {
		if err := f.attach(ctx, container); err != nil {
			return f.abandon(err)
		}
		defer f.session.Close()
	}
	if ctx.Err() != nil {
		return f.abandon(ctx.Err())
	}
	f.app.sayStart(f.job)
	if f.session != nil {
		if err := f.session.Begin(); err != nil {
			return f.abandon(fmt.Errorf("taking the terminal: %w", err))
		}
	}
	if err := f.client.Go(); err != nil {
		return err
	}
	// A signal from here on is for the run.
	ctx = context.WithoutCancel(ctx)
	over, err := f.started()
	if err == nil && over == nil && f.job.options.detach {
		over, err = f.settle()
	}
	switch {
	case err != nil:
		if f.session != nil {
			f.session.Close()
		}
		return err
	case f.job.options.detach && (over == nil || over.Phase == record.Ended && exitCodeOf(over) == 0):
		fmt.Fprintln(f.app.Out, f.job.plan.Name)
		return nil
	case f.job.options.detach:
		return f.endedEarly(over)
	case over != nil:
		f.session.Drain(monitor.DrainIdle)
		return f.ended(over)
	}
	f.session.Resize(ctx) // only now has the terminal of the run a size
	return f.follow(ctx, container)
}

// created waits until the container is there.
func (f *foreground) created(ctx context.Context) (container string, err error) {
	select {
	case m, ok := <-f.client.Messages():
		switch {
		case !ok:
			return "", f.monitorDied()
		case m.What == monitor.Created:
			for _, w := range m.Warnings {
				f.app.warnOnce(f.job.plan.Project, w)
			}
			f.warned = len(m.Warnings)
			return m.Container, nil
		}
		return "", failure(m)
	case <-ctx.Done():
		return "", f.abandon(ctx.Err())
	}
}

// started waits until the command runs. Where its monitor dies in this moment,
// another one finds out on which side of the start that was; the run may be
// over then. Signals are the run's as soon as it can have them; an engine that
// hangs must not hold whoever hangs up or presses Ctrl-C for the third time
// for longer than startTime.
func (f *foreground) started() (over *record.State, err error) {
	var early []os.Signal
	defer func() {
		for _, signal := range early {
			select {
			case f.signals <- signal:
			default: // sixteen wait there
			}
		}
	}()
	interrupts, code := 0, 0
	var late <-chan time.Time
	for {
		var m monitor.Message
		var ok bool
		select {
		case m, ok = <-f.client.Messages():
		case signal := <-f.signals:
			if signal == os.Interrupt {
				interrupts++
			}
			switch {
			case late != nil:
			case signal == syscall.SIGHUP:
				code, late = exitSIGHUP, time.After(startTime)
			case interrupts == 3:
				code, late = exitSIGINT, time.After(startTime)
			}
			early = append(early, signal)
			continue
		case <-late:
			return nil, f.leave(code)
		}
		switch {
		case ok && m.What == monitor.Started:
			return nil, nil
		case ok && m.What == monitor.Ended:
			return m.State, nil
		case ok:
			return nil, failure(m)
		}
		lock, err := f.record.TryLock()
		if errors.Is(err, record.ErrLocked) {
			return nil, nil // another command was faster; following copes
		}
		if err != nil {
			return nil, err
		}
		if f.client, err = monitor.Adopt(f.record, lock); err != nil {
			return nil, err
		}
	}
}

// failure is what a monitor that could not start the run has told.
func failure(m monitor.Message) error {
	if m.What != monitor.Failed {
		return withCode(exitEngine, fmt.Errorf("the monitor said %q where it should not: this is a mistake in crun", m.What))
	}
	return withCode(m.Code, errors.New(m.Error))
}

// monitorDied cleans up behind a monitor that died before the start.
func (f *foreground) monitorDied() error {
	f.client.Abandon()
	err := errors.New("the run's monitor was killed before the start; nothing is left behind")
	lock, lockErr := f.record.TryLock()
	if lockErr != nil {
		return err
	}
	client, startErr := monitor.Adopt(f.record, lock)
	if startErr != nil {
		return errors.Join(err, startErr)
	}
	for m := range client.Messages() {
		if m.What == monitor.Failed {
			return errors.New(m.Error)
		}
	}
	return err
}

// abandon gives the run up before its start for why, and waits until nothing
// is left. The error is why, or that something is left.
func (f *foreground) abandon(why error) error {
	f.client.Abandon()
	deadline := time.After(abandonTime)
	for {
		select {
		case m, ok := <-f.client.Messages():
			if !ok {
				return why
			}
			if m.What == monitor.Failed {
				return errors.New(m.Error)
			}
		case <-deadline:
			return fmt.Errorf("the monitor of run %s is still cleaning up; crun ps tells when it is gone", f.job.plan.Name)
		}
	}
}

func (f *foreground) attach(ctx context.Context, container string) (err error) {
	p := f.job.plan
	opts := launch.SessionOptions{
		Engine: f.job.engine, Container: container,
		Stdout: f.app.Out, Stderr: f.app.Err, TTY: p.Spec.Process.Terminal, DetachKeys: firstOf(f.job.options.detachKeys, defaultDetachKeys),
	}
	if p.Interactive {
		opts.Stdin = f.app.In
	}
	if opts.TTY {
		if in := terminal(f.app.In); in != nil && inForeground(in) {
			opts.Terminal = in
		}
	}
	f.session, err = launch.Attach(ctx, opts)
	return err
}
