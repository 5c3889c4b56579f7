package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
)

func TestEarlySignal(t *testing.T) {
	t.Parallel()
	limit := plan.Duration(time.Hour)
	expect := func() *inside.Expectation {
		return &inside.Expectation{TimeLimit: &limit, Early: &plan.EarlySignal{Signal: "SIGUSR1", Time: plan.Duration(time.Second)}}
	}
	t.Run("caught", func(t *testing.T) {
		t.Parallel()
		tr := sh(t, expect(), `trap 'echo saved; exit 3' USR1; while :; do sleep 0.02; done`)
		r := tr.exits(3, inside.ReasonExited)
		if tr.stdout.String() != "saved\n" || len(r.Early) != 1 || r.Early[0].Limit != "time_limit" || len(r.Early[0].PIDs) != 1 || r.Early[0].Signal != "SIGUSR1" {
			t.Errorf("stdout %q, report %+v", &tr.stdout, r.Early)
		}
		if want := "crun: 1s have passed of the time limit 1h, SIGUSR1 sent\n"; tr.stderr.String() != want {
			t.Errorf("stderr %q, want %q", &tr.stderr, want)
		}
	})
	t.Run("caught below, once on each branch", func(t *testing.T) {
		t.Parallel()
		// Long enough for four shells to set their traps, on a machine that is
		// busy. Workers end when their ranks have caught it; ranks wait for them.
		late := expect()
		late.Early.Time = plan.Duration(3 * time.Second)
		tr := sh(t, late, `rank='trap "echo rank >>got" USR1
(trap "echo worker >>got" USR1; while [ "$(grep -c rank got 2>/dev/null)" != 2 ]; do sleep 0.05; done; sleep 0.2) &
wait; wait'
sh -c "$rank" & sh -c "$rank" & wait`)
		r := tr.exits(0, inside.ReasonExited)
		if got := tr.waitFor("got"); got != "rank\nrank" || len(r.Early) != 1 || len(r.Early[0].PIDs) != 2 {
			t.Errorf("%q caught it; report %+v", got, r.Early)
		}
	})
	t.Run("caught by nobody", func(t *testing.T) {
		t.Parallel()
		tr := sh(t, expect(), `sleep 2; exit 4`)
		r := tr.exits(4, inside.ReasonExited)
		if len(r.Early) != 1 || len(r.Early[0].PIDs) != 0 || !strings.Contains(tr.stderr.String(), "SIGUSR1 is not sent: nothing of the run catches it") {
			t.Errorf("stderr %q, report %+v", &tr.stderr, r.Early)
		}
	})
}

func TestCatchers(t *testing.T) {
	proc := t.TempDir()
	for _, p := range []struct{ pid, parent, caught string }{
		{"7", "1", "0000000000000000"}, {"8", "7", "0000000000000200"}, {"9", "8", "0000000000000200"},
		{"10", "7", "0000000000000000"}, {"11", "10", "0000000000000200"}, {"12", "1", "0000000000000200"},
	} {
		if err := os.Mkdir(filepath.Join(proc, p.pid), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, p.pid, "status"), []byte("Name:\tx\nPPid:\t"+p.parent+"\nSigCgt:\t"+p.caught+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for pid, want := range map[int][]int{7: {8, 11}, 8: {8}, 10: {11}, 99: nil} {
		if got := catchers(proc, pid, syscall.SIGUSR1); !slices.Equal(got, want) {
			t.Errorf("below %d: %v, want %v", pid, got, want)
		}
	}
	if got := catchers(proc, 7, syscall.SIGUSR2); got != nil {
		t.Errorf("SIGUSR2: %v", got)
	}
}

// The memory that counts is what the run holds: a file that was read is none.
func TestEarlySignalForMemory(t *testing.T) {
	needDocker(t)
	expect := func() *inside.Expectation {
		return &inside.Expectation{Early: &plan.EarlySignal{Signal: "SIGUSR1", Memory: 40 << 20}}
	}
	flags := []string{"--memory", "128m", "--tmpfs", "/tmp:size=100m"}
	held := newContainer(t, 0, expect(), flags, "sh", "-c", `trap 'echo saved; exit 3' USR1; head -c 60m /dev/zero >/tmp/x; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.3; done`)
	if output, code := held.run(); code != 3 || !strings.Contains(output, "saved") || !strings.Contains(output, "memory is at ") {
		t.Errorf("exit code %d, output %q", code, output)
	}
	cached := newContainer(t, 0, expect(), flags, "sh", "-c", `trap 'exit 3' USR1; head -c 80m /dev/zero >/x; cat /x >/dev/null; sleep 0.8; exit 0`)
	if output, code := cached.run(); code != 0 || strings.Contains(output, "memory is at") {
		t.Errorf("exit code %d, output %q: page cache counts", code, output)
	}
}
