package buildkit

import (
	"context"
	"io/fs"
	"testing"

	"github.com/tonistiigi/fsutil/types"
)

// BuildKit fetches a file again when its size or its time differs.
func TestFilesOfOneLengthDifferInTime(t *testing.T) {
	times := map[int64]string{}
	for _, content := range []string{"pyyaml=6.0.9", "pyyaml=6.0.3", "PYYAML=6.0.3"} {
		err := memory(map[string][]byte{"request.json": []byte(content)}).Walk(context.Background(), "", func(_ string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			at := info.Sys().(*types.Stat).ModTime
			if other, taken := times[at]; taken || at <= 0 {
				t.Errorf("%q has the time %d, as has %q", content, at, other)
			}
			times[at] = content
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
