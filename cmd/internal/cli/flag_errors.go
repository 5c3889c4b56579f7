package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"crun.dev/crun/internal/yamlfile"
)

// elsewhere has flags that people know from docker run and such, and what crun
// has in their place. Those with one letter are shorthands.
var elsewhere = map[string]string{
	"python":     `Python is the environment's: write "python=3.10" into its file, or build with crun build --python 3.10`,
	"user":       "a run is always its caller: your uid, gid and groups",
	"u":          "a run is always its caller: your uid, gid and groups",
	"rm":         "a run's container is always removed, and its record stays until crun rm",
	"workdir":    "a run starts in the folder that crun is called in: go there first",
	"w":          "a run starts in the folder that crun is called in: go there first",
	"m":          "write --memory",
	"c":          "write --cpus",
	"mount":      "write --data PATH[:ro], or -v SOURCE:TARGET[:ro]",
	"ulimit":     "write --nofile, --memlock, --stack, --core or --address-space",
	"ipc":        "/dev/shm is the run's own: write --shm-size SIZE",
	"pids-limit": "write --pids",
	"timeout":    "write --time-limit",
	"time":       "write --time-limit",
	"entrypoint": "name the command behind the flags; an image's ENTRYPOINT stays in front of it",
	"privileged": "a run gets no more rights than its caller has",
	"cap-add":    "a run gets no more rights than its caller has",
	"device":     "GPUs come with --gpus; other devices are not given",
	"hostname":   "a run's host is called as the run: write --name",
	"l":          "run's labels are crun's own; crun ps has --filter",
	"label":      "run's labels are crun's own; crun ps has --filter",
	"net":        "write --network",
	"tmpfs":      "write --tmpdir SIZE",
}

// flagError makes a mistake in a flag one of usage. Of a flag that there is not
// it names the one that was meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		short := len(name) == 1 || unknown.GetSpecifiedShortnames() != ""
		hint := elsewhere[name]
		if cmd.Name() != "run" && cmd.Name() != "init" {
			hint = ""
		}
		switch {
		case hint != "":
			err = fmt.Errorf("%w: %s", err, hint)
		case short && name == "f" && cmd.Flags().Lookup("force") != nil:
			err = fmt.Errorf("%w: -f is an environment's file everywhere; write --force", err)
		case !short:
			err = fmt.Errorf("%w%s", err, nearestFlag(cmd, name))
		}
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		// Of these the standard library's words are for programmers.
		name := "--" + invalid.GetFlag().Name
		switch invalid.GetFlag().Value.Type() {
		case "bool":
			err = fmt.Errorf("%s is %q; it needs no value, and may have true or false", name, invalid.GetValue())
		case "int":
			err = fmt.Errorf("%s is %q; write a whole number", name, invalid.GetValue())
		case "duration":
			err = fmt.Errorf("%s is %q; write it as 10s, 2m or 1h", name, invalid.GetValue())
		}
	}
	return &usageError{command: cmd.CommandPath(), err: err}
}

// nearestFlag is the clause that offers the flag of cmd that name begins, or
// that is nearest to it, or "".
func nearestFlag(cmd *cobra.Command, name string) string {
	var names, begun []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		names = append(names, f.Name)
		if len(name) > 1 && strings.HasPrefix(f.Name, name) {
			begun = append(begun, f.Name)
		}
	})
	if len(begun) > 0 {
		shortest := slices.MinFunc(begun, func(a, b string) int { return len(a) - len(b) })
		return fmt.Sprintf(" (did you mean --%s?)", shortest)
	}
	return strings.Replace(strings.ReplaceAll(yamlfile.DidYouMean(name, names), `"`, ""), "mean ", "mean --", 1)
}

// checkGlobalFlags refuses those that are given and empty, as a rule a shell's
// variable that is not set.
func checkGlobalFlags(cmd *cobra.Command) error {
	for _, name := range []string{"profiles", "context", "host"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return usagef(cmd, "--%s is empty: name one, or leave the flag out", name)
		}
	}
	return nil
}
