package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU bounds the numbers of a CPU list: Linux has at most 8192 CPUs.
const maxCPU = 8192

// ParseCPUSet reads a list of CPUs as the kernel writes it ("0-3,8") into
// numbers in ascending order, each once. An empty list is an error.
func ParseCPUSet(list string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 16)
		to, err2 := strconv.ParseUint(last, 10, 16)
		if err1 != nil || err2 != nil || from > to || to >= maxCPU {
			return nil, fmt.Errorf("cpuset %q is no list of CPUs: write numbers and ranges as in \"0-3,8\"", list)
		}
		for n := from; n <= to; n++ {
			cpus = append(cpus, int(n))
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

// FormatCPUSet writes numbers in ascending order as the kernel does.
func FormatCPUSet(cpus []int) string {
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}
