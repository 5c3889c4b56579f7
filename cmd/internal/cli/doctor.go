package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	gounits "github.com/docker/go-units"
	"github.com/spf13/cobra"

	"crun.dev/crun/build"
	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/run/doctor"
)

// doctorOptions are the flags of crun doctor.
type doctorOptions struct {
	network bool
	fix     bool
	yes     bool
	mirror  string
	timeout time.Duration
	output  string
}

func newDoctorCmd(app *App) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what keeps builds and runs from working here, and what to write",
		Long: `Look at the engine and its BuildKit, and at what the machine has for builds and
runs: limits that hold, GPUs, disks, memory, folders, proxy, certificates, clock.
All that is checked before a run is checked here without one. Each line has a
state, what was seen, and what to do about it, to be pasted:

  ok       as it should be
  warning  works, and will be regretted
  error    does not work
  unknown  cannot be seen from here

Nothing is changed. --fix then does what is safe: it takes from others the right
to read config.yaml where that holds a password, and the records of your runs,
and has logind keep your processes when you log out (loginctl enable-linger). It
asks first; --yes answers.

With --network, also try everything that a build of the environment file here
fetches from (of none: conda-forge and PyPI): from this machine, and from inside
a build. Each failure comes with its reason, and with the lines to write and the
file for them.

The exit code is 1 where a line is an error.`,
		Example: `  crun doctor
  crun doctor --fix
  crun doctor -o json | jq -r '.checks[] | select(.level != "ok") | .text'
  crun doctor --network
  crun doctor --network --mirror tuna >> ~/.config/crun/config.yaml`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(cmd, o.output); err != nil {
				return err
			}
			if err := checkMirror(cmd, o.mirror); err != nil {
				return err
			}
			if o.yes && !o.fix {
				return usagef(cmd, "--yes goes with --fix")
			}
			if o.fix && o.output != "" && !o.yes {
				return usagef(cmd, "-o json asks nothing: add --yes to fix what is safe")
			}
			if o.timeout < time.Second || o.timeout > 10*time.Minute {
				return usagef(cmd, "--timeout is %s; allowed are 1s to 10m", o.timeout)
			}
			if o.mirror != "" {
				app.printMirror(o.mirror)
				return nil
			}
			return app.doctor(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.network, "network", false, "try what builds fetch from")
	flags.BoolVar(&o.fix, "fix", false, "do what is safe about it")
	flags.BoolVar(&o.yes, "yes", false, "with --fix: do not ask")
	flags.StringVar(&o.mirror, "mirror", "", "print the lines of config.yaml for the mirrors of `NAME`: "+strings.Join(mirrorNames(), ", ")+", and try nothing")
	flags.DurationVar(&o.timeout, "timeout", 20*time.Second, "how long one source may take to answer")
	addOutputFlag(cmd, &o.output)
	_ = cmd.RegisterFlagCompletionFunc("mirror", cobra.FixedCompletions(mirrorNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check is one line of crun doctor.
type check struct {
	What string `json:"what"`
	// Level is ok, warning, error or unknown.
	Level string `json:"level"`
	Text  string `json:"text"`
	// Remedy is what to do, "" where nothing is to be done.
	Remedy string `json:"remedy,omitempty"`
	// Fix is what --fix does about it, Fixed that it is done.
	Fix   string       `json:"fix,omitempty"`
	Fixed bool         `json:"fixed,omitempty"`
	Tried *build.Tried `json:"tried,omitempty"`

	fix *doctor.Fix
}

// The levels of a check.
const (
	levelOK      = "ok"
	levelWarning = "warning"
	levelError   = "error"
	levelUnknown = "unknown"
)

// examination is one crun doctor.
type examination struct {
	app    *App
	o      doctorOptions
	cfg    *config.Config
	engine *buildkit.Engine
	solver *buildkit.Builder
	checks []check
}

func (app *App) doctor(ctx context.Context, o doctorOptions) error {
	cfg, err := config.Load(app.Getenv)
	if err != nil {
		return err
	}
	x := &examination{app: app, o: o, cfg: cfg, checks: []check{}}
	machine := make(chan []doctor.Line, 1) // asked while the engine's BuildKit is
	go func() { machine <- x.machineLines(ctx) }()
	answers := false
	if x.engine, err = app.buildEngine(cfg); err != nil {
		x.add(check{What: "engine", Level: levelError, Text: err.Error()})
	} else {
		defer x.engine.Close()
		withDockerProxy(cfg, x.engine.Host())
		x.solver = buildkit.New(x.engine, buildkit.Options{Address: app.Getenv("BUILDKIT_HOST"), Progress: "quiet", Out: app.Err})
		defer x.solver.Close()
		answers = x.engineChecks(ctx)
	}
	x.files()
	for _, l := range <-machine {
		c := check{What: l.What, Level: l.State, Text: l.Seen, Remedy: l.Remedy, fix: l.Fix}
		if l.Fix != nil {
			c.Fix = l.Fix.Say
		}
		x.add(c)
	}
	if answers && o.network {
		if err := x.network(ctx); err != nil {
			return err
		}
	}
	if err := x.fixAll(ctx); err != nil {
		return err
	}
	return x.end()
}

// add keeps a check, and shows it at once to a person.
func (x *examination) add(c check) {
	x.checks = append(x.checks, c)
	if x.o.output == "json" {
		return
	}
	fmt.Fprintf(x.app.Out, "%-8s %-16s %s\n", c.Level, c.What, strings.ReplaceAll(c.Text, "\n", "\n"+strings.Repeat(" ", 26)))
	if c.Remedy != "" {
		fmt.Fprintf(x.app.Out, "%-25s %s\n", "", strings.ReplaceAll(c.Remedy, "\n", "\n"+strings.Repeat(" ", 26)))
	}
}

// end prints what to write, and gives the exit code.
func (x *examination) end() error {
	failed := 0
	var tried []build.Tried
	for _, c := range x.checks {
		if c.Level == levelError {
			failed++
		}
		if c.Tried != nil {
			tried = append(tried, *c.Tried)
		}
	}
	lines := x.lines(tried)
	if x.o.output == "json" {
		if err := x.app.printJSON(map[string]any{"ok": failed == 0, "checks": x.checks, "file": x.app.configFile(), "write": lines}); err != nil {
			return err
		}
	} else if lines != "" {
		fmt.Fprintf(x.app.Out, "\nWrite into %s what holds here, in the place of the words in capitals:\n\n%s", x.app.configFile(), lines)
	}
	if failed > 0 {
		return withCode(exitFailure, fmt.Errorf("%d of %d checks failed", failed, len(x.checks)))
	}
	return nil
}

// configFile is the config.yaml that a user would write into.
func (app *App) configFile() string {
	if file := app.Getenv("CRUN_CONFIG"); file != "" {
		return file
	}
	if dir := config.UserDir(app.Getenv); dir != "" && os.Getuid() != 0 {
		return filepath.Join(dir, config.FileName)
	}
	return filepath.Join(config.SystemDir, config.FileName)
}

// engineChecks looks at the engine, and tells whether it answers.
func (x *examination) engineChecks(ctx context.Context) bool {
	facts, err := x.engine.Facts(ctx)
	if err != nil {
		x.add(check{What: "engine", Level: levelError, Text: err.Error()})
		return false
	}
	x.add(check{What: "engine", Level: levelOK, Text: fmt.Sprintf("%s %s at %s", facts.Name, facts.Version, x.engine.Host())})
	if facts.Name == "Podman" && x.app.Getenv("BUILDKIT_HOST") == "" {
		x.add(check{What: "buildkit", Level: levelWarning, Text: "Podman has none: runs work, and builds need a buildkitd",
			Remedy: "start one, and name it: export BUILDKIT_HOST=unix:///run/buildkit/buildkitd.sock"})
		return false
	}
	rules, err := x.solver.DownloadRules(ctx)
	if err != nil {
		x.add(check{What: "buildkit", Level: levelError, Text: err.Error()})
		return false
	}
	x.add(check{What: "buildkit", Level: levelOK, Text: cmp.Or(x.app.Getenv("BUILDKIT_HOST"), "the engine's own")})
	cache := check{What: "cache", Level: levelOK, Text: "what builds have downloaded is kept until somebody removes it (crun prune)"}
	if len(rules) > 0 {
		cache.Text = fmt.Sprintf("what builds have downloaded is dropped %s after its last use, above %s", rules[0].After, gounits.BytesSize(float64(rules[0].Above)))
		cache.Remedy = `to keep more, write "builder": {"gc": {"enabled": true, "policy": [{"keepStorage": "60GB", "all": true}]}} into` +
			"\n/etc/docker/daemon.json and restart the engine"
	}
	x.add(cache)
	x.proxy(facts)
	return true
}

// platform is BuildKit's name of the engine's.
func (x *examination) platform(ctx context.Context) string {
	arch := runtime.GOARCH
	if x.engine.Remote() {
		if asked, err := x.engine.Arch(ctx); err == nil {
			arch = asked
		}
	}
	return "linux/" + arch
}
