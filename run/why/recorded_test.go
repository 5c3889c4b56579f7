package why

import (
	"testing"
	"time"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
	"crun.dev/crun/run/why/evidence"
)

// What a record tells beside the log decides between causes that look alike.
func TestRecorded(t *testing.T) {
	end := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ptr := func(n int64) *int64 { return &n }
	type part func(*evidence.Case)
	exit := func(code int) part { return func(c *evidence.Case) { c.ExitCode, c.State.ExitCode = &code, &code } }
	signal := func(name string, code int) part {
		return func(c *evidence.Case) { exit(code)(c); c.Signal, c.State.Signal = name, name }
	}
	log := func(text string) part {
		return func(c *evidence.Case) { c.Log = evidence.ParseLog([]byte(text)) }
	}
	oom := func(own bool) part {
		return func(c *evidence.Case) {
			c.State.OOMKills, c.State.MemoryLimit, c.State.MemoryPeak = 1, 1<<30, 1<<29
			c.Report.Counters.OOMKills, c.Report.Counters.OOMs = ptr(1), ptr(0)
			if own {
				c.Report.Counters.OOMs, c.State.MemoryPeak = ptr(1), 1<<30
			}
		}
	}
	sent := func(by, name string, before time.Duration) part {
		return func(c *evidence.Case) {
			c.Events = append(c.Events, record.Event{Time: end.Add(-before), By: by, What: "signal", Attrs: map[string]string{"signal": name}})
		}
	}
	full := func(text string) part { return func(c *evidence.Case) { c.State.Full = []string{text} } }
	const keyError = "Traceback (most recent call last):\n  File \"train.py\", line 7, in <module>\nKeyError: 'lr'\n"
	for _, test := range []struct {
		name  string
		parts []part
		code  string
		sure  evidence.Sure
		aside string
	}{
		{"its own limit", []part{signal("SIGKILL", 137), oom(true)}, "memory", evidence.Certain, ""},
		{"the host's memory", []part{signal("SIGKILL", 137), oom(false)}, "host-memory", evidence.Likely, ""},
		{"stopped", []part{signal("SIGTERM", 143), sent("crun stop", "SIGTERM", time.Second)}, "stopped", evidence.Certain, ""},
		{"interrupted an hour before, and raised", []part{exit(1), sent("crun kill", "SIGINT", time.Hour), log(keyError)}, "traceback", evidence.Certain, ""},
		{"stopped an hour before, out of memory", []part{signal("SIGKILL", 137), oom(true), sent("crun kill", "SIGTERM", time.Hour)}, "memory", evidence.Certain, ""},
		{"a kernel died of the host's memory", []part{exit(1), oom(false), log("AsyncIOLoopKernelRestarter: restarting kernel (1/5)\n")}, "kernel-died", evidence.Likely, ""},
		{"no inodes, and another exception", []part{exit(1), full("the disk of the project (/p) had no inodes left: remove small files there"), log(keyError)}, "traceback", evidence.Certain, "inodes"},
		{"no inodes", []part{exit(1), full("the disk of the project (/p) had no inodes left: remove small files there"), log("OSError: [Errno 28] No space left on device: 'x'\n")}, "inodes", evidence.Certain, ""},
		{"something was full, and nobody looked at the disks", []part{exit(1), log("OSError: [Errno 28] No space left on device\n")}, "disk-full", evidence.Likely, ""},
		{"an exception with lines behind it", []part{exit(1), log(keyError + "cleaning up\n")}, "traceback", evidence.Likely, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &evidence.Case{
				Plan:   &plan.Plan{Name: "train", Grace: plan.Duration(10 * time.Second)},
				State:  &record.State{Version: 1, Phase: record.Ended, Started: end.Add(-2 * time.Hour), Finished: end},
				Report: &inside.Report{Version: 1, Counters: &inside.Counters{}, Ended: end},
			}
			for _, p := range test.parts {
				p(c)
			}
			v := Draw(c)
			if v.Code != test.code || v.Sure != test.sure {
				t.Errorf("%s (%s): %s; want %s (%s)", v.Code, v.Sure, v.Cause.In(false), test.code, test.sure)
			}
			if test.aside != "" && (len(v.Asides) != 1 || v.Asides[0].Code != test.aside) {
				t.Errorf("beside it: %+v", v.Asides)
			}
		})
	}
}
