package lock

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/internal/golden"
)

func digits(digit string, n int) string { return strings.Repeat(digit, n) }

// example is a lock that uses every field.
func example() *Lock {
	request := Request{
		Environment: json.RawMessage(`{"conda":["numpy=1.26","pip","python=3.9"],"name":"train","channels":["conda-forge"],"pip":[["einops==0.8.0","git+https://git.example.org/lab/tools.git"]]}`),
		Base:        "debian:bookworm-slim", CUDA: "12.4", Platform: "linux-64",
		Apt: []string{"libgl1", "git"}, Miniconda: true, LayoutVersion: 1,
	}
	return &Lock{
		Version: Version, Key: request.Key(), Platform: "linux-64", Python: "3.9.18",
		Base:     Base{Reference: "debian:bookworm-slim", Digest: "docker.io/library/debian@sha256:" + digits("1", 64), User: "1000:100"},
		Virtual:  []string{"__linux=0", "__glibc=2.36", "__cuda=12.4"},
		Channels: []string{"conda-forge", "https://mirror.example.edu/lab"},
		Indexes:  []string{"pypi", "https://download.example.org/whl/cu121"},
		Request:  request,
		Apt:      []DebianPackage{{Name: "libgl1", Version: "1.6.0-1"}, {Name: "git", Version: "1:2.39.5-0+deb12u2"}, {Name: "liberror-perl", Version: "0.17029-2", Auto: true}},
		Compiler: "base",
		Miniconda: []Package{{
			Name: "conda", Version: "24.1.2", Build: "py39hf3d152e_0", Channel: "conda-forge", Subdir: "linux-64",
			File: "conda-24.1.2-py39hf3d152e_0.conda", SHA256: digits("2", 64),
		}},
		Conda: []Package{
			{
				Name: "python", Version: "3.9.18", Build: "h0755675_1_cpython", BuildNumber: 1, Channel: "conda-forge", Subdir: "linux-64",
				File: "python-3.9.18-h0755675_1_cpython.conda", SHA256: digits("3", 64), MD5: digits("4", 32), Size: 23800555,
				Depends: []string{"libgcc-ng >=12", "bzip2 >=1.0.8,<2.0a0"}, Constrains: []string{"python_abi 3.9.* *_cp39"},
				License: "Python-2.0", Timestamp: 1703342310000,
			},
			{
				Name: "einops", Version: "0.8", Build: "0", Channel: "https://mirror.example.edu/lab", Subdir: "noarch",
				File: "einops-0.8-0.tar.bz2", MD5: "00000000000000000000000000000000", NoArch: "python", TrackFeatures: []string{"x"},
				PythonSitePackagesPath: "lib/python3.9/site-packages",
			},
		},
		Pip: []Distribution{
			{Name: "tools", URL: "git+https://git.example.org/lab/tools.git@" + digits("a", 40)},
			{Name: "Einops", Version: "0.8.0", Index: "pypi", Hashes: []string{"sha256:" + digits("6", 64), "sha256:" + digits("5", 64)}, Markers: `python_version >= "3.8"`},
		},
	}
}

func TestGolden(t *testing.T) {
	golden.Check(t, "crun.lock", string(example().Marshal()))
	// A change here makes every image in the world be built again.
	if digest := example().Digest(); digest != "sha256:9e777f86173b6c268842352f777f722202e89686b36b6cac3c8bf3d296e3ebcd" {
		t.Errorf("the digest is %s", digest)
	}
}

func TestRoundTrip(t *testing.T) {
	l, err := Parse(example().Marshal(), "crun.lock")
	if err != nil {
		t.Fatal(err)
	}
	want := example().Canonical()
	want.Request = want.Request.canonical()
	if diff := cmp.Diff(want, l); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l.Request.Key() != example().Key {
		t.Error("the request has another key when it is read again")
	}
	if l.Digest() != example().Digest() {
		t.Error("the lock has another digest when it is read again")
	}
	crlf := strings.ReplaceAll(string(example().Marshal()), "\n", "\r\n")
	if l, err := Parse([]byte(crlf), "crun.lock"); err != nil || l.Digest() != example().Digest() {
		t.Errorf("with CRLF, as git may check it out on Windows: %v", err)
	}
}

func TestOrderDoesNotCount(t *testing.T) {
	l := example()
	before := l.Digest()
	for _, list := range [][]string{l.Virtual, l.Pip[1].Hashes, l.Request.Apt} {
		slices.Reverse(list)
	}
	slices.Reverse(l.Conda)
	slices.Reverse(l.Pip)
	if l.Digest() != before {
		t.Error("the order of packages changes the digest")
	}
	slices.Reverse(l.Channels)
	if l.Digest() == before {
		t.Error("the order of channels does not change the digest")
	}
}

