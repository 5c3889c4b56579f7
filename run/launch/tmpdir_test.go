package launch

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crun.dev/crun/run/engine/enginetest"
	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
)

// onDisk gives the plan of a run a tmpdir on disk.
func onDisk(t *testing.T, size int64, command func(*enginetest.Process) int) (*fixture, *plan.Plan) {
	t.Helper()
	f := newFixture(t, command)
	p := testPlan(t)
	p.Name, p.Grace = "disk", plan.Duration(time.Millisecond)
	p.Scratch, p.ScratchSize = filepath.Join(t.TempDir(), "crun-"+p.ID), size
	r, lock, err := f.store.Create(p, record.NewState(time.Now(), nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Unlock() })
	f.record = r
	f.owner = f.newOwner()
	f.owner.Pause = time.Millisecond
	return f, p
}

// fill writes to the tmpdir, and ends once the monitor has seen what is wanted.
func fill(t *testing.T, bytes int, seen func(*enginetest.Process) int) func(*enginetest.Process) int {
	return func(p *enginetest.Process) int {
		tmp := p.Plan.ScratchTmp()
		if info, err := os.Stat(tmp); err != nil || info.Mode()&(os.ModePerm|os.ModeSticky) != 0o777|os.ModeSticky {
			t.Errorf("the tmpdir: %v, %v", info, err)
		}
		if info, err := os.Stat(p.Plan.Scratch); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder of the tmpdir: %v, %v", info, err)
		}
		data := []byte(strings.Repeat("x", bytes))
		os.Mkdir(filepath.Join(tmp, "closed"), 0o755)
		if err := os.WriteFile(filepath.Join(tmp, "closed", "a"), data, 0o400); err != nil {
			t.Error(err)
		}
		os.Link(filepath.Join(tmp, "closed", "a"), filepath.Join(tmp, "again"))
		os.Chmod(filepath.Join(tmp, "closed"), 0o500)
		return seen(p)
	}
}

func (f *fixture) has(what string) bool {
	events, _ := f.record.Events()
	return slices.ContainsFunc(events, func(e record.Event) bool { return e.What == what })
}

func TestTmpdirOnDisk(t *testing.T) {
	for _, c := range []struct {
		name   string
		size   int64
		code   int
		nearly bool
		over   bool
	}{
		{name: "within its size", size: 4 << 20},
		{name: "nearly full", size: 1<<20 + 64<<10, nearly: true},
		{name: "over its size", size: 1 << 20, code: 143, over: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f *fixture
			var p *plan.Plan
			f, p = onDisk(t, c.size, fill(t, 1<<20, func(p *enginetest.Process) int {
				if c.over {
					<-p.Signals
				}
				for c.nearly && !f.has("tmpdir nearly full") {
					time.Sleep(time.Millisecond)
				}
				return c.code
			}))
			var noted []string
			f.owner.Noted = func(text string) { noted = append(noted, text) }
			if err := f.owner.Start(t.Context(), nil, nil); err != nil {
				t.Fatal(err)
			}
			s := f.state()
			if c.nearly && (len(noted) != 1 || noted[0] != s.Warnings[0] || !strings.Contains(noted[0], " on disk; above 1 MiB the run is ended")) {
				t.Errorf("it noted %q", noted)
			} else if !c.nearly && noted != nil {
				t.Errorf("it noted %q", noted)
			}
			if *s.ExitCode != c.code || (s.TmpdirUsed > 0) != c.over || (len(s.Warnings) > 0) != c.nearly {
				t.Errorf("state %+v", s)
			}
			if c.over && s.TmpdirUsed < 1<<20 || s.TmpdirUsed >= 2<<20 {
				t.Errorf("%d bytes used: a file of two names counts once", s.TmpdirUsed)
			}
			if _, err := os.Lstat(p.Scratch); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", p.Scratch, err)
			}
		})
	}
}

// A tmpdir goes with its run also where nobody saw the end.
func TestTmpdirBehindACrash(t *testing.T) {
	f, p := onDisk(t, 1<<20, func(*enginetest.Process) int { return 0 })
	if err := os.MkdirAll(p.ScratchTmp(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.owner.Adopt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(p.Scratch); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", p.Scratch, err)
	}
}

// Another's folder of the run's name is neither used nor removed.
func TestTmpdirIsNotTakenOver(t *testing.T) {
	f, p := onDisk(t, 1<<20, nil)
	if err := os.Mkdir(p.Scratch, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := f.owner.Start(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), "making the run's tmpdir") {
		t.Errorf("started: %v", err)
	}
	if _, err := os.Lstat(p.Scratch); err != nil {
		t.Error("removed: ", err)
	}
}

func TestFullPlaces(t *testing.T) {
	size := int64(16 << 20)
	p, _, err := plan.Make(plan.Request{
		ID: plan.NewID(time.Now(), [3]byte{1}), Name: "train", Profile: "small", Command: []string{"true"},
		Limits: plan.Limits{ShmSize: &size, TmpDir: &plan.TmpDir{Size: size}},
		Image:  plan.ImageFacts{Image: plan.Image{Ref: "image", ID: "sha256:0"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	used := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		counters *inside.Counters
		want     string
	}{
		{nil, ""},
		{&inside.Counters{TmpUsed: used(size / 2), ShmUsed: used(0)}, ""},
		{&inside.Counters{TmpUsed: used(size), ShmUsed: used(size - 4096)}, "/tmp was full (16 MiB of 16 MiB); more is --tmpdir SIZE\n/dev/shm was full (15.9 MiB of 16 MiB); more is --shm-size SIZE"},
	} {
		o := &Owner{plan: p}
		if got := strings.Join(o.fullPlaces(c.counters), "\n"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestDiskUseEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n := DiskUse(ctx, t.TempDir()); n != 0 {
		t.Errorf("%d bytes after the end", n)
	}
}
