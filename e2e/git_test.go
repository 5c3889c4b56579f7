package e2e

import (
	"encoding/pem"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// gitserver VARIABLE DIR serves the repositories below DIR as git itself does
// over HTTPS; host and port go to VARIABLE, its certificate to ca.pem.
func init() { commands["gitserver"] = cmdGitServer }

func cmdGitServer(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "gitserver VARIABLE DIR")
	programs, err := exec.Command("git", "--exec-path").Output()
	ts.Check(err)
	server := httptest.NewTLSServer(&cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(programs)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + ts.MkAbs(args[1]), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=somebody",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
	})
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o644))
	ts.Defer(server.Close)
	ts.Setenv(args[0], strings.TrimPrefix(server.URL, "https://"))
}
