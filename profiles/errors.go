package profiles

import (
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/internal/yamlfile"
)

// Error is one mistake in a profile; its text is "SOURCE: MESSAGE".
type Error struct {
	Source  Source
	Message string
}

func (e *Error) Error() string { return e.Source.String() + ": " + e.Message }

// Warning is what is allowed and most likely not meant.
type Warning struct {
	// Profile is the profile in question, or "" where it is a file.
	Profile string
	Source  Source
	Message string
}

// String gives "SOURCE: MESSAGE".
func (w Warning) String() string { return w.Source.String() + ": " + w.Message }

// otherWords has the words of Docker, Compose, Slurm and the shell for our
// fields, where they are too far away for a guess by letters.
var otherWords = map[string]string{
	"as":            "address_space",
	"cpuset_cpus":   "cpuset",
	"environment":   "env",
	"mem":           "memory",
	"mem_limit":     "memory",
	"memory_limit":  "memory",
	"memswap_limit": "memory_swap",
	"pids_limit":    "pids",
	"ram":           "memory",
	"shm":           "shm_size",
	"time":          "time_limit",
	"timeout":       "time_limit",
	"tmp":           "tmpdir",
	"tmpfs":         "tmpdir",
	"vmem":          "address_space",
}

// unknownField complains about a field that does not exist.
func unknownField(name string) error {
	switch name {
	case "nproc":
		return fmt.Errorf(`there is no field "nproc": the kernel counts RLIMIT_NPROC over all processes of a user id on the host, so it would hold other runs of the same user too; use pids, which counts this run alone`)
	case "ulimit", "ulimits", "rlimits":
		return fmt.Errorf(`there is no field %q; each limit is a field of its own: nofile, memlock, stack, core or address_space`, name)
	case "<<":
		return fmt.Errorf(`YAML's merge key "<<" is not read, since it hides where a value comes from; use extends`)
	}
	known := fieldNames()
	if word := strings.ReplaceAll(strings.ToLower(name), "-", "_"); otherWords[word] != "" {
		return fmt.Errorf("unknown field %q (did you mean %q?)", name, otherWords[word])
	}
	if hint := yamlfile.DidYouMean(name, known); hint != "" {
		return fmt.Errorf("unknown field %q%s", name, hint)
	}
	slices.Sort(known)
	return fmt.Errorf("unknown field %q; a profile has %s", name, strings.Join(known, ", "))
}
