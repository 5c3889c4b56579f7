package cli

import (
	"os"

	"crun.dev/crun/internal/login"
	"crun.dev/crun/internal/shellword"
	"crun.dev/crun/run/engine"
)

// loginWarning says that a run would not outlive its user's login, or gives "".
// root is put in front of paths.
func loginWarning(root, user string, facts engine.Facts) string {
	if !facts.Rootless || facts.Remote || login.Lingers(root, user) {
		return ""
	}
	if _, err := os.Stat(root + "/run/systemd/system"); err != nil {
		return "" // nobody ends it
	}
	return "systemd ends a rootless engine with its user's last login, and the run with it: loginctl enable-linger " + shellword.Quote(user) + " keeps both"
}
