package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/run/launch"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// folderFate is a tmpdir of a run that is over, which goes.
type folderFate struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Why   string `json:"why"`
}

// recordFate is the record of a run that ended long ago, which goes.
type recordFate struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Bytes    int64     `json:"bytes"`
	Finished time.Time `json:"finished"`
}

// findOldRuns adds the records of runs that ended long ago, and the tmpdirs of
// kind disk that runs which are over have left.
func (app *App) findOldRuns(ctx context.Context, g *garbage, cfg *config.Config, store *record.Store) error {
	all, err := store.List()
	if err != nil {
		return err
	}
	for _, r := range all {
		state, err := r.State()
		if errors.Is(err, record.ErrGone) {
			continue
		}
		if err != nil {
			app.warn(err.Error())
			continue
		}
		ended := state.Finished
		if ended.IsZero() {
			ended = state.Created
		}
		if !state.Complete || !state.Phase.Over() || g.prune.Now.Sub(ended) < g.prune.OlderThan {
			continue
		}
		name := r.ID
		if p, err := r.Plan(); err == nil {
			name = p.Name
		}
		bytes := launch.DiskUse(ctx, r.Dir())
		g.Records = append(g.Records, recordFate{ID: r.ID, Name: name, Bytes: bytes, Finished: ended})
		g.Frees += bytes
	}
	if cfg.Scratch == "" {
		return nil
	}
	folders, err := filepath.Glob(filepath.Join(cfg.Scratch, "crun-*"))
	if err != nil {
		return err
	}
	containers := app.containersOfRuns(ctx, cfg)
	for _, folder := range folders {
		why := g.leftover(folder, containers, store)
		if why == "" {
			continue
		}
		bytes := launch.DiskUse(ctx, folder)
		g.Tmpdirs = append(g.Tmpdirs, folderFate{Path: folder, Bytes: bytes, Why: why})
		g.Frees += bytes
	}
	return nil
}

// leftover says why a folder of the scratch root is one that nobody needs, or
// "": it is the caller's, by name a run's, and that run is over.
func (g *garbage) leftover(folder string, containers map[string]bool, store *record.Store) string {
	id := strings.TrimPrefix(filepath.Base(folder), "crun-")
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() || !plan.ValidID(id) || containers == nil || containers[id] {
		return ""
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Getuid() {
		return ""
	}
	r, err := store.Open(id)
	if errors.Is(err, record.ErrGone) {
		// It may be a run's that keeps its records in another folder.
		if g.prune.Now.Sub(info.ModTime()) < max(g.prune.OlderThan, time.Hour) {
			return ""
		}
		return "no run has it"
	}
	if err != nil {
		return ""
	}
	if state, err := r.State(); err != nil || !state.Complete {
		return ""
	}
	return "its run has ended"
}

// containersOfRuns are the runs that have a container, by id; nil where the
// engine cannot be asked.
func (app *App) containersOfRuns(ctx context.Context, cfg *config.Config) map[string]bool {
	e, _, err := app.openEngine(ctx, cfg)
	if err != nil {
		app.warn(fmt.Sprintf("tmpdirs of runs are left as they are: %v", err))
		return nil
	}
	defer e.Close()
	list, err := e.List(ctx)
	if err != nil {
		app.warn(fmt.Sprintf("tmpdirs of runs are left as they are: %v", err))
		return nil
	}
	found := map[string]bool{}
	for _, c := range list {
		found[c.Run] = true
	}
	return found
}

// removeOldRuns removes what findOldRuns has found.
func (app *App) removeOldRuns(g *garbage, store *record.Store) (freed int64, err error) {
	var errs []error
	for _, f := range g.Tmpdirs {
		if err := os.RemoveAll(f.Path); err != nil {
			errs = append(errs, fmt.Errorf("removing the tmpdir of a run: %w", err))
			continue
		}
		freed += f.Bytes
	}
	for _, old := range g.Records {
		r, err := store.Open(old.ID)
		if errors.Is(err, record.ErrGone) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		lock, err := r.TryLock()
		if err != nil {
			errs = append(errs, fmt.Errorf("removing run %s: %w", old.Name, err))
			continue
		}
		if err := store.Remove(r, lock); err != nil {
			errs = append(errs, err)
			continue
		}
		freed += old.Bytes
	}
	return freed, errors.Join(errs...)
}
