package view

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Mount shows Source of this machine at Target in a run. Both are absolute and
// clean.
type Mount struct{ Source, Target string }

// View is all that a run sees of this machine.
type View []Mount

// maxLinks is how many links the kernel follows in one path (path_resolution(7)).
const maxLinks = 40

// Missing gives the path that a run comes to behind path and does not see, or
// "" where it sees it, where nothing is there on this machine either, and where
// the image has folders of its own. path is absolute and as the run writes it.
func (v View) Missing(path string) string {
	at, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		host, mounted, ok := v.host(next)
		if !ok && v.above(next) {
			at = next // a folder that is there for a mount's sake
			continue
		} else if !ok {
			missing := filepath.Join(append([]string{next}, rest...)...)
			if _, err := os.Stat(missing); err != nil || isImages(missing) {
				return ""
			}
			return missing
		}
		if mounted {
			at = next // an engine follows the links of what it mounts
			continue
		}
		target, err := os.Readlink(host)
		if os.IsNotExist(err) {
			return ""
		} else if err != nil {
			at = next // no link
			continue
		}
		if links++; links > maxLinks {
			return ""
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return ""
}

// host gives where a path of the run lies on this machine, by the nearest
// mount above it; mounted says that it is the mount itself.
func (v View) host(path string) (host string, mounted, ok bool) {
	best := -1
	for i, m := range v {
		if within(path, m.Target) && (best < 0 || len(m.Target) > len(v[best].Target)) {
			best = i
		}
	}
	if best < 0 {
		return "", false, false
	}
	m := v[best]
	return filepath.Join(m.Source, strings.TrimPrefix(path, m.Target)), path == m.Target, true
}

// above tells whether a mount lies below path.
func (v View) above(path string) bool {
	return slices.ContainsFunc(v, func(m Mount) bool { return within(m.Target, path) })
}

// within tells whether path is folder or lies in it. Both are clean.
func within(path, folder string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}

// images are folders that every image has of its own: what a path in them
// means is the image's to say. /opt/conda is where crun's images have theirs.
var images = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/opt/conda", "/proc", "/run", "/sbin", "/sys", "/usr",
}

func isImages(path string) bool {
	return path == "/" || slices.ContainsFunc(images, func(folder string) bool { return within(path, folder) })
}
