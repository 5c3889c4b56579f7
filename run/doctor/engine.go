package doctor

import (
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/run/plan"
)

// daemonJSON is the remedy of a line in the engine's own file. A rootless
// engine has its file, and its service, among its user's.
func daemonJSON(rootless bool, line, then, note string) string {
	if rootless {
		return "write " + line + " into ~/.config/docker/daemon.json\nand run: systemctl --user " + then + " docker" + note
	}
	return "write " + line + " into /etc/docker/daemon.json\nand run: systemctl " + then + " docker" + note
}

// overlay is the remedy for other storage drivers.
func overlay(f Facts) string {
	switch e := f.Engine; {
	case e.Name != "Podman":
		return daemonJSON(e.Rootless, `"storage-driver": "overlay2"`, "restart", " (images have to be built anew)")
	case e.Rootless:
		return "podman system reset removes all that it has; then write driver = \"overlay\" below [storage] into ~/.config/containers/storage.conf"
	}
	return "podman system reset removes all that it has; then write driver = \"overlay\" below [storage] into /etc/containers/storage.conf"
}

// engine tells what the engine is and how it keeps images and runs.
func (d *lines) engine(f Facts) {
	e := f.Engine
	docker := e.Name != "Podman"
	switch driver := e.StorageDriver; {
	case driver == "":
		d.add("storage", Unknown, "the engine does not tell its storage driver", "")
	case driver == "vfs":
		d.add("storage", Warning, "vfs: each layer of an image is a whole copy of those below", overlay(f))
	case docker && slices.Contains([]string{"aufs", "devicemapper", "overlay"}, driver): // Podman's overlay is Docker's overlay2
		d.add("storage", Warning, e.StorageDriver+", which newer engines no longer have",
			overlay(f))
	default:
		text := e.StorageDriver
		if e.ContainerdStore {
			text += ", containerd's image store"
		}
		d.add("storage", OK, text+", in "+e.DataRoot, "")
	}
	switch {
	case !docker:
	case e.LiveRestore:
		d.add("live-restore", OK, "runs outlive a restart of the engine", "")
	default:
		d.add("live-restore", Warning, "a restart or an update of the engine ends all runs",
			daemonJSON(e.Rootless, `"live-restore": true`, "reload", ""))
	}
	if e.LogDriver != "" {
		d.add("log", OK, fmt.Sprintf("%s for other containers; those of runs have json-file with a bound, and a run's whole log is in its record", e.LogDriver), "")
	}
	if e.Rootless {
		d.add("rootless", OK, "yes: the engine can do what its user can", "")
	} else {
		d.add("rootless", OK, "no: whoever may call the engine is root on its machine", "")
	}
	if e.DefaultRuntime != "" {
		d.add("runtime", OK, fmt.Sprintf("%s; there are %s", e.DefaultRuntime, strings.Join(e.Runtimes, ", ")), "")
	}
}

// limits tells what the engine can hold runs to.
func (d *lines) limits(f Facts) {
	e := f.Engine
	seen := fmt.Sprintf("version %d, by %s", e.CgroupVersion, e.CgroupDriver)
	lost := "; runs cannot be held to " + strings.Join(e.CannotLimit, ", ")
	delegate := "as root: mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu cpuset io memory pids\\n'" +
		" > /etc/systemd/system/user@.service.d/delegate.conf && systemctl daemon-reload; then log in anew"
	switch {
	case e.CgroupDriver == "none":
		d.add("cgroup", Error, seen+": a rootless engine that holds no limits", "cgroup version 2 (systemd.unified_cgroup_hierarchy=1 on the kernel's command line), and\n"+delegate)
	case e.Rootless && e.CgroupVersion == 1:
		d.add("cgroup", Error, seen+": a rootless engine holds no limits there", "boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line, and\n"+delegate)
	case len(e.CannotLimit) > 0 && e.Rootless:
		d.add("cgroup", Error, seen+lost, delegate)
	case len(e.CannotLimit) > 0:
		d.add("cgroup", Error, seen+lost, "the kernel has no such cgroups: see \"docker info\"; for memory boot with cgroup_enable=memory on its command line")
	default:
		d.add("cgroup", OK, seen, "")
	}
	grub := "write swapaccount=1 into GRUB_CMDLINE_LINUX of /etc/default/grub, run update-grub, and boot anew; or turn swap off: swapoff -a"
	switch {
	case e.SwapLimit && e.Swap == 0:
		d.add("swap", OK, "can be limited; there is none", "")
	case e.SwapLimit && e.Swap > 0:
		d.add("swap", OK, "can be limited; the host has "+plan.FormatBytes(e.Swap), "")
	case e.SwapLimit:
		d.add("swap", OK, "can be limited", "")
	case e.Swap == 0:
		d.add("swap", OK, "cannot be limited, and there is none: memory alone holds a run", "")
	case e.Swap > 0:
		d.add("swap", Error, fmt.Sprintf("cannot be limited, and the host has %s: every run with a memory limit is refused", plan.FormatBytes(e.Swap)), grub)
	default:
		d.add("swap", Warning, "cannot be limited, and whether there is any is not known: runs are refused if so", grub)
	}
	nofile, known := e.MaxRlimits["nofile"]
	switch {
	case !known:
		d.add("descriptors", Unknown, "what the engine may give each process cannot be seen; a run reads it back", "")
	case nofile >= 0 && nofile < wantedFiles:
		d.add("descriptors", Warning, fmt.Sprintf("the engine may give a process %d, and the profiles ask for %d", nofile, wantedFiles),
			raiseFiles(e.Rootless))
	default:
		text := "at will"
		if nofile >= 0 {
			text = fmt.Sprint(nofile)
		}
		d.add("descriptors", OK, "the engine may give a process "+text, "")
	}
}

