package view

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crun.dev/crun/internal/mountinfo"
)

// tree makes files ("a/b", "a/" for a folder) and links ("a -> b") below a new
// folder, which it gives without links in its path.
func tree(t *testing.T, entries ...string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name, target, link := strings.Cut(entry, " -> ")
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		switch {
		case link:
			err = os.Symlink(strings.ReplaceAll(target, "TOP", top), path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func TestMissing(t *testing.T) {
	top := tree(t, "project/file", "data/sets/a/x", "store/real/y", "other/z", "data/indirect -> TOP/store/real",
		"project/in -> file", "project/seen -> TOP/data/sets/a", "project/up -> ../data/sets/../sets/a/x", "project/out -> TOP/other",
		"project/through -> TOP/data/indirect/y", "project/broken -> TOP/nowhere", "project/loop -> loop", "project/etc -> /etc/passwd",
		"project/dots -> ../other/z", "link -> data", "project/renamed -> TOP/mnt/a/x", "project/真 空 -> TOP/other/z")
	v := View{{top + "/project", top + "/project"}, {top + "/data", top + "/data"}, {top + "/link", top + "/link"}, {top + "/data/sets", top + "/mnt"}}
	for path, want := range map[string]string{
		"project/file": "", "project/in": "", "project/seen/x": "", "project/up": "", "project/nothing": "", "project": "", "": "",
		"project/out": "other", "project/dots": "other/z", "project/through": "store/real/y", "project/broken": "", "project/loop": "",
		"project/etc": "", "other/z": "other/z", "link/sets/a": "", "project/renamed": "", "project/真 空": "other/z",
	} {
		if want != "" {
			want = top + "/" + want
		}
		if got := v.Missing(filepath.Join(top, path)); got != want {
			t.Errorf("%s: %q is missing, want %q", path, got, want)
		}
	}
}

func TestLinks(t *testing.T) {
	top := tree(t, "project/a/b/deep -> TOP/other/x", "project/data -> TOP/other/sets", "project/in -> a", "other/x", "other/sets/1",
		"project/.venv/bin/python -> TOP/other/x", "project/env/pyvenv.cfg", "project/env/python -> TOP/other/x",
		"project/node_modules/m -> TOP/other/x", "project/conda/conda-meta/", "project/conda/x -> TOP/other/x")
	v := View{{top + "/project", top + "/project"}}
	found, whole := v.Links(top + "/project")
	want := []Link{{"data", top + "/other/sets"}, {"a/b/deep", top + "/other/x"}}
	if !slices.Equal(found, want) || !whole {
		t.Errorf("found %v, %v, want %v", found, whole, want)
	}
	if got, want := Folders(found), []string{top + "/other"}; !slices.Equal(got, want) {
		t.Errorf("folders %v, want %v", got, want)
	}
}

func TestLinksEnd(t *testing.T) {
	top := tree(t, "project/z/link -> TOP/other", "other")
	for n := range MaxEntries {
		if err := os.WriteFile(fmt.Sprintf("%s/project/%d", top, n), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, whole := (View{{top + "/project", top + "/project"}}).Links(top + "/project"); whole {
		t.Errorf("all of a project of more than %d files has been looked at", MaxEntries)
	}
}

func TestFolders(t *testing.T) {
	var many []Link
	for n := range 9 {
		many = append(many, Link{Missing: fmt.Sprintf("/archive/sets/%d/train", n)})
	}
	for _, c := range []struct {
		links []Link
		want  []string
	}{
		{many, []string{"/archive/sets"}},
		{many[:2], []string{"/archive/sets/0/train", "/archive/sets/1/train"}},
		{append(many[:1:1], Link{Missing: "/archive/sets"}), []string{"/archive/sets"}},
	} {
		if got := Folders(c.links); !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}

func TestReach(t *testing.T) {
	top := tree(t, "file", "dangling -> TOP/nowhere", "closed/x")
	for path, want := range map[string]string{
		"file": "", "": "", "nothing": "there is no " + top + "/nothing", "file/x": "there is no",
		"dangling": "is a link to " + top + "/nowhere, which does not exist",
	} {
		err := Daemon{}.Reach(filepath.Join(top, path))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if os.Getuid() == 0 {
		return // nothing is closed to root
	}
	os.Chmod(top+"/closed", 0)
	defer os.Chmod(top+"/closed", 0o755)
	if err := (Daemon{}).Reach(top + "/closed/x"); err == nil || !strings.Contains(err.Error(), top+"/closed is ") {
		t.Errorf("a closed folder: %v", err)
	}
}

const mounts = `22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
40 22 0:40 / /home/ada/mit\040leer rw,nosuid - fuse.sshfs ada@host:/x rw,user_id=1000,group_id=1000
41 22 0:41 / /mnt/open rw - fuse.rclone r: rw,user_id=1000,allow_other
42 22 8:1 / /mnt/ntfs rw - fuseblk /dev/sdb1 rw,user_id=0
43 22 0:43 / /mnt/nfs rw - nfs4 server:/x rw
`

func TestFuse(t *testing.T) {
	points := mountinfo.Parse(mounts)
	for path, closed := range map[string]bool{"/home/ada/mit leer/x": true, "/home/ada": false, "/mnt/open": false, "/mnt/ntfs": false, "/mnt/nfs": false, "/mnt/opener": false} {
		err := Daemon{}.fuse(path, on(points, path))
		if (err != nil) != closed {
			t.Errorf("%s: %v", path, err)
		}
		if err := (Daemon{Rootless: true}).fuse(path, on(points, path)); err != nil {
			t.Errorf("%s, for the caller's own engine: %v", path, err)
		}
	}
}

func TestLabels(t *testing.T) {
	for label, closed := range map[string]bool{
		"": false, "unconfined_u:object_r:user_home_t:s0": true, "system_u:object_r:container_file_t:s0:c1,c2": false, "system_u:object_r:nfs_t:s0": false, "x": false,
	} {
		if err := labelled("/x", label); (err != nil) != closed {
			t.Errorf("%q: %v", label, err)
		}
	}
}
