package e2e

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"crun.dev/crun/run/record"
)

// commands are what scripts have besides testscript's own:
//
//	exits CODE PROGRAM [ARG...]     run, and check the exit code
//	begin NAME PROGRAM [ARG...]     start; stdin stays open; output to NAME.out, NAME.err
//	terminal NAME PROGRAM [ARG...]  start on a terminal of its own; all output to NAME.out
//	type NAME TEXT                  write TEXT (Go escapes) to its stdin or terminal
//	hangup NAME                     close its stdin or terminal
//	signal NAME SIGNAL              send it a signal
//	ends NAME CODE                  wait for it, and check its exit code (128 + n for signal n)
//	until FILE REGEXP               wait until a line of the file matches
//	soon PROGRAM [ARG...]           run until it succeeds
//	killmonitor RUN                 kill -9 the run's monitor
//	nomonitor RUN                   wait until the run has no monitor
//	moments SIGNAL TARGET CODES     run again and again, and send a signal to the
//	                                TARGET (foreground, monitor) later each time
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"exits":       cmdExits,
	"begin":       cmdBegin,
	"terminal":    cmdTerminal,
	"type":        cmdType,
	"hangup":      cmdHangup,
	"signal":      cmdSignal,
	"ends":        cmdEnds,
	"until":       cmdUntil,
	"soon":        cmdSoon,
	"killmonitor": cmdKillMonitor,
	"nomonitor":   cmdNoMonitor,
	"moments":     cmdMoments,
}

// patience bounds every wait of a script: a minute, or what CRUN_E2E_PATIENCE
// says for a machine where all takes longer.
var patience = func() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("CRUN_E2E_PATIENCE")); err == nil {
		return d
	}
	return time.Minute
}()

func usage(ts *testscript.TestScript, neg bool, args []string, least int, text string) {
	if neg || len(args) < least {
		ts.Fatalf("usage: %s", text)
	}
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "exits CODE PROGRAM [ARG...]")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = code(exit.ProcessState)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func cmdBegin(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "begin NAME PROGRAM [ARG...]")
	name := args[0]
	p := &process{cmd: exec.Command(program(ts, args[1]), args[2:]...)}
	stdin, input, err := os.Pipe()
	ts.Check(err)
	p.input = input
	stdout, err := os.Create(ts.MkAbs(name + ".out"))
	ts.Check(err)
	stderr, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, stderr
	start(ts, name, p)
	stdin.Close()
	stdout.Close()
	stderr.Close()
}

func cmdTerminal(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "terminal NAME PROGRAM [ARG...]")
	name := args[0]
	master, slave, err := openTerminal()
	ts.Check(err)
	out, err := os.Create(ts.MkAbs(name + ".out"))
	ts.Check(err)
	p := &process{cmd: exec.Command(program(ts, args[1]), args[2:]...), input: master, extra: []io.Closer{out}}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	start(ts, name, p)
	slave.Close()
	p.shown = make(chan struct{})
	go func() {
		defer close(p.shown)
		io.Copy(out, master)
	}()
}

func cmdType(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "type NAME TEXT")
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	_, err = io.WriteString(find(ts, args[0]).input, text)
	ts.Check(err)
}

func cmdHangup(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "hangup NAME")
	ts.Check(find(ts, args[0]).input.Close())
}

func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "signal NAME SIGNAL")
	signal := unix.SignalNum(args[1])
	if signal == 0 {
		ts.Fatalf("no signal %s", args[1])
	}
	ts.Check(find(ts, args[0]).cmd.Process.Signal(signal))
}

func cmdEnds(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "ends NAME CODE")
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	p := find(ts, args[0])
	select {
	case <-p.done:
	case <-time.After(patience):
		showOutput(ts, args[0])
		ts.Fatalf("%s has not ended after %s", args[0], patience)
	}
	if p.shown != nil {
		<-p.shown
	}
	if got := code(p.cmd.ProcessState); got != want {
		showOutput(ts, args[0])
		ts.Fatalf("%s ended with exit code %d, want %d", args[0], got, want)
	}
}

func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "until FILE REGEXP")
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	var data []byte
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if data, err = os.ReadFile(ts.MkAbs(args[0])); err == nil && re.Match(data) {
			return
		}
	}
	showOutput(ts, strings.TrimSuffix(args[0], filepath.Ext(args[0])))
	ts.Fatalf("no line of %s matches %s after %s; it has\n%s", args[0], args[1], patience, data)
}

func cmdSoon(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "soon PROGRAM [ARG...]")
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err = ts.Exec(args[0], args[1:]...); err == nil {
			return
		}
	}
	ts.Fatalf("still after %s: %v", patience, err)
}

func findRecord(ts *testscript.TestScript, name string) *record.Record {
	store, err := record.OpenStore(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "crun", "runs"))
	ts.Check(err)
	r, err := store.Find(name)
	ts.Check(err)
	return r
}

func cmdKillMonitor(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "killmonitor RUN")
	r := findRecord(ts, args[0])
	state, err := r.State()
	ts.Check(err)
	if !r.Owned() || state.Monitor == 0 {
		ts.Fatalf("run %s has no monitor", args[0])
	}
	ts.Check(syscall.Kill(state.Monitor, syscall.SIGKILL))
}

func cmdNoMonitor(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "nomonitor RUN")
	r := findRecord(ts, args[0])
	for deadline := time.Now().Add(patience); r.Owned(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("run %s still has a monitor after %s", args[0], patience)
		}
	}
}
