package inside

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"crun.dev/crun/run/plan"
)

// show writes limits and counters for comparison: "-" could not be read.
func show(l Limits, c Counters) string {
	n := func(v *int64) string {
		switch {
		case v == nil:
			return "-"
		case *v == plan.Unlimited:
			return unlimited
		}
		return fmt.Sprint(*v)
	}
	d := func(v *plan.Duration) string {
		if v == nil {
			return "-"
		}
		return time.Duration(*v).String()
	}
	return fmt.Sprintf("version %d memory %s reserved %s swap %s quota %s/%s pids %s\n", l.CgroupVersion, n(l.Memory), n(l.MemoryReservation), n(l.MemorySwap), n(l.CPUQuota), n(l.CPUPeriod), n(l.Pids)) +
		fmt.Sprintf("peak %s current %s anon %s file %s shmem %s swapped %s max %s oom %s\n",
			n(c.MemoryPeak), n(c.MemoryCurrent), n(c.Anon), n(c.File), n(c.Shmem), n(c.Swap), n(c.MemoryMax), n(c.OOMKills)) +
		fmt.Sprintf("cpu %s periods %s throttled %s %s pids %s peak %s max %s\n",
			d(c.CPUUsage), n(c.CPUPeriods), n(c.ThrottledPeriods), d(c.ThrottledTime), n(c.Pids), n(c.PidsPeak), n(c.PidsMax))
}

func TestCgroups(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			last := len(archive.Files) - 1
			want := string(archive.Files[last].Data)
			archive.Files = archive.Files[:last]
			root := t.TempDir()
			if err := txtar.Write(archive, root); err != nil {
				t.Fatal(err)
			}

			var l Limits
			var c Counters
			group := findCgroup(root)
			group.limits(&l)
			group.counters(&c)
			if diff := cmp.Diff(want, show(l, c)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCgroupOfTheTest(t *testing.T) {
	l := Read(Expectation{}, []string{"OMP_NUM_THREADS=3", "HOME=/x", "broken"})
	if l.CPUs < 1 || l.CPUSet == "" || l.Rlimits["nofile"].Hard == 0 || l.Rlimits["nofile"].Soft != nil || l.Rlimits["stack"].Soft == nil {
		t.Errorf("%+v", l)
	}
	if diff := cmp.Diff(map[string]string{"OMP_NUM_THREADS": "3"}, l.Env); diff != "" {
		t.Error(diff)
	}
	if l.OOMScoreAdj == nil || l.Swap == nil {
		t.Errorf("oom_score_adj %v, swap of the host %v", l.OOMScoreAdj, l.Swap)
	}
	if c := ReadCounters(Limits{Foreign: true}); c.MemoryPeak != nil || c.MemoryCurrent != nil || c.Pids != nil {
		t.Errorf("what others count: %+v", c)
	}
	if ReadCounters(Limits{}) == nil {
		t.Error("no counters")
	}
}

func FuzzMounts(f *testing.F) {
	f.Add(`29 23 0:25 / /sys/fs/cg\040roup rw shared:4 - cgroup2 cgroup2 rw`, "/a/b")
	f.Add(`1 2 3 / \ - cgroup x cpu`, "")
	f.Fuzz(func(t *testing.T, info, path string) {
		for _, dir := range dirsOf(t.TempDir(), parseMounts(info), "", path) {
			if !filepath.IsAbs(dir) {
				t.Errorf("%q", dir)
			}
		}
	})
}
