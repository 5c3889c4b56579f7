package docker

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/go-connections/nat"
	"github.com/docker/go-units"
	"github.com/opencontainers/runtime-spec/specs-go"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
)

// stopSpare is what an engine that shuts down waits longer than the plan's
// grace: init has its counters to write.
const stopSpare = 5 * time.Second

// containerConfig gives p in the engine's words. It is pure. withInit says
// that the init is among the files; gpuDevices are the engine's CDI devices,
// which a number of GPUs is taken from.
func containerConfig(p *plan.Plan, secrets map[string]string, withInit bool, gpuDevices []string) (*container.Config, *container.HostConfig, error) {
	process := p.Spec.Process
	if process == nil || len(process.Args) == 0 {
		return nil, nil, fmt.Errorf("plan of run %s has no command", p.ID)
	}
	env := slices.Clone(process.Env)
	for _, name := range slices.Sorted(slices.Values(p.SecretEnv)) {
		value, ok := secrets[name]
		if !ok {
			return nil, nil, fmt.Errorf("the value of %s, which the plan of run %s names, was not given", name, p.ID)
		}
		env = append(env, name+"="+value)
	}
	user := process.User
	stop := int((time.Duration(p.Grace) + stopSpare + time.Second - 1) / time.Second)
	config := &container.Config{
		Hostname:     p.Spec.Hostname,
		User:         fmt.Sprintf("%d:%d", user.UID, user.GID),
		AttachStdin:  p.Interactive,
		AttachStdout: true,
		AttachStderr: true,
		OpenStdin:    p.Interactive,
		// The one who attaches is the caller: when he closes stdin it ends.
		StdinOnce:   p.Interactive,
		Tty:         process.Terminal,
		Env:         env,
		Entrypoint:  process.Args[:1],
		Cmd:         process.Args[1:],
		Image:       or(p.Image.ID, p.Image.Ref),
		WorkingDir:  process.Cwd,
		Labels:      maps.Clone(p.Spec.Annotations),
		StopSignal:  "SIGTERM",
		StopTimeout: &stop,
		// An image's health check would run beside the command, in its limits.
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	if withInit {
		line := inside.Command(process.Args)
		// Two words, so that "docker ps" shows what runs, and not only init.
		config.Entrypoint, config.Cmd = line[:2], line[2:]
	}

	noInit := false
	host := &container.HostConfig{
		NetworkMode: container.NetworkMode(or(p.Network, plan.NetworkDefault)),
		Init:        &noInit,

		ReadonlyRootfs: p.ReadOnly(),
		LogConfig:      logConfig(p.Log),
	}
	if process.OOMScoreAdj != nil {
		host.OomScoreAdj = *process.OOMScoreAdj
	}
	for _, gid := range user.AdditionalGids {
		host.GroupAdd = append(host.GroupAdd, strconv.FormatUint(uint64(gid), 10))
	}
	if p.Spec.Linux != nil && p.Spec.Linux.Resources != nil {
		setResources(&host.Resources, p.Spec.Linux.Resources)
	}
	for _, r := range process.Rlimits {
		host.Ulimits = append(host.Ulimits, &units.Ulimit{
			Name: strings.ToLower(strings.TrimPrefix(r.Type, "RLIMIT_")),
			// RLIM_INFINITY becomes -1, which is what the engine calls it.
			Soft: int64(r.Soft), Hard: int64(r.Hard),
		})
	}
	if err := setMounts(host, p); err != nil {
		return nil, nil, fmt.Errorf("plan of run %s: %w", p.ID, err)
	}
	config.ExposedPorts, host.PortBindings = ports(p.Ports)
	switch {
	case p.GPUs == nil:
	case p.GPUs.Driver == plan.DriverAMD:
		for _, path := range p.GPUs.Devices {
			host.Devices = append(host.Devices, container.DeviceMapping{PathOnHost: path, PathInContainer: path, CgroupPermissions: "rw"})
		}
	default:
		request, err := deviceRequest(p.GPUs, process.Env, gpuDevices)
		if err != nil {
			return nil, nil, err
		}
		host.DeviceRequests = []container.DeviceRequest{request}
	}
	return config, host, nil
}

// or is the first that is not empty.
func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// setResources carries the ceilings over. What is nil is not asked for.
func setResources(to *container.Resources, from *specs.LinuxResources) {
	if m := from.Memory; m != nil {
		to.Memory, to.MemorySwap, to.MemoryReservation = deref(m.Limit), deref(m.Swap), deref(m.Reservation)
	}
	if c := from.CPU; c != nil {
		to.CpusetCpus, to.CpusetMems = c.Cpus, c.Mems
		if c.Quota != nil && c.Period != nil && *c.Period > 0 {
			setCPUs(to, *c.Quota, int64(*c.Period))
		}
	}
	if from.Pids != nil {
		to.PidsLimit = from.Pids.Limit
	}
}

// setCPUs prefers the number of CPUs, which the engine checks against its
// host; it always makes it a quota in 100 ms.
func setCPUs(to *container.Resources, quota, period int64) {
	if period == 100_000 && quota > 0 && quota <= math.MaxInt64/10_000 {
		to.NanoCPUs = quota * 10_000
		return
	}
	to.CPUQuota, to.CPUPeriod = quota, period
}

func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// setMounts carries the mounts over: binds and volumes as the API's mounts, a
// tmpfs by the older way, since 20.10 ignores the options of the newer one.
// /dev/shm is a setting of its own.
func setMounts(host *container.HostConfig, p *plan.Plan) error {
	for _, m := range p.Spec.Mounts {
		switch {
		case m.Type == "tmpfs" && m.Destination == plan.ShmPath:
			size, ok := p.TmpfsSize(plan.ShmPath)
			if !ok || size <= 0 {
				return fmt.Errorf("the tmpfs on %s has no size in bytes among its options %q", plan.ShmPath, m.Options)
			}
			host.ShmSize = size
		case m.Type == "tmpfs":
			if host.Tmpfs == nil {
				host.Tmpfs = map[string]string{}
			}
			host.Tmpfs[m.Destination] = tmpfsOptions(m.Options)
		case m.Type == "bind" || m.Type == "volume":
			bind, err := bindMount(m)
			if err != nil {
				return err
			}
			host.Mounts = append(host.Mounts, bind)
		default:
			return fmt.Errorf("a mount of type %q on %s is not supported on Docker: allowed are bind, tmpfs and volume", m.Type, m.Destination)
		}
	}
	return nil
}

// tmpfsOptions adds what the engine has otherwise than a folder for temporary
// files must be: without exec, what torch.compile, numba and triton compile
// there cannot be loaded.
func tmpfsOptions(options []string) string {
	options = slices.Clone(options)
	if !slices.Contains(options, "exec") && !slices.Contains(options, "noexec") {
		options = append(options, "exec")
	}
	if !slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(o, "mode=") }) {
		options = append(options, "mode=1777")
	}
	return strings.Join(options, ",")
}

