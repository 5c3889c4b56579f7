package precheck

import (
	"strings"
	"testing"
)

const gib = 1 << 30

// roomy is a machine on which nothing is short.
func roomy() Facts {
	return Facts{
		Places: []Place{
			{What: StorePlace, Path: "/var/lib/docker", Free: 100 * gib, Used: 100 * gib, Total: 210 * gib, Device: 1},
			{What: TmpdirPlace, Path: "/scratch", Free: 500 * gib, Used: 100 * gib, Total: 600 * gib, Device: 2},
			{What: ProjectPlace, Path: "/home/a/p", Free: 50 * gib, Used: 10 * gib, Total: 60 * gib, Device: 3},
			{Path: "/", Free: 100 * gib, Used: 100 * gib, Total: 210 * gib, Device: 1},
		},
		Available: 20 * gib, HostMemory: 24 * gib,
	}
}

func TestCheck(t *testing.T) {
	small := Need{Memory: 4 * gib, Scratch: 5 * gib, Shm: gib, Workers: 4}
	for _, c := range []struct {
		name    string
		facts   func(*Facts)
		need    Need
		t       func(*Thresholds)
		want    string // of the one finding, "" for none
		refused bool
	}{
		{name: "nothing is short", need: small},
		{name: "a laptop with 5 GB free", need: small, facts: func(f *Facts) { f.Places[0].Free = 5 * gib },
			want: "image store /var/lib/docker: 5 GiB free of 210 GiB, less than 10 GiB: crun prune frees"},
		{name: "no room for the engine", need: small, facts: func(f *Facts) { f.Places[0].Free = gib - 1 }, refused: true,
			want: "too little to start a run"},
		{name: "the tmpdir may not fit", need: Need{Scratch: 600 * gib}, want: "and the run's tmpdir may take 600 GiB: make room there (du -xhd1 /scratch | sort -h shows what takes it), or ask for less (--tmpdir SIZE,disk)"},
		{name: "a full project", need: small, facts: func(f *Facts) { f.Places[2].Free = 0 }, refused: true, want: "project /home/a/p: 0 bytes free of 60 GiB, too little to start a run: make room there (du -xhd1 /home/a/p | sort -h shows what takes it)"},
		{name: "a full project beside the images", need: small, facts: func(f *Facts) {
			f.Places = []Place{{What: ProjectPlace, Path: "/home/a/p", Total: 60 * gib, Device: 1, Images: true}}
		}, refused: true, want: "too little to start a run: crun prune frees what nobody needs"},
		{name: "91 % of the image store", need: small, facts: func(f *Facts) { f.Places[0].Free, f.Places[0].Used = 10*gib, 100*gib }, want: "91 % used"},
		{name: "91 % of the project's disk", need: small, facts: func(f *Facts) { f.Places[2].Used = 600 * gib }},
		{name: "91 % of / alone", need: small, facts: func(f *Facts) {
			f.Places[3] = Place{Path: "/", Free: 9 * gib, Used: 91 * gib, Total: 100 * gib, Device: 9}
		}, want: "/: 9 GiB free of 100 GiB, 91 % used"},
		{name: "one file system for all is one finding", need: small, facts: func(f *Facts) {
			for i := range f.Places {
				f.Places[i].Device, f.Places[i].Free = 1, 3*gib
			}
		}, want: "image store /var/lib/docker, tmpdir /scratch, project /home/a/p: 3 GiB free of 210 GiB, and the run's tmpdir may take 5 GiB"},
		{name: "the machine's own threshold", need: small, t: func(t *Thresholds) { t.Free = 60 * gib }, want: "project /home/a/p: 50 GiB free of 60 GiB, less than 60 GiB"},
		{name: "the machine refuses", need: small, facts: func(f *Facts) { f.Places[0].Free = 5 * gib }, t: func(t *Thresholds) { t.Refuse = []string{Disk} }, refused: true,
			want: "5 GiB free"},
		{name: "skipped", need: small, facts: func(f *Facts) { f.Places[0].Free = 0 }, t: func(t *Thresholds) { t.Skip = []string{Disk} }},

		{name: "less memory than the run may take", need: small, facts: func(f *Facts) { f.Available = 3 * gib },
			want: "the host has 3 GiB of memory available, and the run may take 4 GiB: the kernel would end some process of the host: end what is not needed (crun ps, ps -eo rss,user,args --sort -rss), or ask for less (--memory 3072m)"},
		{name: "less than 2 GiB", need: Need{Memory: gib}, facts: func(f *Facts) { f.Available = 3 * gib / 2 }, want: "1.5 GiB of memory available, less than 2 GiB"},
		{name: "hardly any", need: small, facts: func(f *Facts) { f.Available = gib / 4 }, refused: true, want: "less than an import of torch takes"},
		{name: "hardly any, and enough", need: Need{Memory: gib / 8}, facts: func(f *Facts) { f.Available = gib / 4 }, want: "less than 2 GiB"},
		{name: "nobody knows", need: small, facts: func(f *Facts) { f.Available = -1 }},

		{name: "runs that fit", need: small, facts: func(f *Facts) { f.Running, f.RunsMemory = 5, 20*gib }},
		{name: "runs that do not", need: small, facts: func(f *Facts) { f.Running, f.RunsMemory = 6, 24*gib }, want: "the 7 runs of this host, with this one, may take 28 GiB of memory together, and it has 24 GiB"},
		{name: "this one alone is the plan's to refuse", need: Need{Memory: 30 * gib}, facts: func(f *Facts) { f.Available = -1 }},

		{name: "shm too small for the workers", need: Need{Shm: 64 << 20, Workers: 4}, want: "/dev/shm has 64 MiB for 4 DataLoader workers, who may need 256 MiB: a full one ends in \"Bus error\": ask for more (--shm-size 256m), or use fewer workers"},
		{name: "the engine's own size", need: Need{Workers: 2}, want: "/dev/shm has 64 MiB for 2 DataLoader workers"},
		{name: "one worker", need: Need{Workers: 1}},
		{name: "workers of ranks", need: Need{Shm: gib, Workers: 4, Ranks: 8}, want: "/dev/shm has 1 GiB for 32 DataLoader workers (4 for each of 8 processes), who may need 2 GiB: a full one ends in \"Bus error\": ask for more (--shm-size 2048m)"},
		{name: "room for those of ranks", need: Need{Shm: gib, Workers: 4, Ranks: 4}},
		{name: "one worker of each rank", need: Need{Workers: 1, Ranks: 2}, want: "/dev/shm has 64 MiB for 2 DataLoader workers"},

		{name: "more GPUs than there are", need: Need{GPUCount: 4, GPUs: []int{0}}, facts: gpus, refused: true, want: "4 GPUs are asked for, and this machine has 2: ask for at most that (--gpus 2)"},
		{name: "a GPU in use", need: Need{GPUCount: 1, GPUs: []int{0}}, facts: gpus, want: "GPU 0 (A100) has 1 GiB of its 80 GiB free, less than 2 GiB: see who uses it with nvidia-smi, or take another one (--gpus device=1)"},
		{name: "a GPU that is full", need: Need{GPUs: []int{0}}, facts: func(f *Facts) { gpus(f); f.GPUs[0].Free = 0 }, refused: true, want: "less than torch takes"},
		{name: "a GPU that is free", need: Need{GPUCount: 1, GPUs: []int{1}}, facts: gpus},
		{name: "no GPU known", need: Need{GPUCount: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts, thresholds := roomy(), Defaults()
			if c.facts != nil {
				c.facts(&facts)
			}
			if c.t != nil {
				c.t(&thresholds)
			}
			found := Check(facts, c.need, thresholds)
			if c.want == "" {
				if len(found) > 0 {
					t.Fatalf("found %+v", found)
				}
				return
			}
			if len(found) != 1 || !strings.Contains(found[0].Warning(), c.want) || found[0].Refused != c.refused {
				t.Fatalf("found %+v, want one with %q, refused %v", found, c.want, c.refused)
			}
			if flag := "--skip-check " + found[0].Check; !strings.Contains(found[0].Error(), flag) {
				t.Errorf("the refusal %q does not name %s", found[0].Error(), flag)
			}
		})
	}
}

