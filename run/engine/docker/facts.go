package docker

import (
	"context"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"

	"crun.dev/crun/internal/endpoint"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

// Facts tells what the engine and its host are and can do. It asks once.
func (e *Engine) Facts(ctx context.Context) (engine.Facts, error) {
	if err := e.connect(ctx); err != nil {
		return engine.Facts{}, err
	}
	e.factsMu.Lock()
	defer e.factsMu.Unlock()
	if e.facts != nil {
		return *e.facts, nil
	}
	info, err := e.api.Info(ctx)
	var version types.Version
	// Docker names its containerd (or N/A). Podman does not, and only its
	// version says that it is Podman. Docker starts three programs for either
	// answer, so it is asked for one.
	if err == nil && info.ContainerdCommit.ID == "" {
		version, err = e.api.ServerVersion(ctx)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return engine.Facts{}, ctx.Err() // the client has made words of it
	case err != nil:
		return engine.Facts{}, e.explain(err, subject{})
	}
	if isPodman(version) && !slices.Contains(info.SecurityOptions, "rootless") {
		rootless, err := e.rootlessPodman(ctx)
		if err != nil {
			return engine.Facts{}, e.explain(err, subject{})
		}
		if rootless {
			info.SecurityOptions = append(info.SecurityOptions, "rootless")
		}
	}
	hostname, _ := os.Hostname() // "" is no engine's name, so all count as remote
	facts := factsOf(e.ep, info, version, e.api.ClientVersion(), hostname)
	if !facts.Remote {
		facts.addLocal(e.ep, info, machine{})
	}
	e.facts = &facts.Facts
	e.rootless.Store(facts.Rootless)
	return facts.Facts, nil
}

type localFacts struct{ engine.Facts }

// factsOf reads what the engine says of itself. It is pure.
func factsOf(ep endpoint.Endpoint, info system.Info, version types.Version, api, hostname string) localFacts {
	f := engine.Facts{
		Endpoint:       ep.Host,
		Name:           "Docker Engine",
		Version:        info.ServerVersion,
		APIVersion:     api,
		Arch:           arch(info.Architecture),
		CPUs:           info.NCPU,
		Memory:         info.MemTotal,
		Swap:           -1,
		CgroupVersion:  1,
		CgroupDriver:   info.CgroupDriver,
		SwapLimit:      info.SwapLimit,
		DefaultRuntime: info.DefaultRuntime,
		DataRoot:       info.DockerRootDir,
		Runtimes:       slices.Sorted(maps.Keys(info.Runtimes)),
		StorageDriver:  info.Driver,
		LogDriver:      info.LoggingDriver,
		LiveRestore:    info.LiveRestoreEnabled,
		Time:           when(info.SystemTime),
	}
	if n, err := strconv.Atoi(info.CgroupVersion); err == nil {
		f.CgroupVersion = n
	}
	// The socket may be forwarded (ssh -L), or crun may run in a container
	// that has it mounted: in both the engine's files are not ours. Docker
	// Desktop is a machine of its own too, but one that shares our files.
	f.Remote = ep.Remote || info.Name != hostname && info.OperatingSystem != "Docker Desktop"
	for _, option := range info.SecurityOptions {
		if strings.HasPrefix(option, "name=rootless") || option == "rootless" {
			f.Rootless = true
		}
		if strings.HasPrefix(option, "name=selinux") {
			f.SELinux = true
		}
	}
	f.CannotLimit = cannotLimit(info, f.Rootless && f.CgroupVersion == 1)
	for _, status := range info.DriverStatus {
		if status == [2]string{"driver-type", "io.containerd.snapshotter.v1"} {
			f.ContainerdStore = true
		}
	}
	if i := slices.IndexFunc(version.Components, ofPodman); i >= 0 {
		f.Name, f.Version = "Podman", version.Components[i].Version
	}
	for _, device := range info.DiscoveredDevices {
		if device.Source == "cdi" {
			f.GPUDevices = append(f.GPUDevices, device.ID)
		}
	}
	if _, nvidia := info.Runtimes["nvidia"]; f.Name != "Podman" {
		setGPUs(&f, nvidia)
	}
	return localFacts{f}
}

func isPodman(version types.Version) bool { return slices.ContainsFunc(version.Components, ofPodman) }

func ofPodman(c types.ComponentVersion) bool { return strings.HasPrefix(c.Name, "Podman") }

// cannotLimit names the ceilings that an engine does not hold: it takes them,
// with a warning, and starts the container without them. Below a rootless
// engine version 1 of cgroups holds none, though Podman names its kernel's.
func cannotLimit(info system.Info, none bool) (fields []string) {
	for _, limit := range []struct {
		field string
		holds bool
	}{
		{"memory", info.MemoryLimit}, {"cpus", info.CPUCfsQuota && info.CPUCfsPeriod}, {"cpuset", info.CPUSet}, {"pids", info.PidsLimit},
	} {
		if none || !limit.holds {
			fields = append(fields, limit.field)
		}
	}
	return fields
}

// setGPUs sorts the devices and chooses the driver: CDI where its devices are
// known, for there nothing else has to be set up; else nvidia's where its
// runtime shows that its toolkit is.
func setGPUs(f *engine.Facts, nvidia bool) {
	slices.Sort(f.GPUDevices)
	f.GPUDevices = slices.Compact(f.GPUDevices)
	switch {
	case plan.GPUKind(f.GPUDevices) != "":
		f.GPUDriver = "cdi"
	case nvidia:
		f.GPUDriver = "nvidia"
	}
}

// addLocal adds what the engine does not say and its machine, which is ours,
// does.
func (f *localFacts) addLocal(ep endpoint.Endpoint, info system.Info, m machine) {
	f.addLimits(ep, m)
	if f.Name != "Podman" { // which drops such requests without a word
		f.addNVIDIA(info, m)
	}
	if f.GPUDriver == "" {
		if f.AMD = m.amd(); f.AMD != nil {
			f.GPUDriver = plan.DriverAMD
		}
	}
}

func (f *localFacts) addNVIDIA(info system.Info, m machine) {
	if f.GPUDriver != "" {
		return
	}
	// Before 28.2 an engine with CDI does not tell its devices, and an engine
	// never tells that it found nvidia's hook when it started.
	if len(f.GPUDevices) == 0 {
		f.GPUDevices = m.cdiDevices(info.CDISpecDirs)
	}
	setGPUs(&f.Facts, m.nvidiaHook())
}

// arch gives the architecture as images name it.
func arch(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return machine
}

// addLimits adds what may be another thing at each run.
func (f *localFacts) addLimits(ep endpoint.Endpoint, m machine) {
	f.Swap = m.memory("SwapTotal")
	if u, err := url.Parse(ep.Host); err == nil && u.Scheme == "unix" {
		f.MaxRlimits = m.maxRlimits(strings.TrimPrefix(ep.Host, "unix://"), f.Rootless)
		if f.Name != "Podman" { // which alone sets it where nobody asks
			delete(f.MaxRlimits, "nproc")
		}
	}
}
