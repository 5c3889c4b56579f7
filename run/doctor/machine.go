package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"crun.dev/crun/internal/shellword"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/precheck"
)

// storeForBuild is what an image of PyTorch with CUDA takes to be built: some
// 8 GB, and as much in the caches of downloads.
const storeForBuild = 20 << 30

// rooms are the checks that stand before each run.
func (d *lines) rooms(f Facts) {
	pf, t := f.Precheck, f.Thresholds
	for _, p := range pf.Places {
		name := p.What
		if name == "" {
			name = "/"
		}
		seen := fmt.Sprintf("%s free in %s, %d %% of %s used", plan.FormatBytes(p.Free), p.Path, p.UsedPercent(), plan.FormatBytes(p.Total))
		found := precheck.Check(precheck.Facts{Places: []precheck.Place{p}, Available: -1}, precheck.Need{}, t)
		what := "disk of " + strings.Replace(name, "image store", "images", 1)
		switch {
		case len(found) > 0 && found[0].Refused:
			d.add(what, Error, seen+": runs are refused", found[0].Remedy)
		case len(found) > 0:
			d.add(what, Warning, seen, found[0].Remedy)
		case p.What == precheck.StorePlace && p.Free < storeForBuild:
			d.add(what, Warning, seen, "an image of PyTorch with CUDA needs some 20 GB to be built: crun prune frees what nobody uses")
		default:
			d.add(what, OK, seen, "")
		}
	}
	seen := "the host has " + plan.FormatBytes(pf.HostMemory)
	if pf.Available >= 0 {
		seen = plan.FormatBytes(pf.Available) + " available of " + plan.FormatBytes(pf.HostMemory)
	}
	memory := pf
	memory.Places, memory.Running, memory.GPUs = nil, 0, nil
	d.found("memory", seen, precheck.Check(memory, precheck.Need{}, t))

	if f.Engine.Version == "" {
		return
	}
	seen = "none"
	if pf.Running > 0 {
		seen = fmt.Sprintf("%d, which may take %s of memory together, of %s", pf.Running, plan.FormatBytes(pf.RunsMemory), plan.FormatBytes(pf.HostMemory))
		switch {
		case pf.Unbounded == pf.Running:
			seen = fmt.Sprintf("%d, without a limit on memory", pf.Running)
		case pf.Unbounded > 0:
			seen += fmt.Sprintf("; without a limit on memory: %d", pf.Unbounded)
		}
	}
	runs := pf
	runs.Places, runs.Available, runs.GPUs = nil, -1, nil
	d.found("runs", seen, precheck.Check(runs, precheck.Need{}, t))

	for _, g := range pf.GPUs {
		gpu := precheck.Facts{Available: -1, GPUs: []precheck.GPU{g}}
		d.found(fmt.Sprintf("gpu %d", g.Index), fmt.Sprintf("%s, %s free of %s", g.Name, plan.FormatBytes(g.Free), plan.FormatBytes(g.Total)),
			precheck.Check(gpu, precheck.Need{GPUs: []int{g.Index}}, t))
	}
}

// found adds what a check says of what was seen. Only a machine whose config
// refuses runs for it has an error: what uses it now may be gone in an hour.
func (d *lines) found(what, seen string, found []precheck.Finding) {
	if len(found) == 0 {
		d.add(what, OK, seen, "")
		return
	}
	if found[0].Refused {
		d.add(what, Error, seen+": runs are refused", found[0].Remedy)
		return
	}
	d.add(what, Warning, seen, found[0].Remedy)
}

