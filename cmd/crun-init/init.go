package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
)

// run is the life of a run seen from inside. args are [--dir DIR] -- CMD ARG...,
// where DIR stands in for inside.Dir in tests. It gives the exit code.
func run(args []string) int {
	dir := inside.Dir
	if len(args) > 1 && args[0] == "--dir" {
		dir, args = args[1], args[2:]
	}
	n := &initProcess{dir: dir, start: time.Now(), signals: make(chan os.Signal, 64)}
	// First of all: a signal that comes before the command does is kept for it.
	n.catch()
	if len(args) < 2 || args[0] != "--" {
		return n.fail(inside.ReasonInitFailed, inside.ExitRefused, "crun-init is started by crun, with -- COMMAND [ARG...]")
	}

	found, err := n.readExpectation()
	if err != nil {
		return n.fail(inside.ReasonInitFailed, inside.ExitRefused, err.Error())
	}
	if n.expect.Umask != nil {
		syscall.Umask(int(*n.expect.Umask))
	}
	if home := os.Getenv("HOME"); home != "" {
		_ = os.MkdirAll(home, 0o700) // on another machine's /tmp; elsewhere it is there
	}
	inside.RaiseSoft(n.expect)
	n.limits = inside.Read(n.expect, os.Environ())
	n.write(inside.LimitsPath, n.limits)
	if found && !n.check(n.limits) {
		return n.fail(inside.ReasonRefused, inside.ExitRefused, "")
	}

	path, code, err := lookup(args[1], os.Getenv("PATH"))
	if err != nil {
		reason := inside.ReasonNotFound
		if code == inside.ExitNotExec {
			reason = inside.ReasonNotExec
		}
		return n.fail(reason, code, err.Error())
	}
	return n.supervise(path, args[1:])
}

// initProcess is the state of init.
type initProcess struct {
	dir         string // instead of inside.Dir
	start       time.Time
	signals     chan os.Signal
	expect      inside.Expectation
	limits      inside.Limits // before the command
	differences []inside.Difference
	early       []inside.EarlySignal
	got         []string        // names of signals that came
	sampler     *inside.Sampler // nil before the first look
	samples     int             // looks up to now
}

// readExpectation reads what crun has put there. None is no error: found is
// false then, and nothing is checked.
func (n *initProcess) readExpectation() (found bool, err error) {
	path := n.path(inside.ExpectPath)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &n.expect)
	}
	if err == nil && n.expect.Version != inside.Version {
		err = fmt.Errorf("format %d is not %d: crun and crun-init are of different versions", n.expect.Version, inside.Version)
	}
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", path, err)
	}
	return true, nil
}

// check says each difference on a line, and tells whether the run may start.
func (n *initProcess) check(limits inside.Limits) bool {
	n.differences = inside.Check(n.expect, limits)
	ok := true
	for _, d := range n.differences {
		if d.Refuse {
			ok = false
			say("the kernel does not hold what the plan asks: " + d.String())
		} else {
			say("the kernel gives less than the plan asks: " + d.String())
		}
	}
	return ok
}

// fail ends a run whose command was not started.
func (n *initProcess) fail(reason string, code int, message string) int {
	if message != "" {
		say(message)
	}
	now := time.Now()
	n.write(inside.ReportPath, inside.Report{
		Version: inside.Version, Run: n.expect.Run,
		Reason: reason, Message: message, ExitCode: code,
		Started: n.start.UTC(), Ended: now.UTC(), Duration: plan.Duration(now.Sub(n.start)),
		Differences: n.differences,
	})
	return code
}

// say prints a line for the user; where stderr is gone, nobody hears it.
func say(line string) { _, _ = os.Stderr.WriteString("crun: " + line + "\n") }

func (n *initProcess) path(name string) string { return filepath.Join(n.dir, filepath.Base(name)) }

// write leaves a file whole or not at all. It never fails the run: the folder
// may be read-only, and the disk full.
func (n *initProcess) write(name string, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		return // the types are ours: none of them fails
	}
	path := n.path(name)
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o644); err != nil {
		_ = os.Remove(tmp)
		return
	}
	// The umask is the user's; crun reads the files as whoever it is.
	_ = os.Chmod(tmp, 0o644)
	if err := os.Rename(tmp, path); err != nil {
		_ = os.Remove(tmp)
	}
}

// usage is what the kernel has added up over all that was reaped.
func usage() *inside.Usage {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &r) != nil {
		return nil
	}
	return &inside.Usage{
		User:        plan.Duration(r.Utime.Nano()),
		System:      plan.Duration(r.Stime.Nano()),
		MaxRSS:      r.Maxrss * 1024,
		MajorFaults: r.Majflt,
		MinorFaults: r.Minflt,
		ReadBlocks:  r.Inblock,
		WriteBlocks: r.Oublock,
	}
}
