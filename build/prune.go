package build

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/projects"
)

// Prune decides what is removed of images and build caches. It removes nothing
// itself.
type Prune struct {
	// Now is the time, OlderThan how long something has to lie unused.
	Now       time.Time
	OlderThan time.Duration
	// Others takes in the images that the caller has not built or used, as far
	// as anybody remembers: other users' on a shared machine.
	Others bool
	// AllCache takes in the records of the build cache that do not say that
	// they are crun's.
	AllCache bool

	// used has when an image was last used here, locked the files that name it
	// now, both by the digest of its lock.
	used   map[string]time.Time
	locked map[string][]string
}

// Remember takes in what is known of the caller's projects. The errors say
// which locks cannot be read: the images that those projects have used stay.
func (p *Prune) Remember(known []projects.Project) []error {
	p.used, p.locked = map[string]time.Time{}, map[string][]string{}
	var errs []error
	for _, project := range known {
		for digest, used := range project.Images {
			if used.After(p.used[digest]) {
				p.used[digest] = used
			}
		}
		locked, err := project.Locked()
		if err != nil {
			errs = append(errs, fmt.Errorf("%w; all images of that project are kept", err))
			for digest := range project.Images {
				p.locked[digest] = append(p.locked[digest], project.LockFile)
			}
		}
		for _, digest := range locked {
			p.locked[digest] = append(p.locked[digest], project.LockFile)
		}
	}
	return errs
}

// Locked are the lock files that name the image now.
func (p *Prune) Locked(img buildkit.Stored) []string { return p.locked[img.Labels[LabelLock]] }

// LastUsed is when the image was last built or taken, as far as is known.
func (p *Prune) LastUsed(img buildkit.Stored) time.Time {
	if used := p.used[img.Labels[LabelLock]]; used.After(img.Created) {
		return used
	}
	return img.Created
}

// Keep says why an image stays, in a few words, or "" where it goes.
func (p *Prune) Keep(img buildkit.Stored) string {
	_, mine := p.used[img.Labels[LabelLock]]
	switch locked := p.Locked(img); {
	case len(img.Containers) > 0:
		return "used by " + strings.Join(Users(img), ", ")
	case len(locked) > 0:
		return "locked by " + strings.Join(locked, ", ")
	case len(given(img)) > 0:
		return "named " + strings.Join(given(img), ", ")
	case p.Now.Sub(p.LastUsed(img)) < p.OlderThan:
		return "used " + Ago(p.Now.Sub(p.LastUsed(img)))
	case !mine && !p.Others:
		return "not known to be yours"
	}
	return ""
}

// Users names the containers of an image, runs by their own names.
func Users(img buildkit.Stored) []string {
	var names []string
	for _, c := range img.Containers {
		if name := c.Labels["dev.crun.name"]; name != "" {
			names = append(names, "run "+name)
		} else {
			names = append(names, "container "+c.Name)
		}
	}
	return names
}

// given are the names that a person gave the image: those that are not crun's.
func given(img buildkit.Stored) []string {
	lock12 := strings.TrimPrefix(img.Labels[LabelLock], "sha256:")
	return slices.DeleteFunc(slices.Clone(img.Tags), func(tag string) bool {
		_, version, _ := strings.Cut(path.Base(tag), ":")
		return strings.HasPrefix(tag, "crun/") && version != "" && strings.HasPrefix(lock12, version)
	})
}

// StaleCache gives the records of the build cache that go.
func (p *Prune) StaleCache(records []buildkit.CacheRecord) []buildkit.CacheRecord {
	var stale []buildkit.CacheRecord
	for _, r := range records {
		// Giving up what an image has too frees nothing.
		if (r.Ours || p.AllCache) && !r.InUse && !r.Shared && p.Now.Sub(r.LastUsed) >= p.OlderThan {
			stale = append(stale, r)
		}
	}
	return stale
}

// Freed gives the records of now that images shared with the cache before: with
// the images gone, they take the same space again.
func (p *Prune) Freed(before, now []buildkit.CacheRecord) []buildkit.CacheRecord {
	shared := map[string]bool{}
	for _, r := range before {
		shared[r.ID] = r.Shared
	}
	return slices.DeleteFunc(slices.Clone(now), func(r buildkit.CacheRecord) bool {
		return !shared[r.ID] || r.Shared || r.InUse || !r.Ours && !p.AllCache
	})
}

// Ago is how long something is past, roughly: "3 days ago".
func Ago(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{365 * 24 * time.Hour, "year"}, {30 * 24 * time.Hour, "month"}, {7 * 24 * time.Hour, "week"}, {24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := int(d / unit.size); n == 1 {
			return "1 " + unit.name + " ago"
		} else if n > 1 {
			return fmt.Sprintf("%d %ss ago", n, unit.name)
		}
	}
	return "just now"
}
