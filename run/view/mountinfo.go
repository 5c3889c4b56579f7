package view

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// mountPoint is a line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type mountPoint struct {
	path    string
	kind    string   // of the file system: "ext4", "fuse.sshfs"
	options []string // of the file system
}

// mountPoints are this machine's; none where they cannot be read.
func mountPoints() []mountPoint {
	data, _ := os.ReadFile("/proc/self/mountinfo")
	return parseMountinfo(string(data))
}

func parseMountinfo(text string) []mountPoint {
	var points []mountPoint
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		points = append(points, mountPoint{path: unescape(left[4]), kind: right[0], options: strings.Split(right[2], ",")})
	}
	return points
}

// on gives the mount that path lies on: of several on one place the last.
func on(points []mountPoint, path string) mountPoint {
	var best mountPoint
	for _, p := range points {
		if within(path, p.path) && len(p.path) >= len(best.path) {
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
		if p.path != path && within(p.path, path) {
			below = append(below, p.path)
		}
	}
	slices.Sort(below)
	return slices.Compact(below)
}

// unescape undoes the kernel's escapes: a backslash and three octal digits.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
