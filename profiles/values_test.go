package profiles

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOverrideAccepts(t *testing.T) {
	type test struct {
		field, value string
		want         any    // Field.Value
		text         string // Field.Text, where it is not value
	}
	for _, test := range []test{
		{"memory", "4g", int64(4 << 30), ""},
		{"memory", "4G", int64(4 << 30), "4g"},
		{"memory", "4GiB", int64(4 << 30), "4g"},
		{"memory", "4gb", int64(4 << 30), "4g"},
		{"memory", "1.5g", int64(1536 << 20), "1536m"},
		{"memory", "512m", int64(512 << 20), ""},
		{"memory", "6291456", int64(6 << 20), "6m"},
		{"memory", "6291457b", int64(6<<20 + 1), ""},
		{"memory", "1/8", "1/8", ""},
		{"memory", "1 / 8", "1/8", "1/8"},
		{"memory", "1/1", "1/1", ""},
		{"memory_swap", "8g", int64(8 << 30), ""},
		{"memory_swap", "unlimited", "unlimited", ""},
		{"memory_swap", "-1", "unlimited", "unlimited"},
		{"memory_reservation", "2g", int64(2 << 30), ""},
		{"oom_score_adj", "300", int64(300), ""},
		{"oom_score_adj", "-999", int64(-999), ""},
		{"cpus", "2", 2.0, ""},
		{"cpus", "2.0", 2.0, "2"},
		{"cpus", "0.1", 0.1, ""},
		{"cpus", "0.01", 0.01, ""},
		{"cpus", "1.234567891", 1.234567891, ""},
		{"cpus", "3/4", "3/4", ""},
		{"cpuset", "0-3,8", "0-3,8", ""},
		{"cpuset", "0", "0", ""},
		{"cpuset", "auto", "auto", ""},
		{"gpus", "2", 2, ""},
		{"gpus", "all", "all", ""},
		{"gpus", "-1", "all", "all"},
		{"gpus", "none", "none", ""},
		{"gpus", "device=0,2", []string{"0", "2"}, "[0, 2]"},
		{"gpus", "device=0:1", []string{"0:1"}, "[0:1]"},
		{"gpus", "GPU-12345678-9abc-def0-1234-56789abcdef0", []string{"GPU-12345678-9abc-def0-1234-56789abcdef0"}, "[GPU-12345678-9abc-def0-1234-56789abcdef0]"},
		{"gpus", "MIG-GPU-1a/7/0", []string{"MIG-GPU-1a/7/0"}, "[MIG-GPU-1a/7/0]"},
		{"shm_size", "64m", int64(64 << 20), ""},
		{"tmpdir.size", "20g", int64(20 << 30), ""},
		{"tmpdir.kind", "disk", "disk", ""},
		{"pids", "1024", int64(1024), ""},
		{"nofile", "65536", int64(65536), ""},
		{"memlock", "unlimited", "unlimited", ""},
		{"memlock", "64k", int64(64 << 10), ""},
		{"stack", "64m", int64(64 << 20), ""},
		{"core", "0", int64(0), ""},
		{"core", "-1", "unlimited", "unlimited"},
		{"address_space", "4194304k", int64(4 << 30), "4g"},
		{"threads", "auto", "auto", ""},
		{"threads", "4", 4, ""},
		{"home", "mine", "mine", ""},
		{"network", "none", "none", ""},
		{"time_limit", "90m", 5400.0, "1h30m"},
		{"time_limit", "2d", 172800.0, ""},
		{"time_limit", "1d12h", 129600.0, ""},
		{"time_limit", "36h", 129600.0, "1d12h"},
		{"time_limit", "1h0m5s", 3605.0, ""},
		{"time_limit", "90s", 90.0, "1m30s"},
		{"time_limit", "none", "none", ""},
		{"signal_before_kill.signal", "USR2", "SIGUSR2", "SIGUSR2"},
		{"signal_before_kill.memory", "90%", "90%", ""},
		{"signal_before_kill.time", "none", "none", ""},
		{"strict", "true", true, ""},
		{"env.OMP_PROC_BIND", "close", "close", ""},
		{"env.EMPTY", "", "", ""},
	} {
		t.Run(test.field+"="+test.value, func(t *testing.T) {
			var p Profile
			if err := p.Override(test.field, test.value, Flag("--x")); err != nil {
				t.Fatal(err)
			}
			want := Field{Name: test.field, Text: test.text, Value: test.want, Source: Source{File: "flag --x"}}
			if want.Text == "" {
				want.Text = test.value
			}
			if diff := cmp.Diff([]Field{want}, p.Fields()); diff != "" {
				t.Errorf("field differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOverrideRefuses(t *testing.T) {
	for _, test := range []struct{ field, value, want string }{
		{"memory", "4gig", `memory is "4gig", which is not a size; write it as 4g or 512m, or as a share of the host such as 1/8 (did you mean "4g"?)`},
		{"memory", "4,5 GB", `(did you mean "4.5g"?)`},
		{"memory", "", `memory is "", which is not a size`},
		{"memory", "lots", `is not a size`},
		{"memory", "0", `is below the least, 6m`},
		{"memory", "-4g", `is not a size`},
		{"memory", "5m", `is below the least, 6m`},
		{"memory", "4", `has no unit, so it counts bytes, and is below the least, 6m`},
		{"memory", "0x10g", `is not a size`},
		{"memory", "1e9", `is not a size`},
		{"memory", "NaN", `is not a size`},
		{"memory", "9999999t", `is more than 1024t`},
		{"memory", "99999999999999999999999g", `is more than 1024t`},
		{"memory", "unlimited", `is not possible here`},
		{"memory", "50%", `is a percentage; write the share of the host as a fraction such as 1/2`},
		{"memory", "3/2", `is more than the whole host`},
		{"memory", "0/2", `both numbers of a fraction such as 1/8 are at least 1`},
		{"memory", "1/0", `at least 1`},
		{"memory", "-1/2", `at least 1`},
		{"memory", "1/99999999999999999999", `is no usable share`},
		{"memory_swap", "1/2", `is not a size; write a size such as 4g, or unlimited`},
		{"signal_before_kill", "SIGKILL", `signal_before_kill.signal is "SIGKILL", which is no signal for this; write SIGUSR1, SIGUSR2, SIGHUP, SIGINT or SIGTERM`},
		{"signal_before_kill", "memory=90", `signal_before_kill.memory is "90", which has no % sign; write 1% to 99%, or none (did you mean 90%?)`},
		{"signal_before_kill", "memory=100%", `is out of range; write 1% to 99%, or none`},
		{"signal_before_kill", "time=-5%", `is out of range`},
		{"signal_before_kill", "time=1h", `signal_before_kill.time is "1h", which is no share; write 1% to 99%, or none`},
		{"signal_before_kill", "gpu=90%", `which has "gpu"; write SIGNAL, memory=N% or time=N%, with commas between, or none`},
		{"signal_before_kill", "", `no signal for this`},
		{"oom_score_adj", "-1000", `would leave a run that is at its memory limit hanging`},
		{"oom_score_adj", "1001", `is out of range; write a whole number from -999 (ended last) to 1000 (ended first)`},
		{"oom_score_adj", "high", `is not a whole number`},
		{"oom_score_adj", "1.5", `is not a whole number`},
		{"cpus", "500m", `(did you mean 0.5?)`},
		{"cpus", "two", `is not a number of CPUs`},
		{"cpus", "0", `is below the least, 0.01`},
		{"cpus", "-1", `is below the least, 0.01`},
		{"cpus", "9000", `is more than 8192, the most that Linux has`},
		{"cpus", "0.1234567891", `has more than nine digits behind the point`},
		{"cpuset", "3-1", `has a range that runs backwards, 3-1; write 1-3`},
		{"cpuset", "0,,1", `is not a list of CPUs; write CPU numbers such as 0-3 or 0,2,8-11, or auto`},
		{"cpuset", "0-8192", `names a CPU past 8191`},
		{"cpuset", "0-6:2", `is not a list of CPUs`},
		{"gpus", "0", `could mean no GPU or the first one; write none, or [0] (device=0 on the command line) for the first`},
		{"gpus", "0,1", `(did you mean "device=0,1"?)`},
		{"gpus", "-2", `is no possible count`},
		{"gpus", "al", `(did you mean "all"?)`},
		{"gpus", "device=", `names "", which is not the id of a GPU`},
		{"gpus", "device=1,1", `names 1 twice`},
		{"shm_size", "0", `is below the least, 1m`},
		{"tmpdir", "1g,ram", `has the kind "ram", which is not known; write tmpfs or disk`},
		{"tmpdir.kind", "disc", `(did you mean "disk"?)`},
		{"pids", "-1", `is not possible: it is the ceiling that stops a fork bomb`},
		{"pids", "4", `is out of range; write a whole number from 16 to 4194304`},
		{"pids", "1k", `is not a whole number`},
		{"nofile", "unlimited", `is not possible: Linux has no such value for descriptors`},
		{"nofile", "99999999999", `is out of range`},
		{"memlock", "0", `is below the least, 4k`},
		{"stack", "8", `has no unit, so it counts bytes, and is below the least, 128k`},
		{"address_space", "4194304", `ulimit -v counts KiB, here that is written 4194304k`},
		{"address_space", "512m", `is below the least, 2g`},
		{"threads", "0", `is no number of threads; write auto`},
		{"home", "min", `write own or mine (did you mean "mine"?)`},
		{"network", "bridge", `write none, default or host (did you mean "default"?)`},
		{"time_limit", "60", `has no unit; write it as 90m, 12h, 2d or 1d12h, or none`},
		{"time_limit", "1w", `is not a time`},
		{"time_limit", "", `is not a time`},
		{"time_limit", "0d", `is less than a second`},
		{"time_limit", "-1h", `is less than a second`},
		{"time_limit", "1d-1h", `is less than a second`},
		{"time_limit", "4000d", `is more than 3650d`},
		{"time_limit", "3000d2000000h", `is more than 3650d`},
		{"strict", "yes", `is neither true nor false`},
		{"env.HOME", "/x", `env has "HOME", which is set by the field home; leave it out`},
		{"env.A-B", "1", `is not the name of a variable`},
		{"nproc", "3", `use pids, which counts this run alone`},
		{"shm", "1g", `unknown field "shm" (did you mean "shm_size"?)`},
		{"memry", "1g", `unknown field "memry" (did you mean "memory"?)`},
	} {
		t.Run(test.field+"="+test.value, func(t *testing.T) {
			var p Profile
			err := p.Override(test.field, test.value, Flag("--x"))
			if err == nil {
				t.Fatalf("accepted as %v", p.Fields())
			}
			if !strings.HasPrefix(err.Error(), "flag --x: ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is\n%s\nwant it to have\n%s", err, test.want)
			}
			if len(p.Fields()) > 0 {
				t.Errorf("a refused value was set: %v", p.Fields())
			}
		})
	}
}

func TestOverrideKeepsTheRestOfTmpDir(t *testing.T) {
	p := Profile{TmpDir: &TmpDir{Size: 20 * giB, Kind: Disk}}
	before := p.TmpDir
	for _, value := range []string{"5g", "1g,tmpfs"} {
		if err := p.Override("tmpdir", value, Flag("--tmpdir")); err != nil {
			t.Fatal(err)
		}
		want := TmpDir{Size: 5 * giB, Kind: Disk}
		if value == "1g,tmpfs" {
			want = TmpDir{Size: giB, Kind: TmpFS}
		}
		if *p.TmpDir != want {
			t.Errorf("after %s tmpdir is %v, want %v", value, *p.TmpDir, want)
		}
	}
	if *before != (TmpDir{Size: 20 * giB, Kind: Disk}) {
		t.Error("a TmpDir that another profile may share was changed")
	}
}
