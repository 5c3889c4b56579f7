package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"crun.dev/crun/build"
	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/internal/lazyregexp"
)

func newLockDiffCmd(app *App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "diff [A] [B]",
		Short: "Show what differs between two locks or images",
		Long: `Show in a table what differs between two locks: packages, base image, channels.
A and B are each one of

  a file or folder    crun.lock, or an environment file or folder whose lock is meant
  REVISION:FILE.lock  the lock as git has it: HEAD:crun.lock, v1.2:./gpu.crun.lock
  an image            by name or id; crun build puts the lock into its images

Where a file has packages for several platforms, those that both have are compared.

B is the lock of the working directory where it is left out, and A what git has
of that lock in HEAD. The exit code is 0 whether they differ or not.`,
		Example: `  crun lock diff
  crun lock diff v1.2:crun.lock
  crun lock diff crun/spirals:0def3bf3f2cb
  crun lock diff environment.yml gpu.yml -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return usagef(cmd, "%s compares two locks, not %d", cmd.CommandPath(), len(args))
			}
			return checkOutput(cmd, output)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.lockDiff(cmd.Context(), args, output)
		},
	}
	addOutputFlag(cmd, &output)
	return cmd
}

func (app *App) lockDiff(ctx context.Context, args []string, output string) error {
	b := "."
	if len(args) == 2 {
		b = args[1]
	}
	now, nowName, err := app.readLock(ctx, b)
	if err != nil {
		return err
	}
	var a string
	if len(args) > 0 {
		a = args[0]
	} else {
		a = "HEAD:./" + filepath.Base(nowName)
	}
	old, oldName, err := app.readLock(ctx, a)
	if err != nil {
		return err
	}
	changes := app.diffPlatforms(old, now, oldName, nowName)
	if output == "json" {
		return app.printJSON(map[string]any{"old": oldName, "new": nowName, "changes": changes})
	}
	if len(changes) == 0 {
		app.note("%s and %s name the same packages", oldName, nowName)
	}
	return writeChanges(app.Out, changes)
}

// diffPlatforms compares what both have packages for; two locks of one platform
// each in any case.
func (app *App) diffPlatforms(old, now []*lock.Lock, oldName, nowName string) []lock.Change {
	if len(old) == 1 && len(now) == 1 {
		return append([]lock.Change{}, lock.Diff(old[0], now[0])...)
	}
	changes := []lock.Change{}
	for _, l := range now {
		before := lock.Of(old, l.Platform)
		if before == nil {
			app.note("%s has no packages for %s", oldName, l.Platform)
			continue
		}
		for _, change := range lock.Diff(before, l) {
			change.Platform = l.Platform
			changes = append(changes, change)
		}
	}
	for _, l := range old {
		if lock.Of(now, l.Platform) == nil {
			app.note("%s has no packages for %s", nowName, l.Platform)
		}
	}
	return changes
}

// gitLock is a lock of a revision: never an option to git, and no image, for
// no tag ends so.
var gitLock = lazyregexp.New(`^([^-:][^:]*):([^:]*\.lock)$`)

// readLock reads the lock that name stands for, of each platform that it has,
// and says what it was.
func (app *App) readLock(ctx context.Context, name string) ([]*lock.Lock, string, error) {
	path := app.rel(name)
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() || !strings.HasSuffix(path, ".lock") {
			file, err := build.FindFile(path)
			if err != nil {
				return nil, "", err
			}
			path = build.LockFile(file)
		}
		locks, err := build.ReadLocks(path)
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("there is no %s: crun lock makes it", path)
		}
		return locks, path, err
	}
	if m := gitLock.FindStringSubmatch(name); m != nil {
		data, err := app.gitShow(ctx, m[1], m[2])
		if err != nil {
			return nil, "", err
		}
		locks, err := lock.ParseFile(data, name)
		return locks, name, err
	}
	if strings.ContainsRune(name, os.PathSeparator) && strings.HasSuffix(name, ".lock") {
		return nil, "", fmt.Errorf("%s: there is no such file", name)
	}
	cfg, err := config.Load(app.Getenv)
	if err != nil {
		return nil, "", err
	}
	engine, err := app.buildEngine(cfg)
	if err != nil {
		return nil, "", err
	}
	defer engine.Close()
	l, err := build.ImageLock(ctx, engine, name)
	if errors.Is(err, buildkit.ErrNoImage) {
		err = fmt.Errorf("%s: there is no such file, and the engine has no such image", name)
	}
	return []*lock.Lock{l}, name, err
}

// gitShow gives a file as a revision has it, by its path from the working
// directory, with ./ before it or not.
func (app *App) gitShow(ctx context.Context, revision, file string) ([]byte, error) {
	var errs bytes.Buffer
	git := exec.CommandContext(ctx, "git", "show", revision+":./"+strings.TrimPrefix(file, "./"))
	git.Dir, git.Stderr = app.Dir, &errs
	data, err := git.Output()
	if err == nil {
		return data, nil
	}
	said, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
	if said == "" {
		said = err.Error()
	}
	said = strings.TrimSuffix(strings.TrimPrefix(said, "fatal: "), ".")
	if revision == "HEAD" && strings.HasPrefix(said, "invalid object name") {
		said = "there is no commit yet"
	}
	return nil, fmt.Errorf("%s:%s cannot be read from git (%s): name a lock, an environment file or an image to compare with", revision, file, said)
}
