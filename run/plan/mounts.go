package plan

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Where the kernel's shared memory and the temporary files are in a run.
const (
	ShmPath = "/dev/shm"
	TmpPath = "/tmp"
	// VarTmpPath is where some programs put temporary files whatever TMPDIR says.
	VarTmpPath = "/var/tmp"
)

// mounts shows the project, the home and the user's own folders at their
// paths, and gives /dev/shm and /tmp their sizes.
func (m *maker) mounts() {
	l, req := &m.req.Limits, m.req
	if req.Project != "" {
		m.bind(Mount{Source: req.Project, Target: req.Project})
	}
	// HOME of the caller may be the project itself, and may be nowhere.
	if home := m.home(); home == remoteHome {
		m.warnf("the engine is on another machine, where crun keeps no home for runs: HOME is %s there, and gone with the run", home)
	} else if home != "" && home != "/" && home != req.Project {
		m.bind(Mount{Source: home, Target: home})
	}
	for _, mount := range req.Mounts {
		m.bind(mount)
	}
	m.readOnly()
	if l.ShmSize != nil {
		m.tmpfs("shm_size", ShmPath, "shm", *l.ShmSize)
	}
	if l.TmpDir != nil {
		m.tmpdir(*l.TmpDir)
	}
	m.halfOfMemory()

	// From / down: a mount below another comes after it. Two on one path
	// would hide each other.
	list := m.plan.Spec.Mounts
	slices.SortStableFunc(list, func(a, b specs.Mount) int {
		return cmp.Or(strings.Count(a.Destination, "/")-strings.Count(b.Destination, "/"), cmp.Compare(a.Destination, b.Destination))
	})
	for i := 1; i < len(list); i++ {
		if list[i].Destination == list[i-1].Destination {
			m.clash(list[i-1], list[i])
		}
	}
}

// clash refuses two mounts on one path.
func (m *maker) clash(a, b specs.Mount) {
	at, path := m.at("mount."+a.Destination), a.Destination
	own, other := m.ownMount(a), b
	if own == "" {
		own, other = m.ownMount(b), a
	}
	switch {
	case own == "":
		m.errorf("%stwo mounts on %s, of %s and of %s: leave one out", at, path, a.Source, b.Source)
	case other.Source == path && (a.Source == b.Source):
		m.errorf("%s%s is %s, which the run has there already: leave it out", at, path, own)
	default:
		m.errorf("%s%s is the place of %s: mount %s elsewhere (-v %s:/mnt/NAME)", at, path, own, other.Source, other.Source)
	}
}

// ownMount says what of the run's own a mount is, or "" of one that was asked for.
func (m *maker) ownMount(mount specs.Mount) string {
	switch source := mount.Source; {
	case mount.Type == "tmpfs" && mount.Destination == ShmPath:
		return "the run's shared memory (shm_size)"
	case mount.Type == "tmpfs" || m.plan.Scratch != "" && below(source, m.plan.Scratch):
		return "the run's tmpdir"
	case source != mount.Destination:
		return ""
	case source == m.req.Project:
		return "the project"
	case source == m.home():
		return "the run's home"
	}
	return ""
}

func (m *maker) bind(mount Mount) {
	from := mount.Origin
	if from != "" {
		from += ": "
	}
	if !clean(mount.Source) || !clean(mount.Target) || mount.Target == "/" {
		m.errorf("%smount %q on %q: both are absolute paths without . and .. in them, and the target is not /", from, mount.Source, mount.Target)
		return
	}
	if isSystem(mount.Target) {
		m.errorf("%smount %q on %q: it would hide what the image, or crun, has there; mount it elsewhere (-v %s:/mnt/NAME)", from, mount.Source, mount.Target, mount.Source)
		return
	}
	access := "rw"
	if mount.ReadOnly {
		access = "ro"
	}
	if mount.Origin != "" {
		m.origin["mount."+mount.Target] = mount.Origin
	}
	m.plan.Spec.Mounts = append(m.plan.Spec.Mounts, specs.Mount{
		Destination: mount.Target, Source: mount.Source, Type: "bind", Options: []string{"rbind", "rprivate", access},
	})
	if m.req.Host.Remote {
		m.warnf("%s is mounted from %s, which is another machine: it has to be there too", mount.Source, m.host())
	}
}

// system are folders without which no image works; below the first of them
// nothing can be mounted either.
var system = []string{"/.crun", "/proc", "/sys", "/bin", "/dev", "/dev/shm", "/etc", "/lib", "/lib64", "/opt", "/opt/conda", "/run", "/sbin", "/usr", "/var"}

func isSystem(target string) bool {
	return slices.Contains(system, target) || slices.ContainsFunc(system[:3], func(folder string) bool { return below(target, folder) })
}