func gpus(f *Facts) {
	f.GPUs = []GPU{{Index: 0, Name: "A100", Free: gib, Total: 80 * gib}, {Index: 1, Name: "A100", Free: 79 * gib, Total: 80 * gib}}
}

// What has been said is said again once the room has halved.
func TestKey(t *testing.T) {
	key := func(free int64) string {
		f := roomy()
		f.Places[0].Free = free
		return Check(f, Need{}, Defaults())[0].Key
	}
	if key(9*gib) != key(9*gib-5<<20) {
		t.Error("a little less is another key")
	}
	if key(9*gib) == key(4*gib) {
		t.Error("half is the same key")
	}
}

func TestUsedPercentIsThatOfDf(t *testing.T) {
	for _, c := range []struct {
		used, free int64
		want       int
	}{{50, 50, 50}, {901, 100, 91}, {900, 100, 90}, {0, 0, 0}, {7, 0, 100}} {
		if got := (Place{Used: c.used, Free: c.free}).UsedPercent(); got != c.want {
			t.Errorf("%d used, %d free: %d %%, want %d", c.used, c.free, got, c.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	places := Places([2]string{StorePlace, dir + "/not/yet"}, [2]string{TmpdirPlace, ""}, [2]string{"", "/proc"})
	if with := Places([2]string{StorePlace, dir}, [2]string{ProjectPlace, dir}, [2]string{"", "/dev"}); len(with) != 3 || !with[1].Images || with[2].Images {
		t.Errorf("%+v", with)
	}
	if len(places) != 1 || places[0].Path != dir+"/not/yet" || places[0].Total <= 0 || places[0].Free > places[0].Total {
		t.Errorf("%+v", places)
	}
}

func TestUnknown(t *testing.T) {
	if got := Unknown(append(Names(), All)); got != "" {
		t.Errorf("%q is unknown", got)
	}
	if got := Unknown([]string{Disk, "dsik"}); got != "dsik" {
		t.Errorf("%q", got)
	}
}
