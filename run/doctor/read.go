package doctor

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"crun.dev/crun/internal/login"
	"crun.dev/crun/run/precheck"
)

// Ask says what Read looks for.
type Ask struct {
	Getenv func(string) string
	User   string
	// Socket is the path of the engine's socket, or "".
	Socket string
	// Folders are those that crun uses, by what they are for; one that should be
	// the caller's alone has Private.
	Folders []AskFolder
	// Root is put in front of the paths of the system, for tests.
	Root string
}

// AskFolder is a folder to look at.
type AskFolder struct {
	What, Path string
	Private    bool
}

// Read looks at this machine, as its caller may. GPUs are left to others.
func Read(ask Ask) *Machine {
	r := reader{root: ask.Root}
	m := &Machine{
		User: ask.User, UID: os.Getuid(),
		PtraceScope:   r.number("/proc/sys/kernel/yama/ptrace_scope"),
		DmesgRestrict: r.number("/proc/sys/kernel/dmesg_restrict"),
		Systemd:       r.there("/run/systemd/system"),
		Linger:        login.Lingers(ask.Root, ask.User),
		ClockSynced:   clockSynced(),
		AMD:           r.there("/dev/kfd"),
	}
	if m.PtraceScope < 0 && r.there("/proc/sys/kernel/ostype") && !r.there("/proc/sys/kernel/yama") {
		m.PtraceScope = 0 // a kernel without Yama
	}
	m.KillUserProcesses = r.logind("KillUserProcesses")
	groups := r.groups()
	gids, _ := os.Getgroups()
	for _, g := range groups {
		if slices.Contains(gids, g.gid) {
			m.Groups = append(m.Groups, g.name)
		}
	}
	if gid, ok := groupOf(ask.Socket); ok {
		for _, g := range groups {
			if g.gid == gid {
				m.SocketGroup, m.SocketMembers = g.name, g.members
			}
		}
	}
	m.programs(ask.Getenv("PATH"))
	for _, f := range ask.Folders {
		m.Folders = append(m.Folders, folderAt(f))
	}
	for _, want := range wantedStorage {
		m.Storage = append(m.Storage, storageAt(want.path))
	}
	return m
}

type reader struct{ root string }

func (r reader) there(path string) bool {
	_, err := os.Stat(r.root + path)
	return err == nil
}

// number reads a file with a number in it, or gives -1.
func (r reader) number(path string) int {
	data, err := os.ReadFile(r.root + path)
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return -1
	}
	return n
}

type group struct {
	name    string
	gid     int
	members []string
}

// groups reads /etc/group.
func (r reader) groups() []group {
	data, _ := os.ReadFile(r.root + "/etc/group") // directories of a network are not asked
	var all []group
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) != 4 {
			continue
		}
		gid, err := strconv.Atoi(fields[2])
		if err != nil {
			continue
		}
		g := group{name: fields[0], gid: gid}
		if fields[3] != "" {
			g.members = strings.Split(fields[3], ",")
		}
		all = append(all, g)
	}
	return all
}

// logind gives a setting of logind.conf(5): of the main file, and of the files
// beside it, of which the last by name wins. A main file has the defaults that
// systemd was built with in comments.
func (r reader) logind(key string) string {
	dirs := []string{"/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd"}
	value := ""
	for _, dir := range dirs {
		data, err := os.ReadFile(r.root + dir + "/logind.conf")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			commented := strings.HasPrefix(line, "#")
			if v, ok := setting(strings.TrimLeft(line, "# "), key); ok && (!commented || value == "") {
				value = v
			}
		}
		break
	}
	files := map[string]string{} // by name: of two the one in the first folder counts
	for _, dir := range dirs {
		found, _ := filepath.Glob(r.root + dir + "/logind.conf.d/*.conf")
		for _, file := range found {
			if _, known := files[filepath.Base(file)]; !known {
				files[filepath.Base(file)] = file
			}
		}
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		data, _ := os.ReadFile(files[name])
		for line := range strings.Lines(string(data)) {
			if v, ok := setting(strings.TrimSpace(line), key); ok {
				value = v
			}
		}
	}
	switch strings.ToLower(value) {
	case "yes", "true", "on", "1", "y", "t":
		return "yes"
	case "no", "false", "off", "0", "n", "f":
		return "no"
	}
	return ""
}

func setting(line, key string) (string, bool) {
	name, value, ok := strings.Cut(line, "=")
	return strings.TrimSpace(value), ok && strings.TrimSpace(name) == key
}

func groupOf(path string) (int, bool) {
	if path == "" {
		return 0, false
	}
	var info unix.Stat_t
	err := unix.Stat(path, &info)
	return int(info.Gid), err == nil
}

// programs finds other programs called crun, and the engines that look for one.
func (m *Machine) programs(path string) {
	self, err := os.Executable()
	if err != nil {
		return
	}
	m.Self = self
	own, err := os.Stat(self)
	if err != nil {
		return
	}
	dirs := append(filepath.SplitList(path), "/usr/bin", "/usr/local/bin", "/usr/sbin")
	seen := []fs.FileInfo{own}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, name := range []string{"crun", "podman", "crio"} {
			file := filepath.Join(dir, name)
			info, err := os.Stat(file)
			if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
				continue
			}
			if slices.ContainsFunc(seen, func(other fs.FileInfo) bool { return os.SameFile(other, info) }) {
				continue
			}
			seen = append(seen, info)
			if name == "crun" {
				m.OtherCrun = append(m.OtherCrun, file)
			} else {
				m.EnginesOfCrun = append(m.EnginesOfCrun, name)
			}
		}
	}
}

// clockSynced asks the kernel, which a time server's client tells.
func clockSynced() int {
	var t unix.Timex
	state, err := unix.Adjtimex(&t) // with no modes it only reads
	switch {
	case err != nil:
		return -1
	case state == timeError:
		return 0
	}
	return 1
}

// timeError is the kernel's TIME_ERROR: the clock is not synchronised
// (adjtimex(2)).
const timeError = 5

// kinds are file systems that an engine, or many small files, have trouble
// with, by their numbers (statfs(2)).
var kinds = map[uint32]string{
	0x6969: "nfs", 0x517b: "smb", 0xff534d42: "cifs", 0xfe534d42: "smb2", 0x5346414f: "afs", 0x0bd00bd0: "lustre", 0x47504653: "gpfs",
	0x19830326: "beegfs", 0x00c36400: "ceph", 0x65735546: "fuse", 0x01021997: "9p",
}

// folderAt looks at a folder, or the nearest above that is there.
func folderAt(ask AskFolder) Folder {
	f := Folder{What: ask.What, Path: ask.Path}
	for at := filepath.Clean(ask.Path); ; at = filepath.Dir(at) {
		var disk unix.Statfs_t
		if unix.Statfs(at, &disk) == nil {
			f.FS = kinds[uint32(disk.Type)]
			break
		}
		if at == "/" || !filepath.IsAbs(at) {
			break
		}
	}
	var info unix.Stat_t
	if ask.Private && unix.Stat(ask.Path, &info) == nil && int(info.Uid) == os.Getuid() && info.Mode&0o077 != 0 {
		f.Open = info.Mode & 0o777
	}
	return f
}

func storageAt(path string) Storage {
	s := Storage{Path: path}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return s
	}
	p, ok := precheck.PlaceAt("", path)
	if !ok {
		return s
	}
	s.There, s.Total, s.Device = true, p.Total, p.Device
	var disk unix.Statfs_t
	s.Memory = unix.Statfs(path, &disk) == nil && disk.Type == unix.TMPFS_MAGIC
	return s
}