// readOnly keeps the image's own files as they are.
func (m *maker) readOnly() {
	if !m.req.ReadOnly {
		return
	}
	m.plan.Spec.Root = &specs.Root{Path: "rootfs", Readonly: true}
	switch {
	case m.req.Host.Remote:
		m.errorf("--read-only needs an engine on this machine: crun's init cannot be copied into a container that is read-only")
	case m.req.Limits.TmpDir == nil:
		m.errorf("--read-only leaves no place for temporary files: add one with --tmpdir SIZE")
	}
	m.origin["read_only"] = "flag --read-only"
}

// tmpfs mounts memory. Without exec torch.compile, numba and triton cannot run
// what they have compiled.
func (m *maker) tmpfs(field, path, source string, size int64) {
	if size <= 0 {
		m.errorf("%s%s is %d bytes: allowed are 1 and more (1g)", m.at(field), field, size)
	}
	m.plan.Spec.Mounts = append(m.plan.Spec.Mounts, specs.Mount{
		Destination: path, Source: source, Type: "tmpfs",
		Options: []string{"nosuid", "nodev", "exec", "mode=1777", "size=" + strconv.FormatInt(size, 10)},
	})
}

func (m *maker) tmpdir(dir TmpDir) {
	switch dir.Kind {
	case TmpFS, "":
		m.tmpfs("tmpdir.size", TmpPath, "tmpfs", dir.Size)
		if dir.Size > 0 && !m.mounted(VarTmpPath) {
			m.tmpfs("tmpdir.size", VarTmpPath, "tmpfs", dir.Size)
		}
		return
	case Disk:
	default:
		m.errorf("%stmpdir.kind is %q: allowed are tmpfs and disk", m.at("tmpdir.kind"), dir.Kind)
		return
	}
	root := m.req.Host.ScratchRoot
	switch {
	case dir.Size <= 0:
		m.errorf("%stmpdir.size is %d bytes: allowed are 1 and more (20g)", m.at("tmpdir.size"), dir.Size)
	case m.req.Host.Remote:
		// The container's own /tmp is on the disk of the engine's machine.
		m.plan.ScratchSize = dir.Size
		m.warnf("%sthe engine is on another machine, where crun makes no folders: /tmp is part of the container there, on the disk of its images", m.at("tmpdir.kind"))
	case root == "":
		m.errorf("%stmpdir is on disk, but this machine has no scratch root: set scratch in /etc/crun/config.yaml, or use kind tmpfs", m.at("tmpdir.kind"))
	default:
		m.plan.Scratch = filepath.Join(root, "crun-"+m.req.ID)
		m.plan.ScratchSize = dir.Size
		for _, path := range []string{TmpPath, VarTmpPath} {
			if path == VarTmpPath && m.mounted(path) {
				continue
			}
			m.plan.Spec.Mounts = append(m.plan.Spec.Mounts, specs.Mount{
				Destination: path, Source: m.plan.ScratchTmp(), Type: "bind", Options: []string{"rbind", "rprivate", "rw"},
			})
			m.origin["mount."+path] = "tmpdir"
		}
	}
}

// InScratch tells whether a path of the host is the run's tmpdir on disk, or in
// it.
func (p *Plan) InScratch(path string) bool { return p.Scratch != "" && below(path, p.Scratch) }

// mounted tells whether the caller has something else for a path.
func (m *maker) mounted(path string) bool {
	return slices.ContainsFunc(m.plan.Spec.Mounts, func(mount specs.Mount) bool { return mount.Destination == path })
}

// ScratchTmp is the folder of Scratch that is mounted: one that everybody in
// the run may write to, in one that is the caller's alone.
func (p *Plan) ScratchTmp() string { return filepath.Join(p.Scratch, "tmp") }

// halfOfMemory tells of files in memory that can take most of it: a full /tmp
// then looks like a leak of the script's.
func (m *maker) halfOfMemory() {
	memory := m.resources().Memory
	if memory == nil || memory.Limit == nil || !m.req.Limits.Memory.IsShare() {
		return // of a fixed size the profile's own check has said it
	}
	shm, _ := m.plan.TmpfsSize(ShmPath)
	tmp, _ := m.plan.TmpfsSize(TmpPath)
	if shm+tmp > *memory.Limit/2 {
		m.warnf("/dev/shm (%s) and /tmp (%s) count as memory and may take more than half of its %s",
			FormatBytes(shm), FormatBytes(tmp), FormatBytes(*memory.Limit))
	}
}

// TmpfsSize gives the size in bytes of the tmpfs that the plan mounts on path.
func (p *Plan) TmpfsSize(path string) (size int64, ok bool) {
	for _, mount := range p.Spec.Mounts {
		if mount.Destination != path || mount.Type != "tmpfs" {
			continue
		}
		for _, option := range mount.Options {
			if text, found := strings.CutPrefix(option, "size="); found {
				size, err := strconv.ParseInt(text, 10, 64)
				return size, err == nil
			}
		}
	}
	return 0, false
}
