package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// catch makes signals come to n.signals: all that can be caught, but for those
// that are for init itself and come by the thousand, of ended children and of
// Go's scheduler. What finds the channel full is dropped.
func (n *initProcess) catch() {
	signal.Notify(n.signals)
	signal.Reset(syscall.SIGCHLD, syscall.SIGURG)
}

// command is the process that init has started.
type command struct {
	pid      int
	group    bool // it leads a process group of its own
	terminal bool // it has the terminal
}

// forward gives a signal to the command. SIGINT goes to its whole group where
// there is no terminal to do so: at a Ctrl-C every process of a shell's job
// gets one, and scripts count on that. With a terminal the kernel has done it,
// and a SIGINT that comes to init was sent on purpose.
func (c *command) forward(s os.Signal) {
	number, ok := s.(syscall.Signal)
	if !ok {
		return
	}
	switch number {
	case syscall.SIGPIPE, syscall.SIGTTIN, syscall.SIGTTOU:
		// The kernel's messages to init itself. They are caught so that they do
		// not end or stop it.
		return
	case syscall.SIGINT:
		if c.group && !c.terminal {
			_ = syscall.Kill(-c.pid, number)
			return
		}
	}
	c.kill(number)
}

// kill sends a signal to the command alone. That it has just ended is no error.
func (c *command) kill(s syscall.Signal) { _ = syscall.Kill(c.pid, s) }

// killAll ends everything in the run. Only PID 1 may mean all processes that
// it can see.
func (c *command) killAll() {
	switch {
	case os.Getpid() == 1:
		_ = syscall.Kill(-1, syscall.SIGKILL)
	case c.group:
		_ = syscall.Kill(-c.pid, syscall.SIGKILL)
	default:
		c.kill(syscall.SIGKILL)
	}
}

// ownsTerminal tells whether stdin is a terminal whose session init leads, as
// below every engine that was asked for a terminal.
func ownsTerminal() bool {
	session, err := unix.IoctlGetInt(0, unix.TIOCGSID)
	return err == nil && session == os.Getpid()
}

// handOverTerminal lets go of the terminal and makes the command lead a
// session that has it. The command is in the foreground then from its first
// instruction on; were it only moved to a group of its own, it would be in the
// background until somebody calls TIOCSPGRP, and be stopped by what it reads.
func (n *initProcess) handOverTerminal() *syscall.SysProcAttr {
	// Letting go hangs up on the foreground group, which is init, by these two.
	signal.Ignore(syscall.SIGHUP, syscall.SIGCONT)
	err := unix.IoctlSetInt(0, unix.TIOCNOTTY, 0)
	n.catch()
	if err != nil {
		// It stays in init's group, which has the terminal.
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
}
