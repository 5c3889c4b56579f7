package buildkit

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/internal/untar"
	"crun.dev/crun/internal/untar/tartest"
)

func TestParseCacheSpec(t *testing.T) {
	for _, test := range []struct {
		text string
		to   bool
		want map[string]string // with the type; nil where it is refused
		err  string
	}{
		{"lab/cache", false, map[string]string{"type": "registry", "ref": "docker.io/lab/cache:latest"}, ""},
		{"type=registry,ref=reg.lab:5000/a:b,mode=max", true, map[string]string{"type": "registry", "ref": "reg.lab:5000/a:b", "mode": "max"}, ""},
		{`type=local,"dest=/a,b"`, true, map[string]string{"type": "local", "dest": "/a,b"}, ""},
		{"type=local,src=cache", false, map[string]string{"type": "local", "src": "/work/cache"}, ""},
		{"type=inline", true, map[string]string{"type": "inline"}, ""},
		{"type=inline", false, nil, "type=registry"},
		{"type=local,src=cache", true, nil, "needs dest=FOLDER"},
		{"type=local,dest=cache", false, nil, "needs src=FOLDER"},
		{"type=registry", true, nil, `ref is ""`},
		{"type=registry,ref=A/B", true, nil, "no name of an image"},
		{"type=registry,ref=a,mode=more", true, nil, "allowed are min and max"},
		{"type=registry,ref=a,moed=max", true, nil, "takes no moed"},
		{"type=floppy,dest=a:", true, nil, "is not one of inline, local, registry"},
		{"", true, nil, "write it as"},
		{"type", true, map[string]string{"type": "registry", "ref": "docker.io/library/type:latest"}, ""},
		{"type=local,dest", true, nil, "is not KEY=VALUE"},
	} {
		spec, err := ParseCacheSpec(test.text, "/work", test.to)
		if test.want == nil {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%q: %+v, %v; want an error with %q", test.text, spec, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		got := map[string]string{"type": spec.Type}
		for name, value := range spec.Attributes {
			got[name] = value
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
	}
}

func TestPushError(t *testing.T) {
	for text, want := range map[string]string{
		"no basic auth credentials":                                  "; docker login reg.lab:5000 gives",
		"unauthorized: authentication required":                      "; docker login reg.lab:5000 gives",
		"denied: requested access to the resource is denied":         "; docker login reg.lab:5000 gives",
		"http: server gave HTTP response to HTTPS client":            "insecure-registries",
		"dial tcp 127.0.0.1:1: connect: connection refused":          "connection refused",
		"received unexpected HTTP status: 500 Internal Server Error": "500 Internal",
	} {
		err := &PushError{Name: "reg.lab:5000/a:b", Text: text}
		if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), text) {
			t.Errorf("%q becomes %q, want %q in it", text, err, want)
		}
	}
}

// What was written of an image before an error would be in the way of the next try.
func TestNothingHalfWritten(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "dest")
	whole := tartest.Archive(t,
		tar.Header{Typeflag: tar.TypeDir, Name: "bin/", Mode: 0o500},
		tar.Header{Typeflag: tar.TypeReg, Name: "bin/a", Uname: "text"},
		tar.Header{Typeflag: tar.TypeReg, Name: "b", Uname: strings.Repeat("text", 1000)},
	)
	cut := io.LimitReader(whole, 2048+100)
	if err := fillFolder(dest, func(root *os.Root) error { return untar.Files(root, cut) }); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the error is %v", err)
	}
	if entries, err := os.ReadDir(dest); err != nil || len(entries) > 0 {
		t.Errorf("left behind are %v, %v", entries, err)
	}
	if err := os.WriteFile(filepath.Join(dest, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := fillFolder(dest, func(*os.Root) error { return errors.New("was called") }); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(filepath.Join(dest, "mine")); err != nil {
		t.Error(err)
	}
}
