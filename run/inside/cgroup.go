package inside

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crun.dev/crun/internal/mountinfo"
)

// cgroup is where the control files of a process lie, for each controller.
type cgroup struct {
	// Version is that of the memory controller: 1, 2, or 0 where neither can
	// be seen. On a hybrid host version 2 is mounted without controllers.
	Version int
	// dirs has the folders of a controller's group and of all groups above it
	// that can be seen, from the nearest up; for version 2 under "".
	dirs map[string][]string
}

// controllers are those that hold limits of ours or count for a report.
var controllers = []string{"memory", "cpu", "cpuacct", "pids"}

// findCgroup finds the groups of the calling process below root, which is "/"
// outside of tests, from proc/self/cgroup and proc/self/mountinfo. Without a
// cgroup namespace (Docker on version 1) the first has the host's paths, and
// the second says which part of them is mounted here.
func findCgroup(root string) *cgroup {
	c := &cgroup{dirs: map[string][]string{}}
	// Nothing to be read means no cgroup, which Check reports.
	self, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	info, _ := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	mounts := parseMounts(string(info))
	for line := range strings.Lines(string(self)) {
		// 4:memory:/docker/ID and, for version 2, 0::/docker/ID
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		names := strings.Split(fields[1], ",")
		if fields[1] == "" && fields[0] != "0" {
			continue
		}
		for _, name := range names {
			if name == "" || slices.Contains(controllers, name) {
				c.dirs[name] = dirsOf(root, mounts, name, fields[2])
			}
		}
	}
	switch {
	case len(c.dirs["memory"]) > 0:
		c.Version = 1
	case len(c.dirs[""]) > 0:
		c.Version = 2
	}
	return c
}

// find gives the folders of a controller and the version that they are of.
func (c *cgroup) find(controller string) (dirs []string, version int) {
	if dirs := c.dirs[controller]; len(dirs) > 0 {
		return dirs, 1
	}
	return c.dirs[""], 2
}

// dirsOf gives the folder of the group at path in the hierarchy of controller,
// and those above it up to where the hierarchy is mounted.
func dirsOf(root string, mounts []cgroupMount, controller, path string) []string {
	best := ""
	var dirs []string
	for _, mount := range mounts {
		if !mount.has(controller) {
			continue
		}
		top := filepath.Join(root, mount.point)
		rel, inside := strings.CutPrefix(path, strings.TrimSuffix(mount.root, "/"))
		if !inside || rel != "" && rel[0] != '/' || strings.Contains(rel, "..") {
			// The path is another namespace's. What is mounted here is the
			// nearest to the process that can be seen.
			rel = ""
		}
		dir := filepath.Join(top, rel)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			dir = top
		}
		// Of several mounts of a hierarchy the one that shows most of the path.
		if dirs != nil && len(mount.root) >= len(best) {
			continue
		}
		best, dirs = mount.root, nil
		for ; below(dir, top); dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
			if dir == "/" {
				break
			}
		}
	}
	return dirs
}

func below(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// cgroupMount is a mounted hierarchy.
type cgroupMount struct {
	root        string   // the part of the hierarchy that is mounted
	point       string   // where
	controllers []string // of version 1; nil for version 2
}

func (m cgroupMount) has(controller string) bool {
	if controller == "" {
		return m.controllers == nil
	}
	return slices.Contains(m.controllers, controller)
}

// parseMounts gives the cgroup mounts of a mountinfo file.
func parseMounts(text string) []cgroupMount {
	var mounts []cgroupMount
	for _, m := range mountinfo.Parse(text) {
		mount := cgroupMount{root: m.Root, point: m.Point}
		switch m.Kind {
		case "cgroup":
			mount.controllers = m.Options
		case "cgroup2":
		default:
			continue
		}
		mounts = append(mounts, mount)
	}
	return mounts
}
