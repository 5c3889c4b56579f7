// Package mountinfo reads the kernel's list of mounts.
package mountinfo

import (
	"strconv"
	"strings"
)

// Mount is a line of /proc/PID/mountinfo (proc_pid_mountinfo(5)).
type Mount struct {
	Root    string   // of the mount within its file system
	Point   string   // where it is mounted
	Kind    string   // of the file system: "ext4", "cgroup2", "fuse.sshfs"
	Options []string // of the file system
}

// Parse gives the mounts of a mountinfo file: id, parent, device, root, mount
// point, options, optional fields, "-", type, source, options of the file
// system. Lines of another form are left out.
func Parse(text string) []Mount {
	var mounts []Mount
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		mounts = append(mounts, Mount{Root: unescape(left[3]), Point: unescape(left[4]), Kind: right[0], Options: strings.Split(right[2], ",")})
	}
	return mounts
}

// unescape undoes the kernel's escapes of space, tab, newline and backslash: a
// backslash and three octal digits.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
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
