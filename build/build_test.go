package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"crun.dev/crun/dockerfiles"
	"crun.dev/crun/internal/turn"
)

func TestBuildAndBuildAgain(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	result, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file), Names: []string{"lab/train:v1"}})
	if err != nil {
		t.Fatal(err)
	}
	l := readLock(t, open(t, file))
	if result.Lock != l.Digest() || !result.Built || result.ID != "sha256:built1" {
		t.Errorf("the result is %+v, the lock's digest %s", result, l.Digest())
	}
	if want := "crun/train:" + l.Digest()[len("sha256:"):][:12]; result.Tag != want {
		t.Errorf("the tag is %s, want %s", result.Tag, want)
	}
	if l.Python != "3.9.18" || l.Base.ImageID != baseID || l.Indexes[0] != "pypi" || l.Pip[0].Index != "pypi" {
		t.Errorf("the lock is %+v", l)
	}

	again, err := Build(t.Context(), noSolver{t}, e, Request{Project: open(t, file), Names: []string{"lab/train:v2"}})
	if err != nil {
		t.Fatal(err)
	}
	if again.ID != result.ID || again.Built {
		t.Errorf("the second build gives %+v", again)
	}
	if _, err := e.Image(t.Context(), "lab/train:v2"); err != nil {
		t.Errorf("the image that was there did not get the further name: %v", err)
	}
}

// Bounds reach the steps and decide nothing about the image.
func TestLimits(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file), Limits: Limits{Memory: 1 << 30, CPUs: 2}}); err != nil {
		t.Fatal(err)
	}
	for _, job := range slices.Concat(e.solves, e.pips, e.builds) {
		if got := strings.Join(strings.Fields(string(job.Secrets[dockerfiles.SecretLimits])), ""); got != `{"memory":1073741824,"cpus":2}` {
			t.Errorf("%s is told %q", job.Title, got)
		}
	}
	if _, err := Build(t.Context(), noSolver{t}, e, Request{Project: open(t, file), Limits: Limits{Memory: 2 << 30}}); err != nil {
		t.Fatal(err)
	}
	if _, ok := (&builder{project: open(t, file)}).job("", &dockerfiles.Context{}).Secrets[dockerfiles.SecretLimits]; ok {
		t.Error("a step without bounds is told some")
	}
}

func TestLockWithoutImage(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file)}); err != nil {
		t.Fatal(err)
	}
	e.images = e.images[:1]
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file)}); err != nil {
		t.Fatal(err)
	}
	if len(e.solves) != 1 || len(e.builds) != 2 {
		t.Errorf("%d solves and %d builds, want 1 and 2", len(e.solves), len(e.builds))
	}
}

func TestWhatMakesALockStale(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, file string, e *engine)
		note   string
		// How often conda and pip packages have been chosen then, and somebody
		// looked at the base.
		solves, pips, looks int
	}{
		"another pip line": {func(t *testing.T, file string, _ *engine) {
			rewrite(t, file, strings.Replace(environmentFile, "tqdm==4.66.5", "tqdm==4.66.4", 1))
		}, "tqdm 4.66.5 -> 4.66.4", 1, 2, 1},
		"another conda line": {func(t *testing.T, file string, _ *engine) {
			rewrite(t, file, strings.Replace(environmentFile, "- pyyaml", "- pyyaml=6.*", 1))
		}, "pyyaml any -> 6.*", 2, 2, 2},
		"another variable": {func(t *testing.T, file string, _ *engine) {
			rewrite(t, file, strings.Replace(environmentFile, "/data", "/mnt", 1))
		}, "variable DATA changed", 1, 1, 1},
		"another base": {func(_ *testing.T, _ string, e *engine) { e.images[0].ID = "sha256:" + strings.Repeat("e", 64) }, "the base image " + baseName + " has changed", 2, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			file, e := write(t, environmentFile), newEngine(t)
			if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file)}); err != nil {
				t.Fatal(err)
			}
			test.change(t, file, e)
			var said notes
			if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file), Notes: said.add}); err != nil {
				t.Fatal(err)
			}
			if len(e.solves) != test.solves || len(e.pips) != test.pips || e.looks != test.looks {
				t.Errorf("%d solves of conda and %d of pip packages, %d looks at the base, want %d, %d and %d", len(e.solves), len(e.pips), e.looks, test.solves, test.pips, test.looks)
			}
			if text := strings.Join(said.lines, "\n"); !strings.Contains(text, test.note) {
				t.Errorf("it says %q, want %q in it", text, test.note)
			}
		})
	}
}

