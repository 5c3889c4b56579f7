package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/precheck"
)

const gib = 1 << 30

// healthy is a machine on which nothing is wrong.
func healthy() Facts {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return Facts{
		Engine: engine.Facts{
			Name: "Docker Engine", Version: "28.5.2", StorageDriver: "overlay2", DataRoot: "/var/lib/docker", LogDriver: "journald", LiveRestore: true,
			CgroupVersion: 2, CgroupDriver: "systemd", SwapLimit: true, Swap: 2 * gib, DefaultRuntime: "runc", Runtimes: []string{"nvidia", "runc"},
			GPUDriver: "cdi", GPUDevices: []string{"nvidia.com/gpu=0", "nvidia.com/gpu=all"}, MaxRlimits: map[string]int64{"nofile": 1 << 20}, Time: now,
		},
		Now: now, Thresholds: precheck.Defaults(),
		Precheck: precheck.Facts{
			Places:    []precheck.Place{{What: precheck.StorePlace, Path: "/var/lib/docker", Free: 100 * gib, Used: 100 * gib, Total: 200 * gib}},
			Available: 20 * gib, HostMemory: 24 * gib, Running: 1, RunsMemory: 4 * gib,
			GPUs: []precheck.GPU{{Index: 0, Name: "A100", Free: 79 * gib, Total: 80 * gib}},
		},
		Machine: &Machine{
			User: "ann", UID: 1000, SocketGroup: "docker", SocketMembers: []string{"ann", "bob"}, PtraceScope: 1, DmesgRestrict: 0, Systemd: true,
			KillUserProcesses: "no", Self: "/usr/local/bin/crun", ClockSynced: 1, NvidiaDriver: "550.54.14", NvidiaGPUs: 1,
			Folders: []Folder{{What: "records", Path: "/home/ann/.local/state/crun/runs"}, {What: "project", Path: "/home/ann/p"}},
			Storage: []Storage{
				{Path: "/", There: true, Total: 40e9, Device: 1}, {Path: "/home", There: true, Total: 80e9, Device: 2},
				{Path: "/tmp", There: true, Total: 30e9, Device: 3}, {Path: "/opt", There: true, Total: 40e9, Device: 1},
			},
		},
	}
}

func TestHealthy(t *testing.T) {
	for _, l := range Lines(healthy()) {
		if l.State != OK || l.Remedy != "" || l.Fix != nil || l.Seen == "" {
			t.Errorf("%+v", l)
		}
	}
}

