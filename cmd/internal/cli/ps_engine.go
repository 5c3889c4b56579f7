package cli

import (
	"context"
	"fmt"
	"os/user"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// viewTime bounds what is asked of the engine: one that does not answer must
// not keep the list back.
const viewTime = 2 * time.Second

// engineView is what the engine tells of runs; err says why it tells nothing.
type engineView struct {
	engine     engine.Engine // nil where there is none
	containers []engine.Container
	err        error
}

func (v *engineView) close() {
	if v.engine != nil {
		v.engine.Close()
	}
}

func (app *App) viewEngine(ctx context.Context) engineView {
	machine, err := config.Load(app.Getenv)
	if err != nil {
		return engineView{err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, viewTime)
	defer cancel()
	e, _, err := app.openEngine(ctx, machine)
	if err != nil {
		return engineView{err: err}
	}
	containers, err := e.List(ctx)
	return engineView{engine: e, containers: containers, err: err}
}

// fillMemory asks what the runs that go on have in use now.
func (app *App) fillMemory(ctx context.Context, view engineView, rows []runRow) {
	if view.err != nil {
		return
	}
	running := make(map[string]bool)
	for _, c := range view.containers {
		running[c.ID] = c.Status == "running" || c.Status == "paused"
	}
	ctx, cancel := context.WithTimeout(ctx, viewTime)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(16)
	for i := range rows {
		if row := &rows[i]; row.Phase == record.Running && running[row.container] {
			g.Go(func() error {
				row.Memory, _ = view.engine.Memory(ctx, row.container) // or it is not shown
				return nil
			})
		}
	}
	_ = g.Wait() // never fails
}

// nameStrays names containers of the caller's runs whose record is gone.
func (app *App) nameStrays(view engineView, known map[string]bool) {
	if view.err != nil {
		app.warn(fmt.Sprintf("the engine was not asked for runs without a record: %v", view.err))
		return
	}
	for _, c := range strays(view.containers, known, app.account().UID) {
		if c.Status == "running" {
			app.warn(fmt.Sprintf("container crun-%s runs without a record here: it may belong to another machine's or another XDG_STATE_HOME's runs", c.Run))
			continue
		}
		app.warn(fmt.Sprintf("container crun-%s (%s) has no record here; docker rm crun-%s removes it", c.Run, c.Status, c.Run))
	}
}

// strays are the containers of this user's runs that have no record.
func strays(all []engine.Container, known map[string]bool, uid uint32) []engine.Container {
	var found []engine.Container
	for _, c := range all {
		if c.Run != "" && !known[c.Run] && c.Labels[plan.LabelPrefix+"uid"] == fmt.Sprint(uid) {
			found = append(found, c)
		}
	}
	return found
}

// withOthers gives the rows of --user: the engine's for other people.
func (app *App) withOthers(view engineView, mine []runRow, known map[string]bool, o *psOptions) ([]runRow, error) {
	if view.err != nil {
		return nil, fmt.Errorf("listing other people's runs: %w", view.err)
	}
	uid := o.user
	if uid != "all" {
		if _, err := strconv.ParseUint(uid, 10, 32); err != nil {
			account, err := user.Lookup(uid)
			if err != nil {
				return nil, fmt.Errorf("--user is %q; allowed are the name of a user here, a uid and all", uid)
			}
			uid = account.Uid
		}
	}
	me := fmt.Sprint(app.account().UID)
	rows := []runRow{}
	if uid == "all" || uid == me {
		for _, row := range mine {
			row.User = userName(me)
			rows = append(rows, row)
		}
	}
	for _, c := range view.containers {
		owner := c.Labels[plan.LabelPrefix+"uid"]
		if known[c.Run] || uid != "all" && owner != uid {
			continue
		}
		if row := rowOfContainer(&c, owner); o.filter.matches(&row) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// rowOfContainer is what the labels of another's run tell.
func rowOfContainer(c *engine.Container, uid string) runRow {
	label := func(name string) string { return c.Labels[plan.LabelPrefix+name] }
	row := runRow{
		Name: label("name"), ID: c.Run, User: userName(uid), Profile: label("profile"), Project: label("project"),
		GPUs: label("gpus"), Phase: record.Running, State: c.Status, container: c.ID,
	}
	switch c.Status {
	case "created":
		row.Phase = record.Creating
	case "exited", "dead":
		row.Phase = record.Ended
	}
	row.MemoryLimit, _ = strconv.ParseInt(label("memory"), 10, 64) // 0: none
	return row
}

// userName gives the name of a uid where this machine knows it.
func userName(uid string) string {
	if account, err := user.LookupId(uid); err == nil {
		return account.Username
	}
	return uid
}
