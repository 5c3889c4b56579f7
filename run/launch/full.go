package launch

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
)

// fullPlaces says which places were full when a run ended badly: most programs
// say "No space left on device" and not where.
func (o *Owner) fullPlaces(c *inside.Counters) (full []string) {
	if c != nil {
		for _, place := range []struct {
			path, flag string
			used       *int64
		}{{plan.TmpPath, "--tmpdir SIZE", c.TmpUsed}, {plan.ShmPath, "--shm-size SIZE", c.ShmUsed}} {
			size, ok := o.plan.TmpfsSize(place.path)
			if ok && place.used != nil && *place.used >= size-size/32 {
				full = append(full, fmt.Sprintf("%s was full (%s of %s); more is %s", place.path, plan.FormatBytes(*place.used), plan.FormatBytes(size), place.flag))
			}
		}
	}
	if !o.Share {
		return full
	}
	var disks []disk
	for _, place := range []struct{ what, path string }{
		{"the project", o.plan.Project}, {"the run's home", o.plan.Account.Home}, {"the run's tmpdir", o.plan.Scratch},
	} {
		var s unix.Statfs_t
		if place.path == "" || unix.Statfs(place.path, &s) != nil || s.Blocks == 0 {
			continue
		}
		name := fmt.Sprintf("%s (%s)", place.what, place.path)
		if i := slices.IndexFunc(disks, func(d disk) bool { return d.Fsid == s.Fsid }); i >= 0 {
			disks[i].places += " and " + name
			continue
		}
		disks = append(disks, disk{s, name})
	}
	for _, d := range disks {
		// Bavail is what is left for everybody; root may have some more.
		if free := int64(d.Bavail) * d.Bsize; free < fullAt {
			full = append(full, fmt.Sprintf("the disk of %s was full, %s free: make room there", d.places, plan.FormatBytes(free)))
		} else if d.Files > 0 && d.Ffree == 0 {
			full = append(full, fmt.Sprintf("the disk of %s had no inodes left: remove small files there", d.places))
		}
	}
	return full
}

// fullAt is less than what any program writes at once.
const fullAt = 1 << 20

// disk is a file system, with what of a run lies on it.
type disk struct {
	unix.Statfs_t
	places string
}
