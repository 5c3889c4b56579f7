package cli

import (
	"errors"
	"slices"
	"strings"
)

// ociVerbs are commands of the OCI runtime called crun that ours has not.
var ociVerbs = []string{"checkpoint", "create", "delete", "features", "list", "pause", "restore", "resume", "spec", "start", "state", "update"}

// ociFlags are flags that container engines give to an OCI runtime.
var ociFlags = []string{"--bundle", "--cgroup-manager", "--log-format", "--pid-file", "--root", "--systemd-cgroup"}

// errOCIRuntime says whose command it is.
var errOCIRuntime = errors.New(`this crun runs trainings; it is not the OCI runtime of the same name, for which this command is meant
crun: set the runtime's full path in containers.conf ([engine.runtimes] crun = ["/usr/bin/crun"]) or install ours under another name (make install NAME=crun-train)`)

// meantForOCIRuntime tells whether a container engine, or a person, has called
// us in place of the OCI runtime: by one of its verbs or, before the command
// of a run begins, by one of its flags.
func meantForOCIRuntime(args []string) bool {
	for i, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if slices.Contains(ociFlags, name) {
			return true
		}
		if !strings.HasPrefix(arg, "-") {
			if slices.Contains(ociVerbs, arg) {
				return true
			}
			if arg == "kill" { // ours too
				return slices.ContainsFunc(args[i+1:], engineID)
			}
			// runc's and crun's "run --bundle DIR ID" and its short form.
			return arg == "run" && len(args) > i+1 && (args[i+1] == "-b" || strings.HasPrefix(args[i+1], "--bundle"))
		}
	}
	return false
}

// engineID tells whether arg is an id as engines give them to their containers.
func engineID(arg string) bool {
	return len(arg) == 64 && strings.Trim(arg, "0123456789abcdef") == ""
}
