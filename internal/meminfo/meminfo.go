// Package meminfo reads the kernel's account of memory.
package meminfo

import (
	"strconv"
	"strings"
)

// Value gives a value of the text of /proc/meminfo (proc_meminfo(5)) in bytes,
// or -1 where there is none of that name.
func Value(text, name string) int64 {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name+":")
		if !ok {
			continue
		}
		if kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err == nil {
			return kib << 10
		}
	}
	return -1
}
