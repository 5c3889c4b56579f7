package view

import (
	"os"
	"slices"

	"crun.dev/crun/internal/mountinfo"
)

// mountPoints are this machine's; none where they cannot be read.
func mountPoints() []mountinfo.Mount {
	data, _ := os.ReadFile("/proc/self/mountinfo")
	return mountinfo.Parse(string(data))
}

// on gives the mount that path lies on: of several on one place the last.
func on(points []mountinfo.Mount, path string) mountinfo.Mount {
	var best mountinfo.Mount
	for _, p := range points {
		if within(path, p.Point) && len(p.Point) >= len(best.Point) {
			best = p
		}
	}
	return best
}

// Below gives the places below path, which is clean and without links, where
// another file system is mounted. "Read-only" of an engine before Docker 25 is
// the topmost alone.
func Below(path string) []string {
	var below []string
	for _, p := range mountPoints() {
		if p.Point != path && within(p.Point, path) {
			below = append(below, p.Point)
		}
	}
	slices.Sort(below)
	return slices.Compact(below)
}
