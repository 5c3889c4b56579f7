package build

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
)

func TestLocked(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	_, err := Build(t.Context(), noSolver{t}, e, Request{Project: open(t, file), Locked: true})
	if want := "there is no "; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `run "crun lock `+file+`"`) {
		t.Errorf("without a lock the error is %v", err)
	}
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file)}); err != nil {
		t.Fatal(err)
	}
	e.images = e.images[:1]
	if _, err := Build(t.Context(), solver{e}, e, Request{Project: open(t, file), Locked: true, NoCache: true}); err != nil {
		t.Fatal(err)
	}
	if len(e.solves) != 1 || len(e.builds) != 2 {
		t.Errorf("%d solves and %d builds, want 1 and 2", len(e.solves), len(e.builds))
	}
	rewrite(t, file, strings.Replace(environmentFile, "tqdm==4.66.5", "tqdm==4.66.4", 1))
	_, err = Build(t.Context(), noSolver{t}, e, Request{Project: open(t, file), Locked: true})
	var outdated *OutdatedError
	if !errors.As(err, &outdated) || outdated.Reason != "tqdm 4.66.5 -> 4.66.4 (pip)" {
		t.Errorf("with another line the error is %v", err)
	}
}

func TestRelock(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	relock := func(update Update) Relocked {
		t.Helper()
		result, err := Relock(t.Context(), solver{e}, e, Request{Project: open(t, file)}, update)
		if err != nil {
			t.Fatal(err)
		}
		if on := readLock(t, open(t, file)); on.Digest() != result.New.Digest() {
			t.Errorf("the file has another lock")
		}
		return result
	}
	if first := relock(Update{}); first.Old != nil || len(first.New.Conda) != 4 {
		t.Errorf("the first lock is %+v", first)
	}
	if again := relock(Update{}); again.Reason != "" || len(e.solves) != 1 {
		t.Errorf("nothing has changed, but %q, %d solves", again.Reason, len(e.solves))
	}
	if len(e.builds) != 0 {
		t.Errorf("%d images were built", len(e.builds))
	}
	// A pip package alone leaves conda's channels alone.
	relock(Update{Names: []string{"TQDM"}})
	if len(e.solves) != 1 || len(e.pips) != 2 || strings.Contains(string(e.pips[1].Files[dockerfiles.RequestFile]), "4.66.5\"\n    }") {
		t.Errorf("%d and %d solves; pip was asked\n%s", len(e.solves), len(e.pips), e.pips[len(e.pips)-1].Files[dockerfiles.RequestFile])
	}
	relock(Update{Names: []string{"numpy"}})
	asked := string(e.solves[1].Files[dockerfiles.RequestFile])
	if len(e.solves) != 2 || strings.Contains(asked, "numpy-1.26") || !strings.Contains(asked, "pytorch-2.4.0") {
		t.Errorf("conda was asked\n%s", asked)
	}
	relock(Update{All: true})
	if asked := string(e.solves[2].Files[dockerfiles.RequestFile]); !strings.Contains(asked, `"locked": null`) {
		t.Errorf("conda was asked\n%s", asked)
	}
	_, err := Relock(t.Context(), noSolver{t}, e, Request{Project: open(t, file)}, Update{Names: []string{"numpi"}})
	if err == nil || !strings.Contains(err.Error(), `crun.lock has no package "numpi" (did you mean "numpy"?)`) {
		t.Errorf("the error is %v", err)
	}
}

func TestRelockOfAnUnreadableLock(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	rewrite(t, filepath.Join(filepath.Dir(file), "crun.lock"), "<<<<<<< HEAD\n")
	_, err := Relock(t.Context(), noSolver{t}, e, Request{Project: open(t, file)}, Update{})
	if err == nil || !strings.Contains(err.Error(), "--update without names") {
		t.Errorf("the error is %v", err)
	}
	if _, err := Relock(t.Context(), solver{e}, e, Request{Project: open(t, file)}, Update{All: true}); err != nil {
		t.Error(err)
	}
}

// What a lock in a folder that cannot be written: crun lock has nothing else to give.
func TestRelockCannotWrite(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root may write everywhere; the folder is removed in place of that")
	}
	file, e := write(t, environmentFile), newEngine(t)
	p := open(t, file)
	e.during = func() { _ = os.RemoveAll(filepath.Dir(file)) }
	if _, err := Relock(t.Context(), solver{e}, e, Request{Project: p}, Update{}); err == nil || !strings.Contains(err.Error(), "writing ") {
		t.Errorf("the error is %v", err)
	}
}