// folders tells of those that lie where an engine cannot go, or are slow.
func (d *lines) folders(m *Machine) {
	for _, f := range m.Folders {
		switch {
		case f.Open != 0:
			d.add(f.What, Warning, fmt.Sprintf("%s can be read by others (mode %03o)", f.Path, f.Open), "chmod go-rwx "+shellword.Quote(f.Path))
			d.fix(&Fix{Say: "chmod go-rwx " + shellword.Quote(f.Path), Path: f.Path, Mode: f.Open &^ 0o077})
		case f.FS == "":
			d.add(f.What, OK, f.Path, "")
		case f.What == "records":
			d.add(f.What, Warning, fmt.Sprintf("%s would lie on %s, so they are in /var/tmp/crun-%d", f.Path, f.FS, m.UID), "export XDG_STATE_HOME=/A/LOCAL/DISK keeps them elsewhere")
		case strings.HasPrefix(f.FS, "fuse"):
			d.add(f.What, Warning, fmt.Sprintf("%s lies on %s, which an engine that is root cannot read as a rule", f.Path, f.FS), "mount it with -o allow_other (user_allow_other in /etc/fuse.conf), or copy it to a local disk")
		case f.What == "tmpdir":
			d.add(f.What, Warning, fmt.Sprintf("%s lies on %s: temporary files of runs go over the network", f.Path, f.FS), "write scratch: /A/LOCAL/DISK into config.yaml")
		default:
			d.add(f.What, OK, fmt.Sprintf("%s, on %s: where its server squashes root, an engine that is root reads there only what everybody may", f.Path, f.FS), "")
		}
	}
}

// wantedStorage is what a machine for many has, in GB.
var wantedStorage = []struct {
	path, use string
	gb        int64
}{
	{"/", "the system; images too, where the engine has no disk of its own", 20},
	{"/home", "projects, caches and environments", 50},
	{"/tmp", "temporary files outside of runs", 20},
	{"/opt", "data and programs that all share", 0},
}

// storage compares each file system with the sum of what should lie on it.
func (d *lines) storage(places []Storage) {
	for _, want := range wantedStorage {
		i := slices.IndexFunc(places, func(s Storage) bool { return s.Path == want.path })
		if i < 0 {
			continue
		}
		p := places[i]
		what := "place " + want.path
		if !p.There {
			d.add(what, Unknown, "is not there; it would be for "+want.use, "")
			continue
		}
		together, names := int64(0), []string{}
		for _, other := range wantedStorage {
			j := slices.IndexFunc(places, func(s Storage) bool { return s.Path == other.path && s.There && s.Device == p.Device })
			if j >= 0 && other.gb > 0 {
				together += other.gb
				names = append(names, other.path)
			}
		}
		seen := fmt.Sprintf("%s: for %s", plan.FormatBytes(p.Total), want.use)
		switch {
		case want.gb == 0:
			d.add(what, OK, seen, "")
		case p.Memory:
			d.add(what, OK, fmt.Sprintf("%s of memory: for %s; runs have their own (tmpdir)", plan.FormatBytes(p.Total), want.use), "")
		case p.Total < together*1e9:
			what := fmt.Sprintf("%d GB", together)
			if len(names) > 1 {
				what += " for " + strings.Join(names, ", ") + " together"
			}
			d.add("place "+want.path, Warning, seen, "a machine for several people has "+what)
		default:
			d.add(what, OK, seen, "")
		}
	}
}

