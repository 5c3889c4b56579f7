package profiles

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes files, named by their path below a new folder, and gives it. A
// name that ends in / is a folder.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range names {
		path := filepath.Join(root, name)
		if name[len(name)-1] == '/' {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("# "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestDiscover(t *testing.T) {
	type found struct {
		Name  string
		Layer Layer
	}
	for _, test := range []struct {
		name string
		tree []string
		dir  string
		want []found // names of files above dir relative to the tree, after "/"
	}{
		{"nothing", []string{"repo/.git/"}, "repo", nil},
		{"every layer, the nearest first",
			[]string{"repo/.git/", "repo/profiles.yaml", "repo/a/b/profiles.yaml", "user/profiles.yaml", "etc/profiles.yaml"}, "repo/a/b",
			[]found{{"profiles.yaml", Project}, {"/repo/profiles.yaml", Project}, {"/user/profiles.yaml", User}, {"/etc/profiles.yaml", System}}},
		{"not above the repository", []string{"profiles.yaml", "repo/.git/", "repo/a/"}, "repo/a", nil},
		{"a worktree, where .git is a file", []string{"profiles.yaml", "repo/.git", "repo/a/"}, "repo/a", nil},
		{"a folder of that name", []string{"repo/.git/", "repo/profiles.yaml/"}, "repo", nil},
		{"the user's folder as working directory", []string{"user/.git/", "user/profiles.yaml"}, "user",
			[]found{{"profiles.yaml", Project}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := tree(t, test.tree...)
			files, err := Discover(filepath.Join(root, test.dir), filepath.Join(root, "user"), filepath.Join(root, "etc"))
			if err != nil {
				t.Fatal(err)
			}
			var got []found
			for _, f := range files {
				if rel, err := filepath.Rel(root, f.Name); err == nil && filepath.IsAbs(f.Name) {
					f.Name = "/" + rel
				}
				got = append(got, found{f.Name, f.Layer})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("files differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiscoverDoesNotTrustOpenFolders(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving a file to somebody else needs root")
	}
	root := tree(t, "open/profiles.yaml", "open/mine/.git/", "open/mine2/")
	open := filepath.Join(root, "open")
	if err := os.Chmod(open, 0o1777); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ uid, want int }{{0, 1}, {12345, 0}} {
		if err := os.Lchown(filepath.Join(open, FileName), test.uid, 0); err != nil {
			t.Fatal(err)
		}
		files, err := Discover(filepath.Join(open, "mine2"), "", "")
		if err != nil {
			t.Fatal(err)
		}
		if len(files) != test.want {
			t.Errorf("with uid %d found %v, want %d files", test.uid, files, test.want)
		}
	}
}