func TestMarshalKeepsLock(t *testing.T) {
	l, untouched := example(), example()
	l.Marshal()
	if diff := cmp.Diff(untouched, l); diff != "" {
		t.Errorf("Marshal changed the lock (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	text := string(example().Marshal())
	for _, test := range []struct{ name, old, new, want string }{
		{"newer", "version: 1\n", "version: 2\nfuture: x\n", `crun.lock:3:10: version 2 is newer than this crun reads (1); upgrade crun, or remove the file and run "crun build"`},
		{"no version", "version: 1\n", "", "version is missing or no number; take the file from git again"},
		{"version of another form", "version: 1\n", "version: one\n", "crun.lock:3:10: version is missing or no number"},
		{"unknown key", "platform: linux-64\npython:", "plattform: linux-64\npython:", `crun.lock:5:1: unknown key "plattform" (did you mean "platform"?)`},
		{"unknown key of a package", "    build_number: 1\n", "    build_numbers: 1\n", `unknown key "build_numbers" (did you mean "build_number"?)`},
		{"second key", "version: 1\n", "version: 1\nversion: 1\n", `crun.lock:4:1: key "version" is here a second time (first on line 3)`},
		{"text for a number", "size: 23800555", "size: big", "size is text; allowed is a number"},
		{"number for a text", "version: 24.1.2", "version: 24.1", "version is a number; allowed is text"},
		{"text for a list", "virtual:\n", "virtual: x\nindexes:\n", "virtual is text; allowed is a list"},
		{"alias", "platform: linux-64\npython: 3.9.18\n", "platform: &p linux-64\npython: *p\n", "crun.lock:6:9: python is an alias; allowed is text"},
		{"bad key", "key: sha256:", "key: md5:", `crun.lock:4:6: key is "md5:`},
		{"bad platform", "platform: linux-64\npython:", "platform: win-64\npython:", `platform is "win-64"; allowed are linux-64, linux-aarch64`},
		{"bad hash", digits("3", 64), digits("3", 63), `conda[1].sha256 is "` + digits("3", 63) + `"; allowed is 64 hexadecimal digits`},
		{"no hash", "    md5: \"" + digits("0", 32) + "\"\n", "", "conda[0] has neither sha256 nor md5"},
		{"way out of the channel", "file: python-3.9.18-h0755675_1_cpython.conda", "file: ../python.conda", `conda[1].file is "../python.conda"`},
		{"shell", "name: tools", "name: $(id)", `pip[1].name is "$(id)"`},
		{"option", "name: tools", "name: --index-url", `pip[1].name is "--index-url"`},
		{"other channel", "channel: conda-forge", "channel: nvidia", `.channel is "nvidia", which is none of channels`},
		{"address beside a channel", "channel: conda-forge\n", "channel: conda-forge\n    url: https://example.org/a/x-1-0.conda\n", `.url stands beside a channel, or is the address of another file than`},
		{"password of a file", "channel: conda-forge\n", "url: https://u:hunter2@example.org/x-1-0.conda\n", `.url holds a credential`},
		{"other index", "index: pypi", "index: qypi", `pip[0].index is "qypi", which is none of indexes`},
		{"branch", "@" + digits("a", 40), "@main", "pip[1].url names no commit of 40 digits"},
		{"password", "https://mirror.example.edu", "https://u:hunter2@mirror.example.edu", "channels[1] holds a credential, which must not be in a lock"},
		{"token", "https://mirror.example.edu/lab", "https://mirror.example.edu/t/hunter2/lab", "channels[1] holds a token (/t/...), which must not be in a lock"},
		{"token in the middle", "https://mirror.example.edu/lab", "https://mirror.example.edu/conda/t/ab-01234567-89ab-cdef-0123-456789abcdef/lab", "channels[1] holds a token (/t/...), which must not be in a lock"},
		{"token behind", "https://mirror.example.edu/lab", "https://mirror.example.edu/lab?a=1&access_token=hunter2", "channels[1] holds a parameter that carries a secret"},
		{"base", "reference: debian:bookworm-slim", "reference: \"a\\nRUN id\"", `base.reference is "a\nRUN id"`},
		{"conflict", "conda:\n", "<<<<<<< HEAD\nconda:\n", "a merge conflict is left here"},
		{"not YAML", "conda:\n", "conda: [\n", "is not YAML"},
		{"request", "environment: '{", "environment: '", "request.environment is not JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed := strings.ReplaceAll(text, test.old, test.new)
			if changed == text {
				t.Fatalf("%q is not in the lock", test.old)
			}
			_, err := Parse([]byte(changed), "crun.lock")
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "crun.lock") {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the secret is told: %v", err)
			}
		})
	}
	for _, file := range []string{"", "# x\n", "x", "[]", "\x00", "version: [1]\n", "a: &a [*a]\n"} {
		if l, err := Parse([]byte(file), "crun.lock"); err == nil {
			t.Errorf("%q gives %+v", file, l)
		}
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "crun.lock")
	for range 2 {
		if err := Write(path, example()); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != string(example().Marshal()) {
		t.Errorf("%v\n%s", err, data)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	alone(t, dir, "crun.lock")
}

func TestWriteThroughLink(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	path, target := filepath.Join(dir, "crun.lock"), filepath.Join(elsewhere, "locks")
	if err := os.WriteFile(target, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, example()); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(target); err != nil || len(data) == 0 {
		t.Errorf("the link's target was not written: %v", err)
	}
}

func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "crun.lock")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, example()); err == nil || !strings.HasPrefix(err.Error(), "writing "+path+": ") {
		t.Errorf("over a folder: %v", err)
	}
	alone(t, dir, "crun.lock")

	err := Write(filepath.Join(dir, "nowhere", "crun.lock"), example())
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no folder: %v", err)
	}

	other := t.TempDir()
	bad := example()
	bad.Channels[1] = "https://u:hunter2@mirror.example.edu/lab"
	bad.Conda = bad.Conda[:1]
	err = Write(filepath.Join(other, "crun.lock"), bad)
	if err == nil || !strings.Contains(err.Error(), "channels[1] holds a credential") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a password: %v", err)
	}
	alone(t, other)
}

// alone asserts that no half-written file is left in dir.
func alone(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("%s holds (-want +got):\n%s", dir, diff)
	}
}