// people tells who may do what.
func (d *lines) people(f Facts) {
	m := f.Machine
	switch {
	case f.Engine.Rootless:
	case m.SocketGroup == "" || m.SocketGroup == "root":
		d.add("access", OK, "root alone reaches the engine's socket", "")
	default:
		members := "/etc/group lists no member"
		if len(m.SocketMembers) > 0 {
			members = "its members are " + shortened(m.SocketMembers)
		}
		d.add("access", OK, fmt.Sprintf("group %s reaches the engine, and so is root on this machine: %s", m.SocketGroup, members), "")
	}
	switch m.PtraceScope {
	case -1:
		d.add("ptrace", Unknown, "kernel.yama.ptrace_scope cannot be read", "")
	case 0, 1:
		d.add("ptrace", OK, "a debugger may look into programs that it has started (kernel.yama.ptrace_scope)", "")
	default:
		d.add("ptrace", Warning, fmt.Sprintf("kernel.yama.ptrace_scope is %d: gdb and py-spy do not work for users, also inside runs", m.PtraceScope), "sysctl -w kernel.yama.ptrace_scope=1")
	}
	switch {
	case m.UID == 0 || m.DmesgRestrict == 0:
		d.add("dmesg", OK, "the kernel's messages can be read: they tell whom it ended when memory was short", "")
	case m.DmesgRestrict < 0:
		d.add("dmesg", Unknown, "kernel.dmesg_restrict cannot be read", "")
	case slices.Contains(m.Groups, "adm") || slices.Contains(m.Groups, "systemd-journal"):
		d.add("dmesg", OK, "dmesg is root's alone; journalctl -k tells the kernel's messages", "")
	default:
		d.add("dmesg", Warning, "the kernel's messages are root's alone: whom it ended when memory was short is seen less well", "usermod -aG systemd-journal "+shellword.Quote(m.User)+", or for everybody: sysctl -w kernel.dmesg_restrict=0")
	}
	linger := "loginctl enable-linger " + shellword.Quote(m.User)
	fixLinger := &Fix{Say: linger, Command: []string{"loginctl", "enable-linger", m.User}}
	switch {
	case !m.Systemd:
	case f.Engine.Rootless && !m.Linger && m.UID != 0:
		d.add("logout", Warning, "systemd ends a rootless engine with its user's last login, and all runs with it", linger)
		d.fix(fixLinger)
	case m.KillUserProcesses == "yes" && !m.Linger && m.UID != 0:
		d.add("logout", Warning, "logind ends your processes when you log out: those that watch runs too (the next crun command takes the runs up again)", linger)
		d.fix(fixLinger)
	case m.KillUserProcesses == "yes":
		d.add("logout", OK, "logind ends processes of users who log out, and not yours", "")
	case m.KillUserProcesses == "no":
		d.add("logout", OK, "logind leaves processes of users who log out", "")
	default:
		d.add("logout", Unknown, "what logind does with processes of users who log out is not said in its files", "")
	}
	switch {
	case len(m.EnginesOfCrun) > 0 && inRuntimePath(m.Self):
		d.add("other crun", Warning, fmt.Sprintf("%s is there and looks for its OCI runtime, which is called crun too, where ours is: %s", strings.Join(m.EnginesOfCrun, ", "), m.Self),
			"make install NAME=crun-train, and remove this one")
	case len(m.OtherCrun) > 0:
		d.add("other crun", OK, fmt.Sprintf("%s beside ours, %s: an OCI runtime is called so too", shortened(m.OtherCrun), m.Self), "")
	default:
		d.add("other crun", OK, "none; ours is "+m.Self, "")
	}
}

// inRuntimePath tells whether podman and CRI-O would find a program as their
// runtime (containers.conf(5), [engine.runtimes]).
func inRuntimePath(path string) bool {
	return slices.Contains([]string{"/usr/bin/crun", "/usr/sbin/crun", "/usr/local/bin/crun", "/usr/local/sbin/crun", "/sbin/crun", "/bin/crun", "/run/current-system/sw/bin/crun"}, path)
}

// maxSkew is how far the engine's clock may be off: the times of runs and of
// their logs come from two clocks.
const maxSkew = 5 * time.Second

func (d *lines) clock(f Facts) {
	skew := f.Now.Sub(f.Engine.Time).Abs()
	set := "timedatectl set-ntp true"
	switch {
	case !f.Engine.Time.IsZero() && skew > maxSkew:
		d.add("clock", Warning, fmt.Sprintf("the engine's is %s off from this one", skew.Round(time.Second)), set)
	case f.Machine == nil:
		d.add("clock", OK, "the engine's is that of this machine", "")
	case f.Machine.ClockSynced == 0:
		d.add("clock", Warning, "is not kept by any time server: certificates and the times in logs go by it", set)
	case f.Machine.ClockSynced < 0:
		d.add("clock", Unknown, "whether a time server keeps it cannot be seen", "")
	default:
		d.add("clock", OK, "is kept by a time server", "")
	}
}
