package docker

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"

	"crun.dev/crun/run/plan"
)

// deviceRequest asks for GPUs. Driver nvidia takes a number; CDI knows names
// alone, so that a number is the first ones that the engine has.
func deviceRequest(g *plan.GPUs, env, devices []string) (container.DeviceRequest, error) {
	switch g.Driver {
	case "nvidia":
		request := container.DeviceRequest{Driver: "nvidia", DeviceIDs: slices.Clone(g.IDs), Capabilities: [][]string{{"gpu", "compute", "utility"}}}
		// With "gpu" alone the capabilities are those of the environment; the
		// others are what torch and nvidia-smi need where nobody sets them.
		if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "NVIDIA_DRIVER_CAPABILITIES=") }) {
			request.Capabilities = [][]string{{"gpu"}}
		}
		switch {
		case g.All:
			request.Count = -1
		case len(g.IDs) == 0:
			request.Count = g.Count
		}
		return request, nil
	case "cdi":
		names := slices.Clone(g.IDs)
		switch {
		case g.All:
			names = []string{"all"}
		case len(names) == 0:
			whole := wholeGPUs(devices)
			if g.Count > len(whole) {
				return container.DeviceRequest{}, fmt.Errorf("%d GPUs are asked for, and the engine knows %d by CDI: ask for at most that, or write the devices anew with \"nvidia-ctk cdi generate\"", g.Count, len(whole))
			}
			names = whole[:g.Count]
		}
		kind := cmp.Or(plan.GPUKind(devices), gpuKind)
		for i, name := range names {
			if !strings.Contains(name, "=") {
				names[i] = kind + "=" + name
			}
		}
		return container.DeviceRequest{Driver: "cdi", DeviceIDs: names}, nil
	}
	return container.DeviceRequest{}, fmt.Errorf("GPU driver %q is not known: allowed are nvidia, cdi and amd", g.Driver)
}

// wholeGPUs gives the GPUs among the engine's CDI devices by index: each has a
// name by UUID as well, and "all" is none of them.
func wholeGPUs(devices []string) []string {
	kind := plan.GPUKind(devices)
	var indices []int
	for _, device := range devices {
		if id, ok := strings.CutPrefix(device, kind+"="); ok {
			if n, err := strconv.Atoi(id); err == nil && n >= 0 {
				indices = append(indices, n)
			}
		}
	}
	slices.Sort(indices)
	var names []string
	for _, n := range slices.Compact(indices) {
		names = append(names, strconv.Itoa(n))
	}
	return names
}