// raiseFiles gives the engine, or the services of its user, more descriptors.
func raiseFiles(rootless bool) string {
	unit, then := "docker.service", "systemctl daemon-reload && systemctl restart docker"
	if rootless {
		unit, then = "user@.service", "systemctl daemon-reload; then log in anew"
	}
	dir := "/etc/systemd/system/" + unit + ".d"
	text := "mkdir -p " + dir + " && printf '[Service]\\nLimitNOFILE=1048576\\n' > " + dir + "/nofile.conf && " + then
	if rootless {
		text = "as root: " + text
	}
	return text
}

// wantedFiles is nofile of the profiles in the binary.
const wantedFiles = 65536

// gpus tells whether GPUs can be given to runs: through CDI, or nvidia's runtime.
func (d *lines) gpus(f Facts) {
	e, m := f.Engine, f.Machine
	var cdi []string
	for _, device := range e.GPUDevices {
		if !strings.HasSuffix(device, "=all") {
			cdi = append(cdi, device)
		}
	}
	toolkit := "install nvidia-container-toolkit, and run: nvidia-ctk runtime configure && systemctl restart docker"
	if e.Rootless { // https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
		toolkit = "install nvidia-container-toolkit, and run: nvidia-ctk runtime configure --runtime=docker --config=$HOME/.config/docker/daemon.json && systemctl --user restart docker" +
			"\nas root: nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place"
	}
	ways := "the engine has neither CDI devices nor nvidia's runtime"
	switch {
	case len(cdi) > 0:
		ways = "the engine knows by CDI: " + shortened(cdi)
	case slices.Contains(e.Runtimes, "nvidia"):
		ways = "the engine has nvidia's runtime"
	case e.GPUDriver != "":
		ways = "the engine can give them by " + e.GPUDriver
	}
	if m == nil {
		d.add("gpu", OK, ways, "")
		return
	}
	switch {
	case m.NvidiaError != "":
		d.add("gpu", Error, "the driver does not answer: "+m.NvidiaError, "see what nvidia-smi and dmesg say; after an update of the driver the machine has to boot anew")
	case m.NvidiaDriver == "" && e.AMD != nil:
		d.add("gpu", OK, fmt.Sprintf("%d of AMD's, which runs are given as files: %s", len(e.AMD.GPUs), shortened(e.AMD.GPUs)), "")
	case m.NvidiaDriver == "" && m.AMD && e.GPUDriver == "":
		d.add("gpu", Error, "AMD's driver is there (/dev/kfd), and none of its GPUs is (/dev/dri/renderD*)", "see what rocminfo and dmesg say")
	case m.NvidiaDriver != "" && e.Name == "Podman":
		d.add("gpu", Warning, fmt.Sprintf("%d with driver %s, and Podman's service for Docker's clients gives none to a run: runs that ask for GPUs are refused", m.NvidiaGPUs, m.NvidiaDriver), "use Docker for runs with GPUs")
	case m.NvidiaDriver == "":
		d.add("gpu", OK, "no NVIDIA driver is loaded; "+ways, "")
	case e.GPUDriver == "":
		d.add("gpu", Error, fmt.Sprintf("%d with driver %s, and %s", m.NvidiaGPUs, m.NvidiaDriver, ways), toolkit)
	default:
		d.add("gpu", OK, fmt.Sprintf("%d with driver %s; %s", m.NvidiaGPUs, m.NvidiaDriver, ways), "")
	}
}

// shortened lists at most four.
func shortened(list []string) string {
	if len(list) > 4 {
		return strings.Join(list[:4], ", ") + fmt.Sprintf(" and %d more", len(list)-4)
	}
	return strings.Join(list, ", ")
}
