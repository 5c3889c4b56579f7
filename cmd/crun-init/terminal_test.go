package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/inside"
)

// onTerminal starts init as an engine does for a terminal: leading a session
// that has it. It gives the other end, and what is printed as it comes.
func (tr *trial) onTerminal() (*os.File, func() string) {
	tr.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		tr.t.Skipf("no terminals here: %v", err)
	}
	tr.t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		tr.t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		tr.t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		tr.t.Fatal(err)
	}
	defer slave.Close()
	tr.Stdin, tr.Stdout, tr.Stderr = slave, slave, slave
	tr.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	tr.begin()

	done := make(chan struct{})
	var out bytes.Buffer
	go func() {
		defer close(done)
		out.ReadFrom(master) // ends with EIO when the last slave is closed
	}()
	return master, func() string {
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			tr.t.Error("the terminal is still open")
		}
		return out.String()
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	// The fields after the command's name: state, ppid, pgrp, session, tty, tpgid.
	tr := sh(t, nil, `set -- $(sed 's/.*) //' /proc/$$/stat); echo "me $$ group $3 foreground $6"
test -t 0 && echo terminal; echo ready >ready; read line; echo "read $line"; exit 8`)
	master, output := tr.onTerminal()
	tr.waitFor("ready")
	fmt.Fprintln(master, "hello")
	tr.exits(8, inside.ReasonExited)
	out := output()
	var me, group, foreground int
	if _, err := fmt.Sscanf(out, "me %d group %d foreground %d", &me, &group, &foreground); err != nil || me != group || me != foreground {
		t.Errorf("the command is not in the foreground: %q", out)
	}
	if !strings.Contains(out, "terminal") || !strings.Contains(out, "read hello") {
		t.Errorf("output %q", out)
	}
}

func TestTerminalInterrupt(t *testing.T) {
	t.Parallel()
	tr := sh(t, nil, `trap 'echo interrupted; exit 130' INT; echo ready >ready; while :; do sleep 0.02; done`)
	master, output := tr.onTerminal()
	tr.waitFor("ready")
	fmt.Fprint(master, "\x03")
	tr.exits(130, inside.ReasonExited)
	if out := output(); strings.Count(out, "interrupted") != 1 {
		t.Errorf("output %q", out)
	}
}

func TestTerminalHangUp(t *testing.T) {
	t.Parallel()
	// Handing the terminal over hangs up on init. None of that may reach the
	// command, and a signal that is sent afterwards has to.
	tr := sh(t, nil, `trap 'echo hup >>got; exit 3' HUP; trap 'echo cont >>got' CONT; echo ready >ready; while :; do sleep 0.02; done`)
	tr.onTerminal()
	tr.waitFor("ready")
	time.Sleep(100 * time.Millisecond)
	if data, err := os.ReadFile(tr.dir + "/got"); err == nil {
		t.Errorf("the command got %q", data)
	}
	tr.Process.Signal(syscall.SIGHUP)
	tr.exits(3, inside.ReasonExited)
}

func TestSignalBeforeTheCommand(t *testing.T) {
	t.Parallel()
	// Sent as early as can be: it ends init itself only while Go has not yet
	// come to main, and never with another code.
	for range 20 {
		tr := sh(t, nil, "exec sleep 10")
		tr.begin()
		time.Sleep(3 * time.Millisecond)
		tr.Process.Signal(os.Interrupt)
		if code := tr.code(); code != 130 && code != -1 {
			t.Errorf("exit code %d; stderr %q", code, &tr.stderr)
		}
	}
}
