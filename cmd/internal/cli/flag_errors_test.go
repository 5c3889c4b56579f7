package cli

import (
	"context"
	"strings"
	"testing"
)

// A flag that there is not is answered with the one that was meant.
func TestUnknownFlags(t *testing.T) {
	for args, want := range map[string]string{
		"run --mem 4g x":             "unknown flag: --mem (did you mean --memory?)",
		"run --gpu 1 x":              "unknown flag: --gpu (did you mean --gpus?)",
		"run --shm 1g x":             "unknown flag: --shm (did you mean --shm-size?)",
		"run --cpuss 1 x":            "unknown flag: --cpuss (did you mean --cpus?)",
		"run --dryrun x":             "unknown flag: --dryrun (did you mean --dry-run?)",
		"run --python 3.9 x":         `unknown flag: --python: Python is the environment's: write "python=3.10" into its file, or build with crun build --python 3.10`,
		"run --rm x":                 "unknown flag: --rm: a run's container is always removed",
		"run -m 4g x":                "unknown shorthand flag: 'm' in -m: write --memory",
		"run -it -u 0 x":             "unknown shorthand flag: 'u' in -u: a run is always its caller",
		"run --xyzzy x":              "unknown flag: --xyzzy\n",
		"rm -f x":                    "unknown shorthand flag: 'f' in -f: -f is an environment's file everywhere; write --force",
		"ps --rm":                    "unknown flag: --rm\n",
		"logs --folow x":             "unknown flag: --folow (did you mean --follow?)",
		"ps --contxt x":              "unknown flag: --contxt (did you mean --context?)",
		"ps --watch=x":               `--watch is "x"; it needs no value, and may have true or false`,
		"run --detach= x":            `--detach is ""; it needs no value`,
		"doctor --timeout x":         `--timeout is "x"; write it as 10s, 2m or 1h`,
		"why --exit x":               `--exit is "x"; write a whole number`,
		"ps -o {{.Nope}}":            "-o is no template: there is no field Nope; there are Name, ID, User, ",
		"ps -o {{.Name":              "-o is no template: unclosed action",
		"run --memory":               "flag needs an argument: --memory\n",
		"ps --host=":                 "--host is empty: name one, or leave the flag out",
		"ps --context= ":             "--context is empty: name one, or leave the flag out",
		"profiles list --profiles= ": "--profiles is empty: name one, or leave the flag out",
		"run --profiles= x":          "--profiles is empty: name one, or leave the flag out",
	} {
		app := runApp(t, map[string]string{"HOME": t.TempDir(), "DOCKER_HOST": "unix:///no/such.sock"})
		var errs strings.Builder
		app.Err = &errs
		if code := app.Run(context.Background(), strings.Fields(args)); code != exitUsage || !strings.HasPrefix(errs.String(), "crun: "+want) {
			t.Errorf("%s ends with %d: %s, want %q", args, code, &errs, want)
		}
	}
}

func TestRowTemplate(t *testing.T) {
	for _, text := range []string{"{{.Name}}", "{{index .Command 0}} {{.ExitCode}}", "{{.Started.Unix}}", "{{range .Command}}{{.}} {{end}}"} {
		if _, err := rowTemplate(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
