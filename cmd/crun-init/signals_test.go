package main

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// The ends of children, which come by the thousand, must leave room for the
// signals that are to be forwarded.
func TestChildrenLeaveRoomForSignals(t *testing.T) {
	n := &initProcess{signals: make(chan os.Signal, 64)}
	n.catch()
	t.Cleanup(func() { signal.Stop(n.signals) })
	for range 4 * cap(n.signals) {
		// To itself alone, so that each has arrived when kill returns.
		for _, s := range []syscall.Signal{syscall.SIGCHLD, syscall.SIGURG} {
			if err := syscall.Kill(os.Getpid(), s); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(100 * time.Microsecond)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	timeout := time.After(5 * time.Second)
	for {
		select {
		case s := <-n.signals:
			if s == syscall.SIGUSR1 {
				return
			}
			t.Errorf("%v was kept", s)
		case <-timeout:
			t.Fatal("SIGUSR1 was dropped")
		}
	}
}
