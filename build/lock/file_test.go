package lock

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// arm is an example for another platform.
func arm() *Lock {
	l := example()
	l.Platform, l.Request.Platform = "linux-aarch64", "linux-aarch64"
	l.Key = l.Request.Key()
	for _, packages := range [][]Package{l.Conda, l.Miniconda} {
		for i := range packages {
			if packages[i].Subdir == "linux-64" {
				packages[i].Subdir = "linux-aarch64"
			}
		}
	}
	return l
}

// A file of one platform is what every crun reads, and one of two has both, in
// the same order whoever came first.
func TestSeveralPlatforms(t *testing.T) {
	if string(MarshalFile(example())) != string(example().Marshal()) {
		t.Error("a file of one platform is another one than its lock")
	}
	path := filepath.Join(t.TempDir(), "crun.lock")
	if err := Write(path, arm(), example()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != string(MarshalFile(example(), arm())) || strings.Count(string(data), "# The exact packages") != 1 {
		t.Errorf("the order of two platforms counts, or the file has two heads:\n%s", data)
	}
	// As git for Windows writes it.
	for _, text := range []string{string(data), strings.ReplaceAll(string(data), "\n", "\r\n")} {
		locks, err := ParseFile([]byte(text), path)
		if err != nil || len(locks) != 2 {
			t.Fatalf("%d locks, %v", len(locks), err)
		}
		for _, want := range []*Lock{example(), arm()} {
			if got := Of(locks, want.Platform); got == nil || got.Digest() != want.Digest() {
				t.Errorf("the lock of %s is another one than was written", want.Platform)
			}
		}
	}
	if _, err := Parse(data, path); err == nil {
		t.Error("a lock of two platforms is taken for that of one")
	}
}

func TestSeveralPlatformsRefused(t *testing.T) {
	two := string(MarshalFile(example(), arm()))
	second := strings.Count(two[:strings.Index(two, "\n---\n")+5], "\n") + 1
	at := func(text, part string) int { return strings.Count(text[:strings.LastIndex(text, part)], "\n") + 1 }
	unknown := strings.Replace(two, "platform: linux-aarch64\npython", "platform: linux-riscv\npython", 1)
	conflict := strings.Replace(two, "\n---\n", "\n---\n<<<<<<< HEAD\n", 1)
	for name, test := range map[string]struct {
		text string
		line int
		want string
	}{
		"a platform twice":       {strings.Replace(two, "\n---\n", "\n---\n"+strings.TrimPrefix(string(example().Marshal()), header)+"---\n", 1), second, "the packages for linux-64 are there twice"},
		"a platform of no image": {unknown, at(unknown, "platform: linux-riscv"), "linux-riscv"},
		"a merge conflict":       {conflict, second, "a merge conflict is left here"},
		"nothing behind the bar": {string(example().Marshal()) + "---\n", 0, "is no crun.lock"},
	} {
		_, err := ParseFile([]byte(test.text), "crun.lock")
		place := "crun.lock:"
		if test.line > 0 {
			place = "crun.lock:" + strconv.Itoa(test.line) + ":"
		}
		if err == nil || !strings.Contains(err.Error(), place) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is\n%v\nwant %s and %q", name, err, place, test.want)
		}
	}
}
