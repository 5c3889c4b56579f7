package precheck

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"crun.dev/crun/internal/meminfo"
)

// PlaceAt looks at the file system that a folder lies on, or would: of one that
// is not there yet the nearest above counts. ok is false where it cannot be
// seen.
func PlaceAt(what, path string) (p Place, ok bool) {
	for at := filepath.Clean(path); filepath.IsAbs(at); at = filepath.Dir(at) {
		var disk unix.Statfs_t
		var info unix.Stat_t
		err := unix.Statfs(at, &disk)
		if err == nil {
			err = unix.Stat(at, &info)
		}
		if err == nil {
			size := disk.Frsize
			if size == 0 {
				size = disk.Bsize
			}
			return Place{
				What: what, Path: path, Device: info.Dev,
				// Some network and FUSE file systems know no sizes.
				Free: int64(disk.Bavail) * size, Used: int64(disk.Blocks-disk.Bfree) * size, Total: int64(disk.Blocks) * size,
			}, disk.Blocks > 0
		}
		if at == "/" {
			break
		}
	}
	return Place{}, false
}

// Places looks at those that exist, in order.
func Places(whatAndPath ...[2]string) []Place {
	var places []Place
	for _, p := range whatAndPath {
		if p[1] == "" {
			continue
		}
		if place, ok := PlaceAt(p[0], p[1]); ok {
			places = append(places, place)
		}
	}
	for _, store := range places {
		for i := range places {
			places[i].Images = places[i].Images || store.What == StorePlace && places[i].Device == store.Device
		}
	}
	return places
}

// Available is the memory that programs of this machine can have without
// swapping, in bytes, or -1.
func Available() int64 { return ofMemory("MemAvailable") }

// Total is this machine's memory in bytes, or -1.
func Total() int64 { return ofMemory("MemTotal") }

func ofMemory(name string) int64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return -1
	}
	return meminfo.Value(string(data), name)
}
