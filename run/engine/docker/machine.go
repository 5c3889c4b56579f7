package docker

import (
	"bufio"
	"bytes"
	"cmp"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"gopkg.in/yaml.v3"

	"crun.dev/crun/internal/meminfo"
	"crun.dev/crun/run/plan"
)

// machine reads files of the engine's host, where that is this one.
type machine struct {
	root string // in front of every path, for tests
}

// gpuKind is how CDI names NVIDIA's GPUs.
const gpuKind = "nvidia.com/gpu"

// memory is a value of the kernel's account of memory in bytes, or -1.
func (m machine) memory(name string) int64 {
	data, err := os.ReadFile(m.root + "/proc/meminfo")
	if err != nil {
		return -1
	}
	return meminfo.Value(string(data), name)
}

// cdiDevices names the devices of the CDI specifications in these folders. A
// file that cannot be read or understood is passed over, as engines do.
func (m machine) cdiDevices(dirs []string) []string {
	var devices []string
	for _, dir := range dirs {
		for _, pattern := range []string{"*.yaml", "*.json"} {
			files, _ := filepath.Glob(filepath.Join(m.root+dir, pattern))
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					continue
				}
				var spec struct {
					Kind    string `yaml:"kind"`
					Devices []struct {
						Name string `yaml:"name"`
					} `yaml:"devices"`
				}
				// JSON is YAML.
				if yaml.Unmarshal(data, &spec) != nil {
					continue
				}
				for _, device := range spec.Devices {
					devices = append(devices, spec.Kind+"="+device.Name)
				}
			}
		}
	}
	return devices
}

// nvidiaHook tells whether the program is there that an engine looks for in
// its PATH when it starts, to have a GPU driver called nvidia.
func (m machine) nvidiaHook() bool {
	for _, dir := range []string{"/usr/bin", "/usr/local/bin", "/usr/sbin", "/usr/local/sbin", "/usr/local/nvidia/toolkit"} {
		if unix.Access(m.root+dir+"/nvidia-container-runtime-hook", unix.X_OK) == nil {
			return true
		}
	}
	return false
}

// amdVendor is AMD's number on PCI (pci.ids).
const amdVendor = "0x1002"

// amd finds the GPUs of AMD's driver: the file that all of them share, and the
// render node of each, in the order of their numbers. It is nil where there is
// none.
func (m machine) amd() *plan.AMD {
	found := &plan.AMD{Shared: "/dev/kfd"}
	if !m.opens(found.Shared, found) {
		return nil
	}
	nodes, _ := filepath.Glob(m.root + "/dev/dri/renderD*")
	slices.SortFunc(nodes, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	for _, node := range nodes {
		vendor, err := os.ReadFile(m.root + "/sys/class/drm/" + filepath.Base(node) + "/device/vendor")
		if path := "/dev/dri/" + filepath.Base(node); err == nil && strings.TrimSpace(string(vendor)) == amdVendor && m.opens(path, found) {
			found.GPUs = append(found.GPUs, path)
		}
	}
	if len(found.GPUs) == 0 {
		return nil
	}
	return found
}

// opens tells whether a device file is there, and notes the group that may open
// it where not everybody may. Root's own group is given to nobody.
func (m machine) opens(path string, to *plan.AMD) bool {
	var info unix.Stat_t
	if unix.Stat(m.root+path, &info) != nil {
		return false
	}
	if info.Mode&0o006 != 0o006 && info.Gid != 0 && !slices.Contains(to.Groups, info.Gid) {
		to.Groups = append(to.Groups, info.Gid)
	}
	return true
}

// maxRlimits is how far the engine behind a socket may raise the limits of a
// process, by the names that a plan has for them, with -1 for "at will". It is
// nil where that cannot be told: systemd may hold the socket of another engine
// than Docker's, or /proc hide other users' processes.
//
// A daemon with CAP_SYS_RESOURCE raises everything, but descriptors no higher
// than fs.nr_open. One without (rootless, or itself in a container) keeps to
// its own hard limits.
func (m machine) maxRlimits(socket string, rootless bool) map[string]int64 {
	pid := m.daemon(socket)
	if pid <= 1 {
		return nil
	}
	proc := m.root + "/proc/" + strconv.Itoa(pid)
	limits, err := os.ReadFile(proc + "/limits")
	if err != nil {
		return nil
	}
	status, err := os.ReadFile(proc + "/status")
	if err != nil {
		return nil
	}
	if rootless || !hasSysResource(status) {
		return hardLimits(limits)
	}
	max := map[string]int64{"memlock": -1, "stack": -1}
	if data, err := os.ReadFile(m.root + "/proc/sys/fs/nr_open"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil {
			max["nofile"] = n
		}
	}
	return max
}

// daemon is the process of the engine behind a socket; 0 or 1 where it cannot
// be told.
func (m machine) daemon(socket string) int {
	pid := peer(socket)
	if pid == 1 { // systemd's socket; dockerd says in its file who it is
		pid = m.dockerd()
	}
	return pid
}

// dockerd is the process that /run/docker.pid names, or 0.
func (m machine) dockerd() int {
	data, err := os.ReadFile(m.root + "/run/docker.pid")
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	// A pid is given anew where the file was left behind.
	name, err := os.ReadFile(m.root + "/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil || strings.TrimSpace(string(name)) != "dockerd" {
		return 0
	}
	return pid
}

// hardLimits reads /proc/PID/limits.
func hardLimits(limits []byte) map[string]int64 {
	names := map[string]string{"Max open files": "nofile", "Max locked memory": "memlock", "Max stack size": "stack", "Max processes": "nproc"}
	max := map[string]int64{}
	s := bufio.NewScanner(bytes.NewReader(limits))
	for s.Scan() {
		line := s.Text()
		for prefix, name := range names {
			rest, ok := strings.CutPrefix(line, prefix)
			if !ok {
				continue
			}
			fields := strings.Fields(rest) // soft, hard, unit
			if len(fields) < 2 {
				continue
			}
			if fields[1] == "unlimited" {
				max[name] = -1
			} else if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				max[name] = n
			}
		}
	}
	return max
}

// hasSysResource reads /proc/PID/status.
func hasSysResource(status []byte) bool {
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "CapEff:"); ok {
			caps, err := strconv.ParseUint(strings.TrimSpace(rest), 16, 64)
			return err == nil && caps&(1<<unix.CAP_SYS_RESOURCE) != 0
		}
	}
	return false
}

// peer is the process that listens on a socket, as the kernel noted it; 0
// where it cannot be told.
func peer(socket string) int {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return 0
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}
