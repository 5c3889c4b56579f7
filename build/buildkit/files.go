package buildkit

import (
	"os"
	"path"

	"github.com/moby/buildkit/util/staticfs"
	"github.com/tonistiigi/fsutil"
	"github.com/tonistiigi/fsutil/types"
)

// memory is a file system that holds files and the folders above them. Scripts
// (without an ending) may be run, so everything may be.
func memory(files map[string][]byte) fsutil.FS {
	fs := staticfs.NewFS()
	folders := map[string]bool{}
	for name, data := range files {
		for folder := path.Dir(name); folder != "." && !folders[folder]; folder = path.Dir(folder) {
			folders[folder] = true
			fs.Add(folder, &types.Stat{Mode: uint32(os.ModeDir | 0o755)}, nil)
		}
		fs.Add(name, &types.Stat{Mode: 0o755}, data)
	}
	return fs
}
