// Package binary holds crun-init for each architecture, embedded in crun. It
// is apart from package inside so that init does not embed itself.
package binary

import (
	"embed"
	"fmt"
)

// Embedding costs nothing at start: the files are pages of the binary that
// nobody reads until Init does.
//
//go:embed all:bin
var files embed.FS

// Init gives crun-init for arch, amd64 or arm64. It fails where crun was built
// without it.
func Init(arch string) ([]byte, error) {
	data, err := files.ReadFile("bin/crun-init-" + arch)
	if err != nil {
		return nil, fmt.Errorf("this crun has no crun-init for %s in it (there are amd64 and arm64): build it with 'make build'", arch)
	}
	return data, nil
}
