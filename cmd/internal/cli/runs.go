package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/internal/endpoint"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/engine/docker"
	"crun.dev/crun/run/monitor"
	"crun.dev/crun/run/record"
)

// openStore opens the caller's run records.
func (app *App) openStore() (*record.Store, error) {
	dir, err := record.DefaultDir(app.Getenv)
	if err != nil {
		return nil, err
	}
	return record.OpenStore(dir)
}

// sweep lets monitors take up the runs whose own have died.
func (app *App) sweep(store *record.Store) {
	for _, err := range monitor.Sweep(store) {
		app.warn(err.Error())
	}
}

// findEndpoint decides which engine to use. The machine's config is asked last
// of all that names one.
func (app *App) findEndpoint(machine *config.Config) (endpoint.Endpoint, error) {
	host := app.Host
	if host == "" && app.Context == "" && app.Getenv("DOCKER_HOST") == "" && app.Getenv("DOCKER_CONTEXT") == "" {
		host = machine.Engine
	}
	return endpoint.Find(endpoint.Options{Host: host, Context: app.Context, Getenv: app.Getenv})
}

// openEngine opens the engine for a new run. ref is what a record keeps of it.
func (app *App) openEngine(ctx context.Context, machine *config.Config) (e engine.Engine, ref []byte, err error) {
	ep, err := app.findEndpoint(machine)
	if err != nil {
		return nil, nil, err
	}
	if ref, err = json.Marshal(ep); err != nil {
		return nil, nil, err
	}
	e, err = app.engineAt(ctx, ref)
	return e, ref, err
}

// engineAt opens the engine that a record names.
func (app *App) engineAt(ctx context.Context, ref json.RawMessage) (engine.Engine, error) {
	var ep endpoint.Endpoint
	if err := json.Unmarshal(ref, &ep); err != nil {
		return nil, fmt.Errorf("reading which engine the run is on: %w", err)
	}
	cache, err := app.cacheDir()
	if err != nil {
		cache = ""
	}
	e, err := docker.Open(ctx, ep, docker.Options{CacheDir: cache})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// namedRuns gives the runs that args name, as they stand now, and their store.
func (app *App) namedRuns(args ...string) (*record.Store, []*record.Record, error) {
	store, err := app.openStore()
	if err != nil {
		return nil, nil, err
	}
	app.sweep(store)
	var found []*record.Record
	var errs []error
	for _, name := range args {
		r, err := store.Find(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found = append(found, r)
	}
	return store, found, errors.Join(errs...)
}

// runArgs refuses a command line without the name of a run, or, with one, more
// than that.
func runArgs(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usagef(cmd, "%s needs the name of a run (crun ps -a lists them)", cmd.CommandPath())
		case most > 0 && len(args) > most:
			return usagef(cmd, "%s takes one run, not %d", cmd.CommandPath(), len(args))
		}
		return nil
	}
}

// completeRuns completes names of runs, those that are wanted.
func (app *App) completeRuns(wanted func(*record.State) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		store, err := app.openStore()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := store.List()
		var names []string
		for _, r := range all {
			state, err := r.State()
			if err != nil || wanted != nil && !wanted(&state) {
				continue
			}
			p, err := r.Plan()
			if err == nil && strings.HasPrefix(p.Name, toComplete) {
				names = append(names, cobra.CompletionWithDesc(p.Name, stateText(&state)))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func isActive(s *record.State) bool { return !s.Phase.Over() }

// stateText is how a run stands, in a few words: "running", "exit 1",
// "SIGKILL", "out of memory", "tmpdir full", "failed", "rebooted", "lost".
func stateText(s *record.State) string {
	switch {
	case s.Phase == record.Running && s.Paused:
		return "paused"
	case s.Rebooted:
		return "rebooted"
	case s.Phase != record.Ended:
		return string(s.Phase)
	case s.ExitCode != nil && *s.ExitCode == 0:
		return "done"
	case s.TmpdirUsed > 0:
		return "tmpdir full"
	case s.OOMKills > 0 || s.OOMKilled:
		return "out of memory"
	case s.TimedOut:
		return "time limit"
	case s.Signal != "":
		return s.Signal
	}
	return fmt.Sprintf("exit %d", exitCodeOf(s))
}