// Whatever is wrong has one line that is not ok, with what to do.
func TestLines(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Facts)
		what   string
		state  string
		seen   string
		remedy string
		fix    string
	}{
		{name: "vfs", change: func(f *Facts) { f.Engine.StorageDriver = "vfs" }, what: "storage", state: Warning, seen: "whole copy", remedy: `"storage-driver": "overlay2"`},
		{name: "no live-restore", change: func(f *Facts) { f.Engine.LiveRestore = false }, what: "live-restore", state: Warning, seen: "ends all runs", remedy: "systemctl reload docker"},
		{name: "rootless without a cgroup", change: func(f *Facts) { f.Engine.Rootless, f.Engine.CgroupDriver, f.Machine.Linger = true, "none", true }, what: "cgroup", state: Error, seen: "holds no limits", remedy: "Delegate=cpu cpuset io memory pids"},
		{name: "rootless on version 1", change: func(f *Facts) { f.Engine.Rootless, f.Engine.CgroupVersion, f.Machine.Linger = true, 1, true }, what: "cgroup", state: Error, remedy: "systemd.unified_cgroup_hierarchy=1"},
		{name: "rootless without a controller", change: func(f *Facts) {
			f.Machine.Linger, f.Engine.Rootless, f.Engine.CannotLimit = true, true, []string{"cpus", "cpuset"}
		}, what: "cgroup", state: Error, seen: "runs cannot be held to cpus, cpuset", remedy: "Delegate=cpu cpuset"},
		{name: "a kernel without cgroups of memory", change: func(f *Facts) { f.Engine.CannotLimit = []string{"memory"} }, what: "cgroup", state: Error, seen: "cannot be held to memory", remedy: "cgroup_enable=memory"},
		{name: "few descriptors of a rootless engine", change: func(f *Facts) { f.Machine.Linger, f.Engine.Rootless, f.Engine.MaxRlimits["nofile"] = true, true, 20000 }, what: "descriptors", state: Warning, seen: "20000", remedy: "/etc/systemd/system/user@.service.d/nofile.conf"},
		{name: "no live-restore of a rootless engine", change: func(f *Facts) { f.Machine.Linger, f.Engine.Rootless, f.Engine.LiveRestore = true, true, false }, what: "live-restore", state: Warning, remedy: "~/.config/docker/daemon.json"},
		{name: "GPUs without the toolkit below a rootless engine", change: func(f *Facts) {
			f.Machine.Linger, f.Engine.Rootless, f.Engine.GPUDriver, f.Engine.GPUDevices, f.Engine.Runtimes = true, true, "", nil, nil
		}, what: "gpu", state: Error, remedy: "nvidia-container-cli.no-cgroups"},
		{name: "vfs of Podman", change: func(f *Facts) { f.Engine.Name, f.Engine.StorageDriver, f.Machine.NvidiaDriver = "Podman", "vfs", "" }, what: "storage", state: Warning, remedy: "/etc/containers/storage.conf"},
		{name: "GPUs of Podman", change: func(f *Facts) { f.Engine.Name, f.Engine.GPUDriver, f.Engine.GPUDevices = "Podman", "", nil }, what: "gpu", state: Warning, seen: "gives none to a run", remedy: "use Docker"},
		{name: "AMD's driver without a GPU", change: func(f *Facts) {
			f.Machine.NvidiaDriver, f.Machine.AMD, f.Engine.GPUDriver, f.Engine.GPUDevices = "", true, "", nil
		}, what: "gpu", state: Error, seen: "/dev/kfd", remedy: "rocminfo"},
		{name: "swap without a limit", change: func(f *Facts) { f.Engine.SwapLimit = false }, what: "swap", state: Error, seen: "the host has 2 GiB", remedy: "swapaccount=1"},
		{name: "swap nobody knows of", change: func(f *Facts) { f.Engine.SwapLimit, f.Engine.Swap = false, -1 }, what: "swap", state: Warning, remedy: "swapoff -a"},
		{name: "few descriptors", change: func(f *Facts) { f.Engine.MaxRlimits["nofile"] = 20000 }, what: "descriptors", state: Warning, seen: "20000", remedy: "LimitNOFILE=1048576"},
		{name: "descriptors nobody knows of", change: func(f *Facts) { f.Engine.MaxRlimits = nil }, what: "descriptors", state: Unknown},
		{name: "GPUs without the toolkit", change: func(f *Facts) { f.Engine.GPUDriver, f.Engine.GPUDevices, f.Engine.Runtimes = "", nil, nil }, what: "gpu", state: Error, seen: "1 with driver 550.54.14", remedy: "nvidia-ctk runtime configure"},
		{name: "a driver that does not answer", change: func(f *Facts) { f.Machine.NvidiaError = "no answer within 30s" }, what: "gpu", state: Error, seen: "no answer", remedy: "boot anew"},
		{name: "a GPU in use", change: func(f *Facts) { f.Precheck.GPUs[0].Free = gib }, what: "gpu 0", state: Warning, seen: "A100, 1 GiB free of 80 GiB", remedy: "nvidia-smi"},
		{name: "images on a full disk", change: func(f *Facts) { f.Precheck.Places[0].Free = gib / 2 }, what: "disk of images", state: Error, seen: "512 MiB free", remedy: "crun prune"},
		{name: "images on a rather full disk", change: func(f *Facts) { f.Precheck.Places[0].Free = 9 * gib }, what: "disk of images", state: Warning, seen: "9 GiB free", remedy: "crun prune"},
		{name: "too little for a build", change: func(f *Facts) { f.Precheck.Places[0].Free, f.Precheck.Places[0].Used = 15*gib, 20*gib }, what: "disk of images", state: Warning, seen: "15 GiB free", remedy: "needs some 20 GB to be built"},
		{name: "little memory", change: func(f *Facts) { f.Precheck.Available = gib }, what: "memory", state: Warning, seen: "1 GiB available of 24 GiB", remedy: "crun ps"},
		{name: "too many runs", change: func(f *Facts) { f.Precheck.Running, f.Precheck.RunsMemory = 7, 28*gib }, what: "runs", state: Warning, seen: "7, which may take 28 GiB of memory together, of 24 GiB", remedy: "crun ps"},
		{name: "too many runs, where that is refused", change: func(f *Facts) {
			f.Precheck.Running, f.Precheck.RunsMemory, f.Thresholds.Refuse = 7, 28*gib, []string{"runs"}
		}, what: "runs", state: Error, seen: "runs are refused", remedy: "crun ps"},
		{name: "records on NFS", change: func(f *Facts) { f.Machine.Folders[0].FS = "nfs" }, what: "records", state: Warning, seen: "/var/tmp/crun-1000", remedy: "XDG_STATE_HOME"},
		{name: "records that others can read", change: func(f *Facts) { f.Machine.Folders[0].Open = 0o755 }, what: "records", state: Warning, seen: "mode 755", remedy: "chmod go-rwx", fix: "chmod go-rwx /home/ann/.local/state/crun/runs"},
		{name: "a project on FUSE", change: func(f *Facts) { f.Machine.Folders[1].FS = "fuse" }, what: "project", state: Warning, remedy: "allow_other"},
		{name: "a small /home", change: func(f *Facts) { f.Machine.Storage[1].Total = 40e9 }, what: "place /home", state: Warning, remedy: "has 50 GB"},
		{name: "no /opt", change: func(f *Facts) { f.Machine.Storage[3].There = false }, what: "place /opt", state: Unknown, seen: "data and programs that all share"},
		{name: "py-spy does not work", change: func(f *Facts) { f.Machine.PtraceScope = 2 }, what: "ptrace", state: Warning, remedy: "sysctl -w kernel.yama.ptrace_scope=1"},
		{name: "dmesg is root's", change: func(f *Facts) { f.Machine.DmesgRestrict = 1 }, what: "dmesg", state: Warning, remedy: "usermod -aG systemd-journal ann"},
		{name: "logind ends processes", change: func(f *Facts) { f.Machine.KillUserProcesses = "yes" }, what: "logout", state: Warning, remedy: "loginctl enable-linger ann", fix: "loginctl enable-linger ann"},
		{name: "an engine that ends with the login", change: func(f *Facts) { f.Engine.Rootless = true }, what: "logout", state: Warning, seen: "all runs with it", remedy: "loginctl enable-linger ann", fix: "loginctl enable-linger ann"},
		{name: "podman would take ours", change: func(f *Facts) { f.Machine.EnginesOfCrun = []string{"podman"} }, what: "other crun", state: Warning, seen: "podman", remedy: "make install NAME=crun-train"},
		{name: "no time server", change: func(f *Facts) { f.Machine.ClockSynced = 0 }, what: "clock", state: Warning, remedy: "timedatectl set-ntp true"},
		{name: "the engine's clock", change: func(f *Facts) { f.Engine.Time = f.Now.Add(-time.Minute) }, what: "clock", state: Warning, seen: "1m0s off", remedy: "timedatectl"},
		{name: "another machine", change: func(f *Facts) { f.Machine = nil }, what: "machine", state: Unknown, seen: "is on another machine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := healthy()
			c.change(&f)
			all := Lines(f)
			bad := slices.DeleteFunc(all, func(l Line) bool { return l.State == OK })
			if len(bad) != 1 {
				t.Fatalf("%d lines are not ok: %+v", len(bad), bad)
			}
			l := bad[0]
			fix := ""
			if l.Fix != nil {
				fix = l.Fix.Say
			}
			if l.What != c.what || l.State != c.state || !strings.Contains(l.Seen, c.seen) || !strings.Contains(l.Remedy, c.remedy) || fix != c.fix {
				t.Errorf("%+v, fix %q", l, fix)
			}
			if l.State != Unknown && l.Remedy == "" {
				t.Errorf("%+v has no remedy", l)
			}
		})
	}
}

