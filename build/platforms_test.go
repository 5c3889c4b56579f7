package build

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"crun.dev/crun/build/lock"
)

func openOn(t *testing.T, file, platform string) *Project {
	t.Helper()
	p, err := Open(file, Options{Base: baseName, ToolboxBase: "debian:bookworm-slim", Platform: platform, Miniconda: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The packages for one platform are chosen without losing those for another.
func TestLocksOfTwoPlatforms(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	var said notes
	relock := func(platform string) Relocked {
		t.Helper()
		said = notes{}
		result, err := Relock(t.Context(), solver{e}, e, Request{Project: openOn(t, file, platform), Notes: said.add}, Update{})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	first := relock("linux-64").New
	_, err := Build(t.Context(), noSolver{t}, e, Request{Project: openOn(t, file, "linux-aarch64"), Locked: true})
	var outdated *OutdatedError
	if !errors.As(err, &outdated) || !strings.Contains(err.Error(), "has packages for linux-64, and none for linux-aarch64") ||
		!strings.Contains(err.Error(), "crun lock --platform linux/arm64 "+file) {
		t.Errorf("with the other platform's lock alone the error is %v", err)
	}
	second := relock("linux-aarch64")
	if second.Old != nil || second.New.Platform != "linux-aarch64" || len(said.lines) > 0 {
		t.Errorf("the second platform's lock came of %+v, with %q", second.Old, said.lines)
	}
	locks, err := ReadLocks(openOn(t, file, "linux-64").LockFile)
	if err != nil || !slices.Equal(lock.PlatformsOf(locks), []string{"linux-64", "linux-aarch64"}) || locks[0].Digest() != first.Digest() {
		t.Fatalf("the file has %v (%v)", lock.PlatformsOf(locks), err)
	}
	for _, platform := range []string{"linux-64", "linux-aarch64"} {
		if err := CheckLock(openOn(t, file, platform)); err != nil {
			t.Errorf("the lock for %s is outdated: %v", platform, err)
		}
	}
	// An edit that one platform has followed is told of the other.
	rewrite(t, file, strings.Replace(environmentFile, "tqdm==4.66.5", "tqdm==4.66.4", 1))
	if relock("linux-64"); len(said.lines) != 1 || !strings.Contains(said.lines[0], "the packages for linux-aarch64 are those of another state") ||
		!strings.Contains(said.lines[0], "crun lock --platform linux/arm64") {
		t.Errorf("of the other platform is said %q", said.lines)
	}
	if relock("linux-aarch64"); len(said.lines) != 0 {
		t.Errorf("of two locks that fit is said %q", said.lines)
	}
}
