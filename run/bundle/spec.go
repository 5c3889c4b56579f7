package bundle

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
)

// specVersion is the oldest that has all that is written here (umask), so that
// older runtimes read it too.
const specVersion = "1.0.2"

// Spec gives config.json of p, whose bundle is dir, for a host with this
// version of cgroups. It is pure: what the runtime specification can say stands
// in the plan already, and what an engine would add is added here.
func Spec(p *plan.Plan, dir string, cgroups int) (*specs.Spec, error) {
	if p.Spec.Process == nil || len(p.Spec.Process.Args) == 0 {
		return nil, fmt.Errorf("plan of run %s has no command", p.ID)
	}
	spec := p.Spec
	spec.Version = specVersion
	spec.Root = &specs.Root{Path: RootFolder, Readonly: p.ReadOnly()}

	process := *p.Spec.Process
	process.Args = inside.Command(process.Args)
	process.Capabilities = capabilitiesOf(process.User.UID)
	// No engine's filter of system calls is there to keep set-uid programs in
	// their place.
	process.NoNewPrivileges = true
	spec.Process = &process

	linux := specs.Linux{}
	if p.Spec.Linux != nil {
		linux = *p.Spec.Linux
	}
	resources := specs.LinuxResources{}
	if linux.Resources != nil {
		resources = *linux.Resources
	}
	// Runtimes allow the usual ones (null, zero, random, terminals) by themselves.
	resources.Devices = []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}
	linux.Resources = &resources
	for _, kind := range []specs.LinuxNamespaceType{specs.PIDNamespace, specs.IPCNamespace, specs.UTSNamespace, specs.MountNamespace} {
		linux.Namespaces = append(linux.Namespaces, specs.LinuxNamespace{Type: kind})
	}
	if p.Network == plan.NetworkNone {
		linux.Namespaces = append(linux.Namespaces, specs.LinuxNamespace{Type: specs.NetworkNamespace})
	}
	if cgroups == 2 {
		linux.Namespaces = append(linux.Namespaces, specs.LinuxNamespace{Type: specs.CgroupNamespace})
	}
	linux.MaskedPaths, linux.ReadonlyPaths = slices.Clone(masked), slices.Clone(readonly)
	spec.Linux = &linux

	spec.Mounts = append(systemMounts(p), mountsOf(p, dir)...)
	return &spec, nil
}

// capabilities are those that engines give by default (Docker's and Podman's
// manuals list them), without the making of devices.
var capabilities = []string{
	"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_NET_BIND_SERVICE",
	"CAP_NET_RAW", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

func capabilitiesOf(uid uint32) *specs.LinuxCapabilities {
	c := &specs.LinuxCapabilities{Bounding: slices.Clone(capabilities)}
	if uid == 0 {
		c.Effective, c.Permitted = slices.Clone(capabilities), slices.Clone(capabilities)
	}
	return c
}

// masked and readonly are parts of /proc and /sys that tell of the host, or
// change it.
var (
	masked = []string{
		"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug",
		"/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/devices/virtual/powercap", "/sys/firmware",
	}
	readonly = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

// systemMounts are what every container has.
func systemMounts(p *plan.Plan) []specs.Mount {
	mounts := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
		{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
		{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"nosuid", "noexec", "nodev", "relatime", "ro"}},
	}
	if _, ok := p.TmpfsSize(plan.ShmPath); !ok {
		mounts = append(mounts, specs.Mount{Destination: plan.ShmPath, Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}})
	}
	if p.Network != plan.NetworkNone {
		for _, file := range []string{"/etc/resolv.conf", "/etc/hosts"} {
			mounts = append(mounts, specs.Mount{Destination: file, Type: "bind", Source: file, Options: []string{"rbind", "rprivate", "ro"}})
		}
	}
	return mounts
}

// mountsOf are the plan's, with the tmpdir of kind disk in the bundle.
func mountsOf(p *plan.Plan, dir string) []specs.Mount {
	mounts := slices.Clone(p.Spec.Mounts)
	tmp := filepath.Join(dir, TmpFolder)
	found := false
	for i := range mounts {
		if p.InScratch(mounts[i].Source) {
			mounts[i].Source, found = tmp, true
		}
	}
	if p.ScratchSize > 0 && !found { // of an engine on another machine
		mounts = append(mounts, specs.Mount{Destination: plan.TmpPath, Type: "bind", Source: tmp, Options: []string{"rbind", "rprivate", "rw"}})
	}
	return mounts
}
