package docker

import (
	"net/http"
	"os"
	"strconv"
	"testing"

	"crun.dev/crun/run/engine"
)

// TestKnownFacts has two commands ask one daemon, which answers the first
// alone, and another one where the daemon's configuration was changed.
func TestKnownFacts(t *testing.T) {
	hostname, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	d, first := newFakeDaemon(t, "1.41")
	asked := 0
	tell := reply(200, map[string]any{
		"Name": hostname, "ServerVersion": "20.10.24", "NCPU": 8, "MemTotal": 16 << 30, "CgroupVersion": "1",
		"ContainerdCommit": map[string]string{"ID": "N/A"}, "SystemTime": "2026-01-02T03:04:05Z",
	})
	d.handle("GET /info", func(w http.ResponseWriter, r *http.Request) {
		asked++
		tell(w, r)
	})
	dir := t.TempDir()
	next := func(from *Engine) engine.Facts {
		t.Helper()
		e, err := Open(t.Context(), from.ep, Options{CacheDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		facts, err := e.KnownFacts(t.Context())
		if err != nil || facts.CPUs != 8 || facts.Memory != 16<<30 || facts.Remote {
			t.Fatalf("facts %+v, %v", facts, err)
		}
		return facts
	}
	if facts := next(first); asked != 1 || facts.Time.IsZero() {
		t.Errorf("asked %d times, time %s", asked, facts.Time)
	}
	if facts := next(first); asked != 1 || !facts.Time.IsZero() || facts.Swap < 0 || facts.MaxRlimits["nofile"] == 0 {
		t.Errorf("asked %d times, %+v", asked, facts)
	}
	if err := os.MkdirAll(home+"/.config/docker", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(home+"/.config/docker/daemon.json", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if next(first); asked != 2 {
		t.Errorf("asked %d times behind a change of daemon.json", asked)
	}
}

// TestDaemonKey tells another process, another boot and other memory apart.
func TestDaemonKey(t *testing.T) {
	l, socket := listenUnix(t)
	defer l.Close()
	stat := func(start string) string {
		return "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 " + start + " 9 9\n"
	}
	host := func(start, boot, memory string) string {
		pid := "proc/" + strconv.Itoa(os.Getpid())
		return root(t, map[string]string{
			pid + "/stat": stat(start), "proc/sys/kernel/random/boot_id": boot, "proc/meminfo": "MemTotal: " + memory + " kB\n",
			"sys/devices/system/cpu/online": "0-1\n",
		}).daemonKey("unix://"+socket, "1.41")
	}
	same := host("100", "boot", "1")
	if same == "" || same != host("100", "boot", "1") {
		t.Errorf("key %q", same)
	}
	for name, other := range map[string]string{"process": host("101", "boot", "1"), "boot": host("100", "other", "1"), "memory": host("100", "boot", "2")} {
		if other == "" || other == same {
			t.Errorf("another %s has the key %q", name, other)
		}
	}
	if key := (machine{}).daemonKey("tcp://127.0.0.1:1", "1.41"); key != "" {
		t.Errorf("an engine elsewhere has the key %q", key)
	}
}

// TestUseAPI asks nothing of an engine whose version is known.
func TestUseAPI(t *testing.T) {
	d, e := newFakeDaemon(t, "1.41")
	pings := 0
	d.pinged = func() { pings++ }
	d.handle("GET /containers/json", reply(200, []any{}))
	e.UseAPI("1.2") // too old to be true
	e.UseAPI("1.41")
	if _, err := e.List(t.Context()); err != nil || pings != 0 {
		t.Errorf("%v, %d pings", err, pings)
	}
}
