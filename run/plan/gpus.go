package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// String gives "2", "all", the ids with commas between, or "none" for nil, as
// the label and --gpus write it.
func (g *GPUs) String() string {
	switch {
	case g == nil:
		return "none"
	case g.All:
		return "all"
	case len(g.IDs) > 0:
		return strings.Join(g.IDs, ",")
	}
	return strconv.Itoa(g.Count)
}

// gpus asks for GPUs, and refuses what the engine cannot give.
func (m *maker) gpus() {
	limit, host := m.req.Limits.GPUs, m.req.Host
	if limit == nil || limit.None {
		return
	}
	if host.Podman && host.GPUDriver == "" {
		m.errorf("%sgpus is set, and Podman's service for Docker's clients starts a run without the NVIDIA GPUs that it is asked for, and says nothing: use Docker for runs with these, or run without (--gpus none)", m.at("gpus"))
		return
	}
	g := &GPUs{Count: limit.Count, All: limit.All, IDs: slices.Clone(limit.IDs), Driver: host.GPUDriver}
	if g.Driver == "" {
		m.errorf("%sgpus is %s, but %s has none that its engine can give: install the GPU's driver and nvidia-container-toolkit there, run 'nvidia-ctk runtime configure' and restart the engine, or run without (--gpus none)",
			m.at("gpus"), g, m.host())
		return
	}
	m.plan.GPUs = g
	if g.Driver == DriverAMD {
		m.amd(g)
		return
	}

	indices, ids := discovered(host.GPUDevices)
	if len(ids) == 0 {
		return // the engine cannot tell; it refuses at the start what is not there
	}
	if len(indices) > 0 && g.Count > len(indices) {
		m.errorf("%sgpus is %d, but %s has %d: ask for at most that (--gpus %d)", m.at("gpus"), g.Count, m.host(), len(indices), len(indices))
	}
	m.named(g, ids)
}

// named refuses ids that are not there, or there twice.
func (m *maker) named(g *GPUs, ids []string) {
	for i, id := range g.IDs {
		switch {
		case !slices.Contains(ids, id):
			m.errorf("%sGPU %q is not on %s, which has %s: name some of these, or a number of GPUs", m.at("gpus"), id, m.host(), strings.Join(ids, ", "))
		case slices.Contains(g.IDs[:i], id):
			m.errorf("%sGPU %q is named twice: name it once", m.at("gpus"), id)
		}
	}
}

// DriverAMD is the driver of GPUs that are given as files: a process can use
// those whose render nodes it can open.
// https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
const DriverAMD = "amd"

// amd chooses the files of AMD's GPUs: the first ones for a number.
func (m *maker) amd(g *GPUs) {
	host := m.req.Host.AMD
	ids := make([]string, len(host.GPUs))
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	if g.Count > len(ids) {
		m.errorf("%sgpus is %d, but %s has %d: ask for at most that (--gpus %d)", m.at("gpus"), g.Count, m.host(), len(ids), len(ids))
		return
	}
	m.named(g, ids)
	chosen := g.IDs
	switch {
	case g.All:
		chosen = ids
	case len(chosen) == 0:
		chosen = ids[:g.Count]
	}
	g.Devices = []string{host.Shared}
	for i, path := range host.GPUs {
		if slices.Contains(chosen, ids[i]) {
			g.Devices = append(g.Devices, path)
		}
	}
	if !m.req.Host.Rootless { // where no group of the host can be given
		g.Groups = slices.Clone(host.Groups)
	}
}

// gpuKinds are the names that CDI has for GPUs. Of a machine with both, runs
// get NVIDIA's.
var gpuKinds = []string{"nvidia.com/gpu", "amd.com/gpu"}

// GPUKind is the name of the GPUs among CDI's devices, or "".
func GPUKind(devices []string) string {
	for _, kind := range gpuKinds {
		if slices.ContainsFunc(devices, func(device string) bool { return strings.HasPrefix(device, kind+"=") }) {
			return kind
		}
	}
	return ""
}

// discovered gives the whole GPUs among CDI's device names by index, and all
// that may be asked for by id. One GPU has several names (index, UUID), and
// "all" is none.
func discovered(devices []string) (indices, ids []string) {
	gpus := GPUKind(devices)
	for _, device := range devices {
		kind, id, ok := strings.Cut(device, "=")
		if !ok || kind != gpus || id == "all" {
			continue
		}
		ids = append(ids, id)
		if _, err := strconv.ParseUint(id, 10, 16); err == nil {
			indices = append(indices, id)
		}
	}
	return indices, ids
}

// network sets what the run can reach, and the ports that reach it.
func (m *maker) network() {
	m.plan.Network = NetworkDefault
	if n := m.req.Limits.Network; n != nil {
		m.plan.Network = *n
	} else {
		m.origin["network"] = "crun's default"
	}
	switch m.plan.Network {
	case NetworkNone, NetworkDefault, NetworkHost:
	default:
		m.errorf("%snetwork is %q: allowed are none, default and host", m.at("network"), m.plan.Network)
	}
	m.plan.Ports = slices.Clone(m.req.Ports)
	for i := range m.plan.Ports {
		port := &m.plan.Ports[i]
		if port.HostIP == "" {
			// Nobody else on a shared machine gets to see a TensorBoard by accident.
			port.HostIP = "127.0.0.1"
		}
		if port.Protocol == "" {
			port.Protocol = "tcp"
		}
		if port.Host < 0 || port.Host > 65535 || port.Container < 1 || port.Container > 65535 {
			m.errorf("port %d:%d is outside 1 to 65535", port.Host, port.Container)
		}
		for _, other := range m.plan.Ports[:i] {
			if port.Host == other.Host && port.Host != 0 && port.Protocol == other.Protocol && sameAddress(port.HostIP, other.HostIP) {
				remedy := ": leave one out"
				if port.Container != other.Container {
					remedy = fmt.Sprintf(", for %d and for %d: name another one (-p %d:%d)", other.Container, port.Container, port.Host+1, port.Container)
				}
				m.errorf("port %d of %s is published twice%s", other.Host, other.HostIP, remedy)
			}
		}
	}
	if len(m.plan.Ports) > 0 && m.plan.Network != NetworkDefault {
		m.errorf("%snetwork is %s, where ports cannot be published: leave out -p, or use --network default", m.at("network"), m.plan.Network)
	}
}

// sameAddress tells whether one socket cannot listen on a where one does on b:
// 0.0.0.0 is all addresses of IPv4, and :: all of IPv6, for an engine listens
// on either by itself.
func sameAddress(a, b string) bool {
	one, err := netip.ParseAddr(a)
	other, otherErr := netip.ParseAddr(b)
	if err != nil || otherErr != nil {
		return a == b
	}
	one, other = one.Unmap(), other.Unmap()
	return one == other || one.Is4() == other.Is4() && (one.IsUnspecified() || other.IsUnspecified())
}