// A lock that cannot be read is somebody's work gone wrong: it is never written
// over unasked.
func TestALockThatCannotBeRead(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"conflict":      {"<<<<<<< HEAD\n", "a merge conflict is left here"},
		"newer version": {"version: 99\n", "99"},
		"cut":           {"version: 1\nkey: sha", "crun.lock:"},
		"no lock":       {"hello\n", "crun.lock:"},
	} {
		t.Run(name, func(t *testing.T) {
			file, e := write(t, environmentFile), newEngine(t)
			path := filepath.Join(filepath.Dir(file), "crun.lock")
			rewrite(t, path, test.text)
			_, err := Build(t.Context(), noSolver{t}, e, Request{Project: open(t, file)})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "--no-cache") {
				t.Errorf("the error is %v, want %q and --no-cache in it", err, test.want)
			}
			if data, _ := os.ReadFile(path); string(data) != test.text {
				t.Errorf("the file holds %q now", data)
			}
			if _, next, err := open(t, file).Dockerfile(); err != nil || !strings.Contains(next, "crun.lock cannot be read") {
				t.Errorf("what would be done is %q, %v", next, err)
			}
			if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file), NoCache: true}); err != nil {
				t.Errorf("with --no-cache: %v", err)
			}
		})
	}
}

func TestALockThatIsNoFile(t *testing.T) {
	for name, make := range map[string]func(string) error{
		"folder": func(path string) error { return os.Mkdir(path, 0o755) },
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		t.Run(name, func(t *testing.T) {
			file, e := write(t, environmentFile), newEngine(t)
			if err := make(filepath.Join(filepath.Dir(file), "crun.lock")); err != nil {
				t.Fatal(err)
			}
			_, err := Build(t.Context(), noSolver{t}, e, Request{Project: open(t, file)})
			if err == nil || !strings.Contains(err.Error(), "crun.lock: is no regular file: move it away") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func rewrite(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCommentsDoNotCount(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file)}); err != nil {
		t.Fatal(err)
	}
	rewrite(t, file, "# a comment\n"+environmentFile)
	if _, err := Build(t.Context(), noSolver{t}, e, Request{Project: open(t, file)}); err != nil {
		t.Fatal(err)
	}
}

func TestNoCache(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	for range 2 {
		if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file), NoCache: true}); err != nil {
			t.Fatal(err)
		}
	}
	if len(e.solves) != 2 || len(e.builds) != 2 || !e.builds[1].NoCache {
		t.Errorf("%d solves and %d builds, want 2 and 2 without the cache", len(e.solves), len(e.builds))
	}
}

// The packages are chosen, also where the image cannot be built.
func TestLockIsKeptWhenTheImageFails(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.broken = errors.New("disk full")
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file)}); !errors.Is(err, e.broken) {
		t.Fatalf("the error is %v", err)
	}
	readLock(t, open(t, file))
	e.broken = nil
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file)}); err != nil {
		t.Fatal(err)
	}
	if len(e.solves) != 1 {
		t.Errorf("%d solves, want 1", len(e.solves))
	}
}

func TestFailedSolveLeavesNothing(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.answer = map[string]any{"failure": map[string]string{"kind": "conda", "text": "No candidates were found for pytorch 2.*."}}
	_, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file)})
	var noSolution *NoSolutionError
	if !errors.As(err, &noSolution) {
		t.Fatalf("the error is %v", err)
	}
	want := fmt.Sprintf("%s: the packages have no solution:\n%s:5:5: pytorch=2.*\n  No candidates were found for pytorch 2.*.\nchange the versions, or add a channel that has them", file, file)
	if err.Error() != want {
		t.Errorf("the error is\n%s\nwant\n%s", err, want)
	}
	entries, _ := os.ReadDir(filepath.Dir(file))
	if len(entries) != 1 {
		t.Errorf("the folder holds %v", entries)
	}
}

