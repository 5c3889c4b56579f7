package plan

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ranksOf gives how many processes torchrun starts here by command, from 1:
// each of them has the threads of a whole program, and the cores are theirs
// together. It knows torchrun and python -m torch.distributed.run (and launch,
// its older name).
func (m *maker) ranksOf(command []string) int {
	rest, ok := torchrunArgs(command)
	if !ok {
		return 1
	}
	// As torchrun reads it: "gpu" and "cpu" are what the program finds, "auto"
	// is the first of the two that is there.
	value := nprocPerNode(rest)
	if n, err := strconv.Atoi(value); err == nil {
		return max(1, n)
	}
	gpus := m.gpuCount()
	switch {
	case (value == "gpu" || value == "auto") && m.plan.GPUs != nil:
		return max(1, gpus)
	case value == "cpu" || value == "auto":
		return max(1, m.cores)
	}
	return 1
}

// torchrunArgs gives the arguments of torchrun, where command starts it.
func torchrunArgs(command []string) (rest []string, ok bool) {
	if len(command) == 0 {
		return nil, false
	}
	program := filepath.Base(command[0])
	if program == "torchrun" {
		return command[1:], true
	}
	if !strings.HasPrefix(program, "python") {
		return nil, false
	}
	i := slices.Index(command, "-m")
	if i < 0 || i+1 == len(command) || slices.ContainsFunc(command[1:i], func(s string) bool { return !strings.HasPrefix(s, "-") }) {
		return nil, false
	}
	switch command[i+1] {
	case "torch.distributed.run", "torch.distributed.launch":
		return command[i+2:], true
	}
	return nil, false
}

// nprocPerNode finds the option in torchrun's arguments, or gives "1", its
// default. What stands behind the script is the script's.
func nprocPerNode(args []string) string {
	for i, arg := range args {
		if strings.HasSuffix(arg, ".py") || arg == "-m" || arg == "--module" || arg == "--" {
			break
		}
		name, value, given := strings.Cut(arg, "=")
		if strings.ReplaceAll(name, "-", "_") != "__nproc_per_node" {
			continue
		}
		if !given && i+1 < len(args) {
			value = args[i+1]
		}
		return value
	}
	return "1"
}

// gpuCount gives how many GPUs the run gets, 0 where nobody knows or none.
func (m *maker) gpuCount() int {
	g := m.plan.GPUs
	switch {
	case g == nil:
		return 0
	case g.All:
		indices, _ := discovered(m.req.Host.GPUDevices)
		return len(indices)
	case len(g.IDs) > 0:
		return len(g.IDs)
	}
	return g.Count
}
