package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/build/projects"
)

func TestPruneKeeps(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	old := now.Add(-100 * 24 * time.Hour)
	p := open(t, write(t, environmentFile))
	locked := testLock(p)
	if err := lock.Write(p.LockFile, locked); err != nil {
		t.Fatal(err)
	}
	digest := func(letter string) string { return "sha256:" + strings.Repeat(letter, 64) }
	broken := filepath.Join(t.TempDir(), "crun.lock")
	if err := os.WriteFile(broken, []byte("<<<<<<< HEAD\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	prune := &Prune{Now: now, OlderThan: 30 * 24 * time.Hour}
	errs := prune.Remember([]projects.Project{
		{LockFile: p.LockFile, Images: map[string]time.Time{locked.Digest(): old, digest("1"): old, digest("2"): now.Add(-24 * time.Hour)}},
		{LockFile: "/nowhere/crun.lock", Images: map[string]time.Time{digest("3"): old}},
		{LockFile: broken, Images: map[string]time.Time{digest("4"): old}},
	})
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), broken) {
		t.Errorf("the errors are %v", errs)
	}
	image := func(lock string, tags ...string) buildkit.Stored {
		return buildkit.Stored{Created: old, Image: buildkit.Image{Labels: map[string]string{LabelLock: lock}, Tags: tags}}
	}
	used := image(digest("1"))
	used.Containers = []buildkit.Container{{Name: "crun-x", Labels: map[string]string{"dev.crun.name": "night"}}, {Name: "by-hand"}}
	young := image(digest("9"))
	young.Created = now.Add(-time.Hour)
	for name, test := range map[string]struct {
		image  buildkit.Stored
		others bool
		want   string
	}{
		"of a project that moved on":     {image(digest("1"), "crun/a:111111111111"), false, ""},
		"of a project that is gone":      {image(digest("3")), false, ""},
		"that a project locks":           {image(locked.Digest()), true, "locked by " + p.LockFile},
		"of a lock that nobody can read": {image(digest("4")), true, "locked by " + broken},
		"that containers use":            {used, true, "used by run night, container by-hand"},
		"that was run yesterday":         {image(digest("2")), true, "used 1 day ago"},
		"that was just built":            {young, true, "used 1 hour ago"},
		"with a name that was given":     {image(digest("1"), "crun/a:111111111111", "lab/train:v1"), true, "named lab/train:v1"},
		"with one that looks like ours":  {image(digest("1"), "crun/a:latest"), true, "named crun/a:latest"},
		"of somebody else":               {image(digest("8"), "crun/a:888888888888"), false, "not known to be yours"},
		"of somebody else, for all":      {image(digest("8"), "crun/a:888888888888"), true, ""},
	} {
		prune.Others = test.others
		if got := prune.Keep(test.image); got != test.want {
			t.Errorf("an image %s: %q, want %q", name, got, test.want)
		}
	}
}

func TestPruneCache(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	old, young := now.Add(-31*24*time.Hour), now.Add(-29*24*time.Hour)
	records := []buildkit.CacheRecord{
		{ID: "ours", Ours: true, LastUsed: old}, {ID: "young", Ours: true, LastUsed: young}, {ID: "used", Ours: true, LastUsed: old, InUse: true},
		{ID: "shared", Ours: true, LastUsed: old, Shared: true}, {ID: "theirs", LastUsed: old},
	}
	ids := func(records []buildkit.CacheRecord) string {
		var ids []string
		for _, r := range records {
			ids = append(ids, r.ID)
		}
		return strings.Join(ids, " ")
	}
	prune := &Prune{Now: now, OlderThan: 30 * 24 * time.Hour}
	if got := ids(prune.StaleCache(records)); got != "ours" {
		t.Errorf("goes %q", got)
	}
	after := []buildkit.CacheRecord{{ID: "young", Ours: true}, {ID: "shared", Ours: true}, {ID: "new", Ours: true}}
	if got := ids(prune.Freed(records, after)); got != "shared" {
		t.Errorf("behind an image goes %q", got)
	}
	prune.AllCache = true
	if got := ids(prune.StaleCache(records)); got != "ours theirs" {
		t.Errorf("of all goes %q", got)
	}
}
