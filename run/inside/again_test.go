package inside

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestChanged(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(before, after *Limits)
		want   string
	}{
		{"nothing", func(b, a *Limits) {}, ""},
		{"nothing is known", func(b, a *Limits) { *b, *a = Limits{}, Limits{} }, ""},
		{"memory raised", func(b, a *Limits) { a.Memory = ptr(8 * gib) }, "memory is 8 GiB, not 4 GiB"},
		{"memory lowered", func(b, a *Limits) { a.Memory = ptr(2 * gib) }, "memory is 2 GiB, not 4 GiB"},
		{"memory lifted", func(b, a *Limits) { a.Memory = ptr(int64(-1)) }, "memory is unlimited, not 4 GiB"},
		{"memory set", func(b, a *Limits) { b.Memory = ptr(int64(-1)) }, "memory is 4 GiB, not unlimited"},
		{"cpus", func(b, a *Limits) { a.CPUQuota = ptr(int64(-1)) }, "cpus is unlimited, not 2"},
		{"no quota of cpus", func(b, a *Limits) { b.CPUQuota, a.CPUQuota = ptr(int64(-1)), ptr(int64(-1)) }, ""},
		{"cpus set", func(b, a *Limits) { b.CPUQuota = ptr(int64(-1)) }, "cpus is 2, not unlimited"},
		{"somebody else's groups", func(b, a *Limits) { b.Foreign, a.Memory, a.CPUQuota = true, ptr(8*gib), ptr(int64(-1)) }, ""},
		{"cpuset", func(b, a *Limits) { a.CPUSet = "0-7" }, "cpuset is 0-7, not 0-3"},
		{"pids", func(b, a *Limits) { a.Pids = ptr(int64(9)) }, "pids is 9, not 1024"},
		{"shm", func(b, a *Limits) { a.Shm = &Filesystem{Type: "tmpfs", Size: 2 * gib} }, "shm_size is 2 GiB, not 1 GiB"},
		{"tmp on disk", func(b, a *Limits) {
			b.Tmp, a.Tmp = &Filesystem{Type: "ext4", Size: 1}, &Filesystem{Type: "ext4", Size: 2}
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			before, after := held(), held()
			test.change(&before, &after)
			var got []string
			for _, d := range Changed(before, after) {
				got = append(got, d.String())
			}
			if s := strings.Join(got, "\n"); s != test.want {
				t.Errorf("%q, want %q", s, test.want)
			}
		})
	}
}

// What an entrypoint changes shows in the command that it starts.
func TestCheckCommand(t *testing.T) {
	e := Expectation{Command: []string{"sleep", "30"}, Env: map[string]string{"OMP_NUM_THREADS": "2"}, NoFile: ptr(int64(300))}
	l := Read(e, []string{"OMP_NUM_THREADS=2"})
	l.Rlimits["nofile"] = Rlimit{ptr(int64(300)), 300}
	c := exec.Command("sh", "-c", `export OMP_NUM_THREADS=64; ulimit -n 64; sh -c '"$@"; true' sh "$@"`, "entry", "sleep", "30")
	c.Env = append(os.Environ(), "OMP_NUM_THREADS=2")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var found []Difference
	ok := false
	pids := []int{}
	for range 500 {
		if found, ok = CheckCommand(e, l, c.Process.Pid); ok {
			pids = descendants(c.Process.Pid)
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	// From the last one up, and only those that this test has started.
	slices.Reverse(pids)
	for _, pid := range pids {
		if p, err := os.FindProcess(pid); err == nil && pid > 1 {
			p.Kill()
		}
	}
	c.Wait()
	var got []string
	for _, d := range found {
		got = append(got, d.String())
	}
	if want := []string{"nofile is 64, not 300", `env.OMP_NUM_THREADS is "64", not "2"`}; !ok || !slices.Equal(got, want) {
		t.Errorf("%v, %q, want %q", ok, got, want)
	}
}

func TestRoutes(t *testing.T) {
	process := t.TempDir()
	if got := readRoutes(process); got != nil {
		t.Errorf("%v of nothing", got)
	}
	if err := os.Mkdir(filepath.Join(process, "net"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"route":      "Iface\tDestination\tGateway\neth0\t00000000\t010011AC\neth0\t000011AC\t00000000\n",
		"ipv6_route": "00000000000000000000000000000001 80 0 00 0 00000000 00000002 00000000 80200001       lo\nfe80000000000000 40 0 00 0 00000100 00000001 00000000 00000001     eth1\n",
	} {
		if err := os.WriteFile(filepath.Join(process, "net", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := readRoutes(process); !slices.Equal(got, []string{"eth0", "eth1"}) {
		t.Errorf("%v", got)
	}
}