// A small disk that holds all is compared with the sum.
func TestStorageOnOneDisk(t *testing.T) {
	f := healthy()
	for i := range f.Machine.Storage {
		f.Machine.Storage[i].Device, f.Machine.Storage[i].Total = 1, 80e9
	}
	n := 0
	for _, l := range Lines(f) {
		if l.State == Warning {
			n++
			if l.Remedy != "a machine for several people has 90 GB for /, /home, /tmp together" {
				t.Errorf("%+v", l)
			}
		}
	}
	if n != 3 {
		t.Errorf("%d warnings", n)
	}
}

// Where the engine does not answer the machine is looked at all the same.
func TestNoEngine(t *testing.T) {
	f := healthy()
	f.Engine = engine.Facts{Memory: 24 * gib}
	for _, l := range Lines(f) {
		if slices.Contains([]string{"storage", "cgroup", "swap", "descriptors", "runs", "gpu"}, l.What) {
			t.Errorf("%+v", l)
		}
	}
}

func TestLogind(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no systemd", nil, ""},
		{"the default it was built with", map[string]string{"/usr/lib/systemd/logind.conf": "[Login]\n#KillUserProcesses=no\n"}, "no"},
		{"set", map[string]string{"/etc/systemd/logind.conf": "[Login]\n#KillUserProcesses=no\nKillUserProcesses=yes\n", "/usr/lib/systemd/logind.conf": "#KillUserProcesses=no\n"}, "yes"},
		{"the last by name wins", map[string]string{"/etc/systemd/logind.conf": "KillUserProcesses=no\n",
			"/usr/lib/systemd/logind.conf.d/10.conf": "[Login]\nKillUserProcesses = true\n", "/etc/systemd/logind.conf.d/05.conf": "KillUserProcesses=no\n"}, "yes"},
		{"the administrator's hides the distribution's", map[string]string{
			"/usr/lib/systemd/logind.conf.d/10.conf": "KillUserProcesses=yes\n", "/etc/systemd/logind.conf.d/10.conf": "#nothing\n"}, ""},
	} {
		root := t.TempDir()
		for name, text := range c.files {
			write(t, root+name, text)
		}
		if got := (reader{root}).logind("KillUserProcesses"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRead(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/proc/sys/kernel/yama/ptrace_scope", "2\n")
	write(t, root+"/proc/sys/kernel/dmesg_restrict", "1\n")
	write(t, root+"/run/systemd/system/x", "")
	write(t, root+"/var/lib/systemd/linger/ann", "")
	open := filepath.Join(root, "records")
	write(t, open+"/x", "")
	if err := os.Chmod(open, 0o750); err != nil {
		t.Fatal(err)
	}
	m := Read(Ask{Root: root, User: "ann", Getenv: func(string) string { return "" }, Folders: []AskFolder{
		{What: "records", Path: open, Private: true}, {What: "project", Path: open}, {What: "tmpdir", Path: root + "/none/yet"},
	}})
	if m.PtraceScope != 2 || m.DmesgRestrict != 1 || !m.Systemd || !m.Linger {
		t.Errorf("%+v", m)
	}
	if len(m.Folders) != 3 || m.Folders[0].Open != 0o750 || m.Folders[1].Open != 0 {
		t.Errorf("%+v", m.Folders)
	}
	if m := Read(Ask{Root: root + "/nothing", Getenv: func(string) string { return "" }}); m.PtraceScope != -1 || m.DmesgRestrict != -1 || m.Systemd {
		t.Errorf("%+v", m)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAMD(t *testing.T) {
	f := healthy()
	f.Machine.NvidiaDriver, f.Machine.AMD = "", true
	f.Engine.GPUDriver, f.Engine.GPUDevices, f.Engine.AMD = plan.DriverAMD, nil, &plan.AMD{GPUs: []string{"/dev/dri/renderD128", "/dev/dri/renderD129"}}
	for _, l := range Lines(f) {
		if l.What == "gpu" && (l.State != OK || l.Seen != "2 of AMD's, which runs are given as files: /dev/dri/renderD128, /dev/dri/renderD129") {
			t.Errorf("%+v", l)
		}
	}
}

// What Docker no longer has is Podman's best.
func TestOverlayOfPodman(t *testing.T) {
	for name, want := range map[string]string{"Podman": OK, "Docker Engine": Warning} {
		f := healthy()
		f.Engine.Name, f.Engine.StorageDriver = name, "overlay"
		for _, l := range Lines(f) {
			if l.What == "storage" && l.State != want {
				t.Errorf("%s: %+v", name, l)
			}
		}
	}
}