func TestKeep(t *testing.T) {
	for name, test := range map[string]struct {
		edit   [2]string
		update Update
		// What is taken without a question, and what is preferred.
		conda, pip bool
		want       []string
	}{
		"nothing":         {[2]string{"#", "#"}, Update{}, true, true, []string{"python", "numpy", "pytorch", "pyyaml", "tqdm"}},
		"a variable":      {[2]string{"DATA:", "DATEN:"}, Update{}, true, true, []string{"python", "numpy", "pytorch", "pyyaml", "tqdm"}},
		"a pip line":      {[2]string{"tqdm==4.66.5", "tqdm"}, Update{}, true, false, []string{"python", "numpy", "pytorch", "pyyaml", "tqdm"}},
		"a conda line":    {[2]string{"pytorch=2.*", "pytorch=2.4"}, Update{}, false, false, []string{"python", "numpy", "pytorch", "pyyaml", "tqdm"}},
		"another channel": {[2]string{"[conda-forge]", "[conda-forge, nvidia]"}, Update{}, false, false, nil},
		"all":             {[2]string{"#", "#"}, Update{All: true}, false, false, nil},
		"a conda package": {[2]string{"#", "#"}, Update{Names: []string{"numpy"}}, false, false, []string{"python", "pytorch", "pyyaml", "tqdm"}},
		"a pip package":   {[2]string{"#", "#"}, Update{Names: []string{"tqdm"}}, true, false, []string{"python", "numpy", "pytorch", "pyyaml"}},
		"one that is new": {[2]string{"- pyyaml", "- scipy"}, Update{Names: []string{"scipy"}}, false, false, []string{"python", "numpy", "pytorch", "pyyaml", "tqdm"}},
	} {
		file := write(t, environmentFile)
		old := open(t, file)
		rewrite(t, file, strings.Replace(environmentFile, test.edit[0], test.edit[1], 1))
		p := open(t, file)
		p.Lock = testLock(old)
		k := p.keep(p.Lock.Base, test.update)
		var got []string
		for _, pkg := range k.packages {
			got = append(got, pkg.Name)
		}
		for _, d := range k.distributions {
			got = append(got, strings.ToLower(d.Name))
		}
		if k.conda != test.conda || k.pip != test.pip || !slices.Equal(got, test.want) {
			t.Errorf("%s: conda %v, pip %v, preferred %q", name, k.conda, k.pip, got)
		}
	}
}

// A branch has the commit that the lock has, until somebody asks for another.
func TestLockedLine(t *testing.T) {
	const commit = "@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	lines := "    - git+https://git.example.org/a.git\n    - b[x] @ git+https://git.example.org/b.git@main#subdirectory=py\n    - git+https://git.example.org/c.git@v1\n    - tqdm\n"
	text := "name: x\nchannels: [conda-forge]\ndependencies:\n  - pip\n  - pip:\n" + lines
	file := write(t, text)
	old := open(t, file)
	rewrite(t, file, strings.Replace(text, "@v1", "@v2", 1))
	p := open(t, file)
	p.Lock = testLock(old)
	p.Lock.Pip = []lock.Distribution{
		{Name: "a", URL: "git+https://git.example.org/a.git" + commit},
		{Name: "b", URL: "git+https://git.example.org/b.git" + commit + "#subdirectory=py"},
		{Name: "c", URL: "git+https://git.example.org/c.git" + commit},
	}
	got := p.pipRequest(p.keep(p.Lock.Base, Update{})).Pip
	want := []string{
		"a @ git+https://git.example.org/a.git" + commit, "b[x] @ git+https://git.example.org/b.git" + commit + "#subdirectory=py",
		"git+https://git.example.org/c.git@v2", "tqdm",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := p.pipRequest(p.keep(p.Lock.Base, Update{Names: []string{"a"}})).Pip[0]; got != "git+https://git.example.org/a.git" {
		t.Errorf("an update asks for %s", got)
	}
}

// Two packages of one repository keep their own folders, and their own commits.
func TestLockedLineOfOneRepository(t *testing.T) {
	const address, a, b = "git+https://git.example.org/mono.git", "@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "@bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	lines := "    - one @ " + address + "#subdirectory=one\n    - two[x] @ " + address + "@dev#subdirectory=two\n    - three @ " + address + "#subdirectory=three\n    - tqdm\n"
	text := "name: x\nchannels: [conda-forge]\ndependencies:\n  - pip\n  - pip:\n" + lines
	file := write(t, text)
	old := open(t, file)
	rewrite(t, file, strings.Replace(text, "tqdm", "tqdm==4.66.5", 1))
	p := open(t, file)
	p.Lock = testLock(old)
	p.Lock.Pip = []lock.Distribution{
		{Name: "one", URL: address + a + "#subdirectory=one"},
		{Name: "two", URL: address + b + "#subdirectory=two"},
	}
	want := []string{
		"one @ " + address + a + "#subdirectory=one", "two[x] @ " + address + b + "#subdirectory=two", "three @ " + address + "#subdirectory=three", "tqdm==4.66.5",
	}
	if diff := cmp.Diff(want, p.pipRequest(p.keep(p.Lock.Base, Update{})).Pip); diff != "" {
		t.Error(diff)
	}
}

// An environment from standard input has no file that a lock could lie beside.
func TestRelockOfStandardInput(t *testing.T) {
	p, err := OpenText([]byte(environmentFile), environment.Stdin, Options{Base: baseName, Platform: "linux-64"})
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	if _, err := Relock(t.Context(), noSolver{t}, e, Request{Project: p}, Update{}); err == nil || !strings.Contains(err.Error(), "has no place for a lock") {
		t.Errorf("the error is %v", err)
	}
	if _, err := Build(t.Context(), noSolver{t}, e, Request{Project: p, Locked: true}); err == nil || !strings.Contains(err.Error(), "leave --locked out") || strings.Contains(err.Error(), "crun lock") {
		t.Errorf("with --locked the error is %v", err)
	}
}