// bindMount carries a bind or a volume over.
func bindMount(m specs.Mount) (mount.Mount, error) {
	to := mount.Mount{Type: mount.Type(m.Type), Source: m.Source, Target: path.Clean(m.Destination)}
	for _, option := range m.Options {
		switch option {
		case "ro":
			to.ReadOnly = true
		case "rw", "rbind":
			// What the engine does anyway.
		case "bind":
			if m.Type == "bind" {
				to.BindOptions = bindOptions(to.BindOptions)
				to.BindOptions.NonRecursive = true
			}
		case "private", "rprivate", "slave", "rslave", "shared", "rshared":
			to.BindOptions = bindOptions(to.BindOptions)
			to.BindOptions.Propagation = mount.Propagation(option)
		default:
			return mount.Mount{}, fmt.Errorf("the option %q of the mount on %s is not supported on Docker", option, m.Destination)
		}
	}
	// "rbind" beside "bind" is recursive, whichever comes first.
	if to.BindOptions != nil && slices.Contains(m.Options, "rbind") {
		to.BindOptions.NonRecursive = false
	}
	return to, nil
}

func bindOptions(o *mount.BindOptions) *mount.BindOptions {
	if o == nil {
		return &mount.BindOptions{}
	}
	return o
}

// ports publishes on 127.0.0.1 unless asked otherwise: nobody else on a shared
// machine should get to see a notebook by accident.
func ports(list []plan.Port) (nat.PortSet, nat.PortMap) {
	if len(list) == 0 {
		return nil, nil
	}
	exposed, bindings := nat.PortSet{}, nat.PortMap{}
	for _, p := range list {
		port := nat.Port(fmt.Sprintf("%d/%s", p.Container, or(p.Protocol, "tcp")))
		binding := nat.PortBinding{HostIP: or(p.HostIP, "127.0.0.1")}
		if p.Host != 0 {
			binding.HostPort = strconv.Itoa(p.Host)
		}
		exposed[port] = struct{}{}
		bindings[port] = append(bindings[port], binding)
	}
	return exposed, bindings
}

// logConfig bounds the engine's own copy of the output, whatever the engine's
// default driver is.
func logConfig(l plan.Log) container.LogConfig {
	config := map[string]string{}
	if l.MaxSize > 0 {
		config["max-size"] = strconv.FormatInt(l.MaxSize, 10)
	}
	if l.MaxFiles > 0 {
		config["max-file"] = strconv.Itoa(l.MaxFiles)
	}
	return container.LogConfig{Type: "json-file", Config: config}
}
