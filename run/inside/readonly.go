package inside

import (
	"slices"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/plan"
)

// readOnlyMounts are the places of a plan that nothing may be written to.
func readOnlyMounts(p *plan.Plan) (paths []string) {
	if p.ReadOnly() {
		paths = append(paths, "/")
	}
	for _, mount := range p.Spec.Mounts {
		if mount.Type == "bind" && slices.Contains(mount.Options, "ro") {
			paths = append(paths, mount.Destination)
		}
	}
	return paths
}

// writable gives those of paths whose mount can be written to. What the plan
// mounts below a folder of data is among its own paths.
func writable(paths []string) (found []string) {
	for _, path := range paths {
		var s unix.Statfs_t
		if unix.Statfs(path, &s) == nil && s.Flags&unix.ST_RDONLY == 0 {
			found = append(found, path)
		}
	}
	return found
}
