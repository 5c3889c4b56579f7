package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
)

// supervise starts the command, stays with it until it ends, reports, and
// gives the exit code.
func (n *initProcess) supervise(path string, args []string) int {
	sys := &syscall.SysProcAttr{Setpgid: true}
	if ownsTerminal() {
		sys = n.handOverTerminal()
	}
	// Where init is not PID 1 (a shared PID namespace, a test), orphans still
	// have to come to it.
	if os.Getpid() != 1 {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}

	haveThreads(spareThreads)
	// The signals that init catches are the default again in the command.
	n.start = time.Now()
	pid, err := syscall.ForkExec(path, args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: sys})
	if err != nil {
		return n.cannotStart(path, err)
	}
	c := &command{pid: pid, group: sys.Setpgid || sys.Setsid, terminal: sys.Setsid}

	ended := make(chan syscall.WaitStatus)
	go reap(pid, ended)

	var limit, grace <-chan time.Time
	timedOut := false
	if n.expect.TimeLimit != nil {
		limit = time.After(time.Duration(*n.expect.TimeLimit))
	}
	early := n.earlySignals()
	var look <-chan time.Time
	if len(n.expect.Command) > 0 {
		look = time.After(lookTimes[0])
	}
	looked := 0
	tick := time.NewTicker(samplePeriod)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			n.sample(now)
		case <-look:
			look = nil
			if looked++; !n.lookBehindEntrypoint(pid) && looked < len(lookTimes) {
				look = time.After(lookTimes[looked])
			}
		case <-early.time:
			n.atTime(early, c)
		case <-early.memory:
			n.atMemory(early, c)
		case status := <-ended:
			return n.ended(status, timedOut)
		case s := <-n.signals:
			n.note(s)
			c.forward(s)
		case <-limit:
			timedOut = true
			wait := time.Duration(n.expect.Grace)
			grace = time.After(wait)
			c.kill(syscall.SIGTERM)
			c.kill(syscall.SIGCONT) // one that is stopped would not see it
			// Nobody may be reading stderr, and the grace time runs.
			go say(n.limitMessage() + ", SIGTERM sent, SIGKILL in " + plan.FormatDuration(wait))
		case <-grace:
			c.killAll()
		}
	}
}

// samplePeriod is how often the run's places are looked at; descriptors are at
// each fourth look.
const samplePeriod = 250 * time.Millisecond

// sample notes how the run stands now.
func (n *initProcess) sample(now time.Time) {
	if n.sampler == nil {
		n.sampler = inside.NewSampler(n.limits)
	}
	n.sampler.Places(now)
	if n.samples%4 == 0 {
		n.sampler.Files(now)
	}
	n.samples++
}

// spareThreads make eleven with those that there are: more than init was seen to
// need at once (8), and few enough for the least pids that a run may have. Each
// system call that waits holds one.
const spareThreads = 5

// haveThreads starts n threads, which wait to be used from then on. A command
// that fills the run's pids leaves none to start, and Go's runtime would end
// init, and the run with it.
func haveThreads(n int) {
	var held, free sync.WaitGroup
	release := make(chan struct{})
	held.Add(n)
	for range n {
		free.Go(func() {
			// One that is held waits with its thread, so that each has its own.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			held.Done()
			<-release
		})
	}
	held.Wait()
	close(release)
	free.Wait() // one that is held still serves nobody else
}

func (n *initProcess) limitMessage() string {
	return "time limit " + plan.FormatDuration(time.Duration(*n.expect.TimeLimit)) + " reached"
}

// lookTimes are the pauses before each look for the command behind an image's
// entrypoint, which may take a while to prepare things.
var lookTimes = []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 2 * time.Second, 10 * time.Second, time.Minute}

// lookBehindEntrypoint says what an entrypoint of the image has changed of what
// the command was to get, once the command runs.
func (n *initProcess) lookBehindEntrypoint(pid int) bool {
	found, ok := inside.CheckCommand(n.expect, n.limits, pid)
	for i, d := range found {
		found[i].Refuse = false // it runs
		go say("the image's entrypoint has changed what the plan asks: " + d.String())
	}
	n.differences = append(n.differences, found...)
	return ok
}

// cannotStart reports a command that was found and could not be executed.
func (n *initProcess) cannotStart(path string, err error) int {
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return n.fail(inside.ReasonInitFailed, inside.ExitRefused,
			fmt.Sprintf("starting %s: %v: the run has no pids or no memory left for it; raise pids or memory", path, cause(err)))
	case codeOf(err) == inside.ExitMissing:
		// The file is there: what is missing is what its first line, or its
		// program header, names.
		return n.fail(inside.ReasonNotFound, inside.ExitMissing,
			fmt.Sprintf("command not found: the interpreter of %s (its #! line, or the loader of another libc or architecture)", path))
	}
	return n.fail(inside.ReasonNotExec, inside.ExitNotExec, explain(path, err).Error())
}

// reap waits for every child of init, those that lost their parent too, until
// the command has ended. It is the only place that waits, so that no status
// goes to somebody else.
func reap(pid int, ended chan<- syscall.WaitStatus) {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			// No children: cannot be while the command is one.
			status = syscall.WaitStatus(inside.ExitRefused << 8)
			got = pid
		}
		if got == pid {
			ended <- status
			return
		}
	}
}

// note keeps the names of signals for the report.
func (n *initProcess) note(s os.Signal) {
	if number, ok := s.(syscall.Signal); ok && !slices.Contains(n.got, signalName(number)) {
		n.got = append(n.got, signalName(number))
	}
}

// ended reports, and gives init's exit code.
func (n *initProcess) ended(status syscall.WaitStatus, timedOut bool) int {
	now := time.Now()
	// One that was sent to all processes at once may have ended the command
	// before init has seen it.
	for waiting := true; waiting; {
		select {
		case s := <-n.signals:
			n.note(s)
		default:
			waiting = false
		}
	}
	// First of all: what else runs in the container goes on counting.
	counters := inside.ReadCounters(n.limits)
	var peaks *inside.Peaks
	if n.sampler != nil {
		n.sampler.Places(now)
		peaks = n.sampler.Peaks()
	}
	changed := inside.Changed(n.limits, inside.Read(n.expect, nil))
	r := inside.Report{
		Version: inside.Version, Run: n.expect.Run,
		Reason: inside.ReasonExited, ExitCode: status.ExitStatus(),
		Got:     n.got,
		Started: n.start.UTC(), Ended: now.UTC(), Duration: plan.Duration(now.Sub(n.start)),
		Differences: n.differences, Changed: changed, Early: n.early, Usage: usage(), Counters: counters, Peaks: peaks,
	}
	if status.Signaled() {
		r.Reason = inside.ReasonSignaled
		r.ExitCode = 128 + int(status.Signal())
		r.Signal = signalName(status.Signal())
		r.CoreDumped = status.CoreDump()
	}
	if timedOut {
		r.Reason, r.Message = inside.ReasonTimeLimit, n.limitMessage()
	}
	n.write(inside.ReportPath, r)
	return r.ExitCode
}

// signalName gives "SIGKILL", and "signal 40" for one without a name.
func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}
