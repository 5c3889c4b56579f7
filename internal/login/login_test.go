package login

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A monitor leaves the login that it was started in where that lets it live on,
// and stays where it is otherwise.
func TestLeave(t *testing.T) {
	const (
		cgroup  = "proc/70/cgroup"
		session = "0::/user.slice/user-1000.slice/session-3.scope\n"
		linger  = "var/lib/systemd/linger/ann"
		bus     = "run/user/1000/bus"
	)
	for _, test := range []struct {
		name  string
		files map[string]string
		user  string
		moves bool
	}{
		{"a login", map[string]string{cgroup: session, linger: "", bus: ""}, "ann", true},
		{"version 1 of cgroups", map[string]string{cgroup: "4:pids:/\n1:name=systemd:/user.slice/user-1000.slice/session-c1.scope\n", linger: "", bus: ""}, "ann", true},
		{"a unit already", map[string]string{cgroup: "0::/user.slice/user-1000.slice/user@1000.service/app.slice/tmux.scope\n", linger: "", bus: ""}, "ann", false},
		{"a container", map[string]string{cgroup: "0::/\n"}, "ann", false},
		{"no /proc", nil, "ann", false},
		{"the user's systemd ends with the login", map[string]string{cgroup: session, bus: ""}, "ann", false},
		{"another lingers", map[string]string{cgroup: session, "var/lib/systemd/linger/bob": "", bus: ""}, "ann", false},
		{"the user has no systemd", map[string]string{cgroup: session, linger: ""}, "ann", false},
		{"nobody knows the user", map[string]string{cgroup: session, linger: "", bus: ""}, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := login{root: t.TempDir(), uid: 1000, user: test.user, pid: 70}
			for name, data := range test.files {
				path := filepath.Join(l.root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			call, env := l.call("d25zkze987rc")
			if !test.moves {
				if call != nil {
					t.Errorf("%q", call)
				}
				return
			}
			if text := strings.Join(call, " "); !strings.Contains(text, " crun-d25zkze987rc.scope fail ") || !strings.HasSuffix(text, " PIDs au 1 70 0") {
				t.Errorf("%q", call)
			}
			if !slices.Contains(env, "XDG_RUNTIME_DIR=/run/user/1000") {
				t.Errorf("%q", env)
			}
		})
	}
}
