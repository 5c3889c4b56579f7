package docker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"crun.dev/crun/run/plan"
)

const imagePasswd = "root:x:0:0:root:/root:/bin/bash\n# ann:x:4242:0::/:\nwww-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n"

func TestExtendPasswd(t *testing.T) {
	for _, tc := range []struct {
		name   string
		passwd string
		a      plan.Account
		want   string // the added line, or "" for none
	}{
		{"new", imagePasswd, plan.Account{User: "ann", UID: 4242, GID: 100, Home: "/home/ann"}, "ann:x:4242:100:ann:/home/ann:/bin/sh"},
		{"known uid", imagePasswd, plan.Account{User: "ann", UID: 33, GID: 33}, ""},
		{"root", imagePasswd, plan.Account{User: "root"}, ""},
		{"taken name", imagePasswd, plan.Account{User: "www-data", UID: 5000, GID: 5}, "www-data-5000:x:5000:5:www-data:/:/bin/sh"},
		{"no file", "", plan.Account{User: "ann", UID: 1, GID: 1, Home: "/h"}, "ann:x:1:1:ann:/h:/bin/sh"},
		{"no newline at the end", "root:x:0:0:::", plan.Account{User: "ann", UID: 1, GID: 1, Home: "/h"}, "ann:x:1:1:ann:/h:/bin/sh"},
		{"odd characters", "", plan.Account{User: "a:n\nn", UID: 1, GID: 1, Home: "/h:x\n"}, "ann:x:1:1:ann:/hx:/bin/sh"},
		{"nothing left of the name", imagePasswd, plan.Account{User: ":\n", UID: 1, GID: 1}, "id-1:x:1:1::/:/bin/sh"},
		// In libc's "compat" mode these begin lines that take in or leave out others.
		{"a name that means more", imagePasswd, plan.Account{User: "+@ann", UID: 1, GID: 1}, "ann:x:1:1:+@ann:/:/bin/sh"},
		{"a name that is a remark", imagePasswd, plan.Account{User: "#ann", UID: 1, GID: 1}, "ann:x:1:1:#ann:/:/bin/sh"},
		{"no account", imagePasswd, plan.Account{UID: 7}, ""},
	} {
		got, changed := extendPasswd([]byte(tc.passwd), tc.a)
		want := tc.passwd
		if tc.want != "" {
			if want != "" && !strings.HasSuffix(want, "\n") {
				want += "\n"
			}
			want += tc.want + "\n"
		}
		if string(got) != want || changed != (tc.want != "") {
			t.Errorf("%s: got %q, changed %t; want %q", tc.name, got, changed, want)
		}
	}
}

func TestExtendGroup(t *testing.T) {
	got, changed := extendGroup([]byte("root:x:0:\nvideo:x:44:\n"), plan.Account{Groups: []plan.Group{
		{Name: "ann", GID: 1000}, {Name: "root", GID: 0}, {Name: "video", GID: 985}, {Name: "render", GID: 44}, {GID: 7},
	}})
	if want := "root:x:0:\nvideo:x:44:\nann:x:1000:\nvideo-985:x:985:\n"; string(got) != want || !changed {
		t.Errorf("got %q, %t", got, changed)
	}
	if got, changed := extendGroup(nil, plan.Account{}); got != nil || changed {
		t.Errorf("got %q, %t", got, changed)
	}
}

// TestAccountCache: an image is asked once, by all processes of a user.
func TestAccountCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	id := "sha256:" + strings.Repeat("ab", 32)
	f := &fakeAPI{copyFrom: func(path string) (io.ReadCloser, container.PathStat, error) {
		if path == groupPath {
			return nil, container.PathStat{}, fmt.Errorf("no file: %w", errdefs.ErrNotFound)
		}
		return tarOf("passwd", imagePasswd)
	}}
	for i := range 3 {
		e := &Engine{api: f, ready: true, cache: accountCache{dir: dir}}
		for range 2 {
			have, err := e.imageAccounts(t.Context(), "c", id)
			if err != nil || string(have.Passwd) != imagePasswd || have.Group != nil {
				t.Fatalf("got %+v, %v", have, err)
			}
		}
		if f.copies != 2 {
			t.Errorf("process %d: %d files were read, want 2", i, f.copies)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("cache holds %v, %v", files, err)
	}

	// A damaged file, an id that is none and no folder: the engine is asked.
	if err := os.WriteFile(filepath.Join(dir, files[0].Name()), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ dir, id string }{{dir, id}, {dir, "../../evil"}, {"", id}, {"/proc/nonexistent", id}} {
		f.copies = 0
		e := &Engine{api: f, ready: true, cache: accountCache{dir: tc.dir}}
		if _, err := e.imageAccounts(t.Context(), "c", tc.id); err != nil || f.copies != 2 {
			t.Errorf("%+v: %v after %d reads", tc, err, f.copies)
		}
	}
}

func TestAccountCacheFails(t *testing.T) {
	f := &fakeAPI{copyFrom: func(string) (io.ReadCloser, container.PathStat, error) {
		return nil, container.PathStat{}, errors.New("broken")
	}}
	e := &Engine{api: f, ready: true}
	for range 2 {
		if _, err := e.imageAccounts(t.Context(), "c", "sha256:1"); err == nil {
			t.Error("a failure to read is no missing file")
		}
	}
}