// A base image that the engine does not have is named by the digest that its
// registry gives.
func TestBaseOfARegistry(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.images = nil
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file)}); err != nil {
		t.Fatal(err)
	}
	want := "lab/base@sha256:" + strings.Repeat("d", 64)
	if l := readLock(t, open(t, file)); l.Base.Digest != want || l.Base.ImageID != "" {
		t.Errorf("the lock's base is %+v", l.Base)
	}
	if !strings.Contains(e.builds[0].Dockerfile, "FROM "+want+" AS image\n") {
		t.Errorf("the image is not built from %s", want)
	}
}

func TestTwoBuildsAtOnce(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	var group sync.WaitGroup
	results := make([]Result, 4)
	for i := range results {
		group.Go(func() {
			var err error
			if results[i], err = Build(t.Context(), solver{e}, e, Request{Project: open(t, file)}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(e.solves) != 1 || len(e.builds) != 1 {
		t.Errorf("%d solves and %d builds, want 1 and 1", len(e.solves), len(e.builds))
	}
	for _, result := range results {
		if result.ID != results[0].ID {
			t.Errorf("the builds give %v", results)
		}
	}
}

func TestCanceledWhileWaiting(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	unlock, err := turn.Take(t.Context(), filepath.Dir(file), func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	var said notes
	request := Request{Project: open(t, file), Notes: func(line string) { said.add(line); cancel() }}
	if _, err := Build(ctx, noSolver{t}, e, request); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if len(said.lines) != 1 || !strings.Contains(said.lines[0], "waiting") {
		t.Errorf("it says %q", said.lines)
	}
}

// A step without network is a chance of the moment: one more try, and no third.
func TestUnreachableIsTriedOnceMore(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.answer = solution{Failure: &failure{Kind: "index", Text: "no route"}}
	var said notes
	_, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file), Notes: said.add})
	if err == nil || !strings.Contains(err.Error(), "the pip packages cannot be fetched:\n  no route") {
		t.Errorf("the error is %v", err)
	}
	if len(e.solves) != 2 || !strings.Contains(strings.Join(said.lines, "\n"), "trying once more") {
		t.Errorf("%d solves; it says %q", len(e.solves), said.lines)
	}
}

// containerd's store has a digest for what no registry has, too. The registry
// is asked once: what the lock says of the same image holds.
func TestDigestOfTheStore(t *testing.T) {
	for _, registry := range []bool{true, false} {
		file, e := write(t, environmentFile), newEngine(t)
		e.images[0].Digests, e.images[0].OwnDigests, e.registry = []string{"lab/base@" + baseID}, true, registry
		for range 2 {
			if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file)}); err != nil {
				t.Fatal(err)
			}
			base := open(t, file).Lock.Base
			if registry && (base.Digest != "lab/base@"+baseID || base.ImageID != "") || !registry && (base.Digest != "" || base.ImageID != baseID) {
				t.Errorf("registry %v: the lock has %+v", registry, base)
			}
		}
		if !slices.Equal(e.reached, []string{"lab/base@" + baseID}) {
			t.Errorf("registry %v: it was asked for %q", registry, e.reached)
		}
	}
}

// Find looks: only Use, and a build, name the image.
func TestFindNamesNothing(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	built, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file)})
	if err != nil {
		t.Fatal(err)
	}
	e.images[len(e.images)-1].Tags = nil
	found, _, err := Find(t.Context(), e, open(t, file))
	if err != nil || found.ID != built.ID {
		t.Fatalf("found %+v, %v", found, err)
	}
	if _, err := e.Image(t.Context(), found.Tag); err == nil {
		t.Errorf("looking for the image named it %s", found.Tag)
	}
	if _, _, err := Use(t.Context(), e, open(t, file)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Image(t.Context(), found.Tag); err != nil {
		t.Errorf("the image that is used has no name: %v", err)
	}
}
