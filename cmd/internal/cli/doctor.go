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
	"golang.org/x/sys/unix"

	"crun.dev/crun/build"
	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/cmd/internal/config"
)

// doctorOptions are the flags of crun doctor.
type doctorOptions struct {
	network bool
	mirror  string
	timeout time.Duration
	output  string
}

func newDoctorCmd(app *App) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what keeps builds and runs from working here, and what to write",
		Long: `Look at the engine, its BuildKit, its disk, its proxy and how long it keeps
downloads. With --network, also try everything that a build of the environment
file here fetches from (of none: conda-forge and PyPI): from this machine, and
from inside a build. Each failure comes with its reason, and with the lines to
write and the file for them. Nothing is changed.

The exit code is 1 where something that is needed does not answer.`,
		Example: `  crun doctor
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
	flags.StringVar(&o.mirror, "mirror", "", "print the lines of config.yaml for the mirrors of `NAME`: "+strings.Join(mirrorNames(), ", ")+", and try nothing")
	flags.DurationVar(&o.timeout, "timeout", 20*time.Second, "how long one source may take to answer")
	addOutputFlag(cmd, &o.output)
	_ = cmd.RegisterFlagCompletionFunc("mirror", cobra.FixedCompletions(mirrorNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check is one line of crun doctor.
type check struct {
	What string `json:"what"`
	// Level is ok, warning or failure.
	Level string `json:"level"`
	Text  string `json:"text"`
	// Remedy is what to do, "" where nothing is to be done.
	Remedy string       `json:"remedy,omitempty"`
	Tried  *build.Tried `json:"tried,omitempty"`
}

// The levels of a check.
const (
	levelOK      = "ok"
	levelWarning = "warning"
	levelFailure = "failure"
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
	if x.engine, err = app.buildEngine(cfg); err != nil {
		x.add(check{What: "engine", Level: levelFailure, Text: err.Error()})
	} else {
		defer x.engine.Close()
		withDockerProxy(cfg, x.engine.Host())
		x.solver = buildkit.New(x.engine, buildkit.Options{Address: app.Getenv("BUILDKIT_HOST"), Progress: "quiet", Out: app.Err})
		defer x.solver.Close()
		if x.engineChecks(ctx) && o.network {
			if err := x.network(ctx); err != nil {
				return err
			}
		}
	}
	return x.end()
}

// add keeps a check, and shows it at once to a person.
func (x *examination) add(c check) {
	x.checks = append(x.checks, c)
	if x.o.output == "json" {
		return
	}
	fmt.Fprintf(x.app.Out, "%-8s %-9s %s\n", c.Level, c.What, strings.ReplaceAll(c.Text, "\n", "\n"+strings.Repeat(" ", 19)))
	if c.Remedy != "" {
		fmt.Fprintf(x.app.Out, "%-18s %s\n", "", strings.ReplaceAll(c.Remedy, "\n", "\n"+strings.Repeat(" ", 19)))
	}
}

// end prints what to write, and gives the exit code.
func (x *examination) end() error {
	failed := 0
	var tried []build.Tried
	for _, c := range x.checks {
		if c.Level == levelFailure {
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

// lowDisk is when the engine's disk is too full for an image of PyTorch with
// CUDA, which has some 8 GB beside as much in the caches, in bytes.
const lowDisk = 20 << 30

// engineChecks looks at the engine, and tells whether it answers.
func (x *examination) engineChecks(ctx context.Context) bool {
	facts, err := x.engine.Facts(ctx)
	if err != nil {
		x.add(check{What: "engine", Level: levelFailure, Text: err.Error()})
		return false
	}
	x.add(check{What: "engine", Level: levelOK, Text: fmt.Sprintf("Docker Engine %s at %s", facts.Version, x.engine.Host())})
	rules, err := x.solver.DownloadRules(ctx)
	if err != nil {
		x.add(check{What: "buildkit", Level: levelFailure, Text: err.Error()})
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
	x.disk(facts)
	x.proxy(facts)
	return true
}

func (x *examination) disk(facts buildkit.EngineFacts) {
	if x.engine.Remote() || facts.DataRoot == "" {
		return
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(facts.DataRoot, &fs); err != nil {
		return // the engine's own files may not be ours to see
	}
	free := int64(fs.Bavail) * fs.Bsize
	c := check{What: "disk", Level: levelOK, Text: gounits.BytesSize(float64(free)) + " free in " + facts.DataRoot}
	if free < lowDisk {
		c.Level, c.Remedy = levelWarning, "an image of PyTorch with CUDA needs some 20 GB to be built: crun prune frees what nobody uses"
	}
	x.add(c)
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
