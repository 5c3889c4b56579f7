// Package tartest makes archives for tests.
package tartest

import (
	"archive/tar"
	"bytes"
	"testing"
)

// Archive gives a tar of entries; Uname stands for a file's text.
func Archive(t *testing.T, entries ...tar.Header) *bytes.Buffer {
	t.Helper()
	var data bytes.Buffer
	w := tar.NewWriter(&data)
	for _, entry := range entries {
		content := entry.Uname // the header's own field, unused here otherwise
		entry.Uname = ""
		if entry.Mode == 0 {
			entry.Mode = 0o644
		}
		if entry.Typeflag == tar.TypeReg {
			entry.Size = int64(len(content))
		}
		if err := w.WriteHeader(&entry); err != nil {
			t.Fatal(err)
		}
		if entry.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &data
}
