// Package topology reads how this machine's CPUs belong together from /sys.
package topology

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Core is a physical core.
type Core struct {
	// CPUs are its hardware threads, as Linux numbers them, in order.
	CPUs []int
	// Node is the NUMA node that it is on; 0 where the machine has none.
	Node int
}

const cpuDir, nodeDir = "sys/devices/system/cpu", "sys/devices/system/node"

// Lock is the folder that processes take their turn at who choose CPUs.
const Lock = "/" + cpuDir

// Cores gives the cores that are online, by their first CPU, without the CPUs
// that the kernel's command line takes from the scheduler (isolcpus), which
// would not be balanced on. It is nil where /sys does not tell. root is "/"
// outside of tests.
func Cores(root string) []Core {
	isolated := list(filepath.Join(root, cpuDir, "isolated"))
	nodes := map[int]int{}
	// The patterns are fixed: no error.
	folders, _ := filepath.Glob(filepath.Join(root, nodeDir, "node[0-9]*"))
	for _, folder := range folders {
		node, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(folder), "node"))
		if err != nil {
			continue
		}
		for _, cpu := range list(filepath.Join(folder, "cpulist")) {
			nodes[cpu] = node
		}
	}
	online := list(filepath.Join(root, cpuDir, "online"))
	seen := map[int]bool{}
	var cores []Core
	for _, cpu := range online {
		if seen[cpu] || slices.Contains(isolated, cpu) {
			continue
		}
		siblings := list(filepath.Join(root, cpuDir, "cpu"+strconv.Itoa(cpu), "topology/thread_siblings_list"))
		if !slices.Contains(siblings, cpu) {
			siblings = []int{cpu}
		}
		core := Core{Node: nodes[cpu]}
		for _, sibling := range siblings {
			if seen[sibling] = true; slices.Contains(online, sibling) && !slices.Contains(isolated, sibling) {
				core.CPUs = append(core.CPUs, sibling)
			}
		}
		cores = append(cores, core)
	}
	return cores
}

// NodeOf gives the NUMA node of a PCI device by its address as nvidia-smi
// writes it ("00000000:07:00.0"), -1 where nobody knows.
func NodeOf(root, address string) int {
	// /sys has four digits of the domain, in lower case.
	domain, rest, ok := strings.Cut(strings.ToLower(address), ":")
	if !ok || strings.ContainsAny(address, "/\\") {
		return -1
	}
	n, err := strconv.ParseUint(domain, 16, 32)
	if err != nil {
		return -1
	}
	domain = strconv.FormatUint(n, 16)
	domain = strings.Repeat("0", max(0, 4-len(domain))) + domain
	node, err := strconv.Atoi(text(filepath.Join(root, "sys/bus/pci/devices", domain+":"+rest, "numa_node")))
	if err != nil {
		return -1
	}
	return node
}

func text(path string) string {
	data, _ := os.ReadFile(path) // what is not there is not known
	return strings.TrimSpace(string(data))
}

// list reads a file in the kernel's list format ("0-3,8"), in order; nil where
// it is not there, or empty.
func list(path string) (cpus []int) {
	for part := range strings.SplitSeq(text(path), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 16)
		to, err2 := strconv.ParseUint(last, 10, 16)
		if err1 != nil || err2 != nil {
			return nil
		}
		for n := from; n <= to; n++ {
			cpus = append(cpus, int(n))
		}
	}
	slices.Sort(cpus)
	return cpus
}
