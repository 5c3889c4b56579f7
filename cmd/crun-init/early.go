package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
)

// meterPeriod is how often memory is looked at: two small files are read.
const meterPeriod = 250 * time.Millisecond

// earlySignals are the signals before a limit, each of which is sent once. A
// channel is nil where there is nothing to wait for.
type earlySignals struct {
	want   plan.EarlySignal
	time   <-chan time.Time
	memory <-chan time.Time
	meter  func() (int64, bool)
}

func (n *initProcess) earlySignals() *earlySignals {
	e := &earlySignals{}
	if n.expect.Early == nil {
		return e
	}
	e.want = *n.expect.Early
	if e.want.Time > 0 {
		e.time = time.After(time.Duration(e.want.Time))
	}
	if e.want.Memory > 0 {
		e.meter = inside.MemoryMeter()
		e.memory = time.Tick(meterPeriod)
	}
	return e
}

// atTime is called when the share of the time limit is over.
func (n *initProcess) atTime(e *earlySignals, c *command) {
	e.time = nil
	reason := plan.FormatDuration(time.Duration(e.want.Time)) + " have passed"
	if n.expect.TimeLimit != nil {
		reason += " of the time limit " + plan.FormatDuration(time.Duration(*n.expect.TimeLimit))
	}
	n.sendEarly(e.want.Signal, "time_limit", reason, c)
}

// atMemory looks whether the share of the memory is reached.
func (n *initProcess) atMemory(e *earlySignals, c *command) {
	held, ok := e.meter()
	if ok && held < e.want.Memory {
		return
	}
	e.memory = nil
	if !ok {
		go say("how much memory the run holds cannot be read: no " + e.want.Signal + " is sent for it")
		return
	}
	reason := "memory is at " + plan.FormatBytes(held)
	if n.expect.Memory != nil {
		reason += " of " + plan.FormatBytes(*n.expect.Memory)
	}
	n.sendEarly(e.want.Signal, "memory", reason, c)
}

// sendEarly sends the signal to the command, or where that does not catch it,
// to the nearest of the processes below that do: a shell's script, the ranks of
// torchrun, but not the workers that a rank has forked. Whoever does not catch
// it would die of it, long before the limit.
func (n *initProcess) sendEarly(name, limit, reason string, c *command) {
	signal := unix.SignalNum(name)
	sent := inside.EarlySignal{Time: time.Now().UTC(), Signal: name, Limit: limit, Reason: reason, PIDs: []int{}}
	for _, pid := range catchers("/proc", c.pid, signal) {
		if syscall.Kill(pid, signal) == nil {
			sent.PIDs = append(sent.PIDs, pid)
		}
	}
	n.early = append(n.early, sent)
	// Nobody may be reading stderr.
	if len(sent.PIDs) == 0 {
		go say(fmt.Sprintf("%s, but %s is not sent: nothing of the run catches it", reason, name))
		return
	}
	go say(reason + ", " + name + " sent")
}

// catchers gives the processes from pid down that catch signal, and of each
// branch the uppermost alone.
func catchers(proc string, pid int, signal syscall.Signal) []int {
	children := map[int][]int{}
	catches := map[int]bool{}
	// The pattern is fixed: no error.
	files, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "status"))
	for _, file := range files {
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		data, readErr := os.ReadFile(file)
		if err != nil || readErr != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(data)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			value = strings.TrimSpace(value)
			switch key {
			case "PPid":
				if parent, err := strconv.Atoi(value); err == nil {
					children[parent] = append(children[parent], id)
				}
			case "SigCgt":
				mask, err := strconv.ParseUint(value, 16, 64)
				catches[id] = err == nil && mask&(1<<(uint(signal)-1)) != 0
			}
		}
	}
	var found []int
	for level := []int{pid}; len(level) > 0; {
		var next []int
		for _, id := range level {
			if catches[id] {
				found = append(found, id)
			} else {
				next = append(next, children[id]...)
			}
		}
		level = next
	}
	slices.Sort(found)
	return found
}
