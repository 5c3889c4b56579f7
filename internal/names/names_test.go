package names

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"A": true, "_a1": true, "HF_TOKEN": true,
		"": false, "1A": false, "A-B": false, "A=B": false, "A\n": false, "A\nB": false, "Ä": false, "A\x00": false,
	} {
		if IsVariable(name) != want {
			t.Errorf("IsVariable(%q) is %v", name, !want)
		}
	}
	for name, want := range map[string]bool{
		"conda-forge": true, "nvidia/label/cuda-12.4.0": true, "_x": true,
		"": false, "/x": false, "x/": false, "x//y": false, "../x": false, "x/../y": false, "x/.": false, "-x": false, "x\n": false, "a b": false,
	} {
		if IsChannel(name) != want {
			t.Errorf("IsChannel(%q) is %v", name, !want)
		}
	}
	for name, want := range map[string]bool{
		"lab": true, "uid-1000": true, "0": true,
		"": false, "-a": false, "A": false, "a,sharing=locked": false, "a\n": false, strings.Repeat("a", 33): false,
	} {
		if IsCacheDomain(name) != want {
			t.Errorf("IsCacheDomain(%q) is %v", name, !want)
		}
	}
	if got := Distribution("Foo.bar__BAZ-.x"); got != "foo-bar-baz-x" {
		t.Errorf("Distribution gives %q", got)
	}
}
