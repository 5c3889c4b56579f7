// Package login knows what systemd-logind does with the processes of a user who
// logs out.
package login

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"crun.dev/crun/internal/lazyregexp"
)

// moveTime bounds the wait for an answer of systemd.
const moveTime = 30 * time.Second

// Lingers tells whether the user's systemd, and what it runs, stays when the user
// has no login (loginctl(1), enable-linger). root is put in front of the path.
func Lingers(root, user string) bool {
	if user == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(root, "/var/lib/systemd/linger", filepath.Base(user)))
	return err == nil
}

// Leave moves this process, the monitor of a run, out of the login that it was
// started in, into the unit crun-RUN.scope of the user's systemd: logind may end
// what belongs to a login together with it (KillUserProcesses=yes in
// logind.conf(5)). It does nothing where that would not help.
func Leave(ctx context.Context, run string) error {
	account, err := user.Current()
	if err != nil {
		return fmt.Errorf("leaving the login: %w", err)
	}
	l := login{uid: os.Getuid(), user: account.Username, pid: os.Getpid()}
	call, env := l.call(run)
	if call == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, moveTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, call[0], call[1:]...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("leaving the login: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

type login struct {
	root string // in front of every path, for tests
	uid  int
	user string
	pid  int
}

// ofLogin finds in /proc/PID/cgroup the unit that logind makes for a login.
var ofLogin = lazyregexp.New(`(?m)/session-[^/]+\.scope(/|$)`)

// call gives the command that has the user's systemd take the process over as
// the unit of the run, and what its environment has to hold. It is nil where
// there is no need to: the process belongs to no login. It is nil, too, where
// the user's systemd itself ends with the user's last login, since nobody has
// turned lingering on (loginctl(1)): a process that stays in its login lives
// longer, where logind leaves those of a login alone.
func (l login) call(run string) (call, env []string) {
	cgroup, err := os.ReadFile(l.root + "/proc/" + strconv.Itoa(l.pid) + "/cgroup")
	if err != nil || !ofLogin.Match(cgroup) || !Lingers(l.root, l.user) {
		return nil, nil
	}
	runtime := "/run/user/" + strconv.Itoa(l.uid)
	if _, err := os.Stat(l.root + runtime + "/bus"); err != nil {
		return nil, nil
	}
	// systemd-run makes such units for commands alone, and not for a process.
	// https://www.freedesktop.org/software/systemd/man/latest/org.freedesktop.systemd1.html
	const systemd = "org.freedesktop.systemd1"
	return []string{
		"busctl", "--user", "--quiet", "call", systemd, "/org/freedesktop/systemd1", systemd + ".Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))",
		"crun-" + run + ".scope", "fail",
		"2", "Description", "s", "crun's monitor of run " + run, "PIDs", "au", "1", strconv.Itoa(l.pid),
		"0",
	}, []string{"XDG_RUNTIME_DIR=" + runtime, "DBUS_SESSION_BUS_ADDRESS=unix:path=" + runtime + "/bus"}
}

// GoingDown tells whether this machine is about to shut down or to reboot, as
// far as a systemd says so.
func GoingDown(ctx context.Context) bool {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, moveTime)
	defer cancel()
	// Its exit status is not 0 for this answer (systemctl(1)).
	out, _ := exec.CommandContext(ctx, "systemctl", "is-system-running").Output()
	return strings.TrimSpace(string(out)) == "stopping"
}
