package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"crun.dev/crun/run/record"
)

// cmdMoments sends a signal to a run's foreground, or its monitor, at 24
// moments of the first 0.7 seconds, and holds crun to the exit codes, to a
// record that is complete or not there, and to no container. Whoever adopts
// what is left is the next command, as for people.
func cmdMoments(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 3, "moments SIGNAL {foreground | monitor} CODE,...")
	signal, codes := unix.SignalNum(args[0]), strings.Split(args[2], ",")
	crun := program(ts, "crun")
	for i := range 24 {
		name := fmt.Sprintf("m%d", i)
		p := &process{cmd: exec.Command(crun, "run", "-q", "--image", ts.Getenv("IMAGE"), "--profile", "small", "--name", name, "sleep", "0.3")}
		_, p.input, _ = os.Pipe()
		var stderr strings.Builder
		p.cmd.Stderr = &stderr
		start(ts, name, p)
		time.Sleep(time.Duration(i) * 30 * time.Millisecond)
		if args[1] == "monitor" {
			if pid := monitorOf(p.cmd.Process.Pid); pid != 0 {
				syscall.Kill(pid, signal)
			}
		} else {
			p.cmd.Process.Signal(signal)
		}
		select {
		case <-p.done:
		case <-time.After(patience):
			ts.Fatalf("%s at moment %d: not ended after %s; stderr %s", args[0], i, patience, stderr.String())
		}
		if got := strconv.Itoa(code(p.cmd.ProcessState)); !slices.Contains(codes, got) {
			ts.Fatalf("%s at moment %d: exit code %s, want one of %s; stderr %s", args[0], i, got, args[2], stderr.String())
		}
	}
	dir := filepath.Join(ts.Getenv("XDG_STATE_HOME"), "crun", "runs")
	store, err := record.OpenStore(dir)
	ts.Check(err)
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		ts.Check(ts.Exec("crun", "ps"))
		all, err := store.List()
		ts.Check(err)
		var open []string
		for _, r := range all {
			if state, err := r.State(); err != nil || !state.Complete {
				open = append(open, fmt.Sprintf("%s: %v %+v", r.ID, err, state))
			}
		}
		if len(open) == 0 {
			break
		}
		if time.Now().After(deadline) {
			ts.Fatalf("records are not complete:\n%s", strings.Join(open, "\n"))
		}
	}
	// What was being made when crun was killed is left for a minute.
	halves, _ := filepath.Glob(filepath.Join(dir, ".new-*"))
	for _, half := range halves {
		if args[0] != "SIGKILL" {
			ts.Fatalf("%s is left behind", half)
		}
	}
}

// monitorOf finds the monitor that a process has started, or 0.
func monitorOf(parent int) int {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, task := range tasks {
		more, _ := os.ReadFile(task)
		children = append(children, more...)
	}
	for _, field := range strings.Fields(string(children)) {
		pid, _ := strconv.Atoi(field)
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.HasPrefix(string(line), "crun\x00monitor\x00") {
			return pid
		}
	}
	return 0
}
