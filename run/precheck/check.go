package precheck

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"crun.dev/crun/internal/shellword"
	"crun.dev/crun/run/plan"
)

// Check compares what a run needs with what there is. It is pure. The findings
// come in the order of Names.
func Check(f Facts, need Need, t Thresholds) []Finding {
	c := &checker{facts: f, need: need, t: t}
	for _, one := range []struct {
		name  string
		check func()
	}{{Disk, c.disk}, {Memory, c.memory}, {Runs, c.runs}, {Shm, c.shm}, {GPUs, c.gpus}} {
		if t.skips(one.name) {
			continue
		}
		c.name = one.name
		one.check()
	}
	return c.found
}

type checker struct {
	facts Facts
	need  Need
	t     Thresholds
	name  string
	found []Finding
}

// add keeps a finding. amount is what there is, for the key.
func (c *checker) add(refused bool, what string, amount int64, text, remedy string) {
	c.found = append(c.found, Finding{
		Check: c.name, Refused: refused || slices.Contains(c.t.Refuse, c.name) || slices.Contains(c.t.Refuse, All), Text: text, Remedy: remedy,
		Key: fmt.Sprintf("%s %s %d", c.name, what, bits.Len64(uint64(max(amount, 0)))),
	})
}

// disk looks at each file system once, with all that lies on it.
func (c *checker) disk() {
	var done []uint64
	for _, p := range c.facts.Places {
		if slices.Contains(done, p.Device) {
			continue
		}
		done = append(done, p.Device)
		var names []string
		wanted, floor := int64(0), false
		store, root, images := false, false, false
		for _, q := range c.facts.Places {
			if q.Device != p.Device {
				continue
			}
			images = images || q.Images || q.What == StorePlace
			if q.What == "" {
				root = true
				continue
			}
			names = append(names, q.What+" "+q.Path)
			floor = true
			store = store || q.What == StorePlace
			if q.What == TmpdirPlace {
				wanted = max(wanted, c.need.Scratch)
			}
		}
		what := strings.Join(names, ", ")
		if what == "" {
			what = "/"
		}
		percent := p.UsedPercent()
		seen := fmt.Sprintf("%s: %s free of %s", what, plan.FormatBytes(p.Free), plan.FormatBytes(p.Total))
		remedy := "crun prune frees what nobody needs"
		if !images { // prune frees the engine's disk and no other
			remedy = fmt.Sprintf("make room there (du -xhd1 %s | sort -h shows what takes it)", shellword.Quote(p.Path))
		}
		switch {
		case floor && p.Free < floorFree:
			c.add(true, what, p.Free, seen+", too little to start a run", remedy)
		case wanted > p.Free:
			c.add(false, what, p.Free, fmt.Sprintf("%s, and the run's tmpdir may take %s", seen, plan.FormatBytes(wanted)), remedy+", or ask for less (--tmpdir SIZE,disk)")
		case floor && p.Free < c.t.Free:
			c.add(false, what, p.Free, fmt.Sprintf("%s, less than %s", seen, plan.FormatBytes(c.t.Free)), remedy)
		case (store || root) && percent >= c.t.Used && p.Total > 0:
			c.add(false, what, p.Free, fmt.Sprintf("%s, %d %% used", seen, percent), remedy)
		}
	}
}

func (c *checker) memory() {
	available, need := c.facts.Available, c.need.Memory
	if available < 0 {
		return
	}
	seen := "the host has " + plan.FormatBytes(available) + " of memory available"
	remedy := "end what is not needed (crun ps, ps -eo rss,user,args --sort -rss)"
	if need > available {
		remedy += fmt.Sprintf(", or ask for less (--memory %dm)", max(available>>20, 64))
	}
	switch {
	case available < floorAvailable && need > available:
		c.add(true, "", available, seen+", less than an import of torch takes", remedy)
	case need > available:
		c.add(false, "", available, fmt.Sprintf("%s, and the run may take %s: the kernel would end some process of the host", seen, plan.FormatBytes(need)), remedy)
	case available < c.t.Available:
		c.add(false, "", available, seen+", less than "+plan.FormatBytes(c.t.Available), remedy)
	}
}

func (c *checker) runs() {
	f := c.facts
	together := f.RunsMemory + c.need.Memory
	if f.HostMemory <= 0 || f.Running == 0 || together <= f.HostMemory {
		return
	}
	count := f.Running
	this := ""
	if c.need.Memory > 0 {
		count, this = count+1, ", with this one,"
	}
	c.add(false, "", f.HostMemory*8/together,
		fmt.Sprintf("the %d runs of this host%s may take %s of memory together, and it has %s", count, this, plan.FormatBytes(together), plan.FormatBytes(f.HostMemory)),
		"wait for one to end (crun ps), or ask for less (--memory SIZE)")
}

func (c *checker) shm() {
	size := c.need.Shm
	if size == 0 {
		size = engineShm
	}
	workers, of := c.need.Workers, ""
	if c.need.Ranks > 1 { // each has its own
		workers, of = workers*c.need.Ranks, fmt.Sprintf(" (%d for each of %d processes)", workers, c.need.Ranks)
	}
	wanted := int64(workers) * shmOfWorker
	if workers < 2 || size >= wanted {
		return
	}
	c.add(false, fmt.Sprint(workers), size,
		fmt.Sprintf("/dev/shm has %s for %d DataLoader workers%s, who may need %s", plan.FormatBytes(size), workers, of, plan.FormatBytes(wanted)),
		fmt.Sprintf("a full one ends in \"Bus error\": ask for more (--shm-size %dm), or use fewer workers", wanted>>20))
}

func (c *checker) gpus() {
	f := c.facts
	if c.need.GPUCount > len(f.GPUs) && len(f.GPUs) > 0 {
		c.add(true, "count", int64(len(f.GPUs)), fmt.Sprintf("%d GPUs are asked for, and this machine has %d", c.need.GPUCount, len(f.GPUs)),
			fmt.Sprintf("ask for at most that (--gpus %d)", len(f.GPUs)))
		return
	}
	for _, g := range f.GPUs {
		if !slices.Contains(c.need.GPUs, g.Index) || g.Free < 0 {
			continue
		}
		seen := fmt.Sprintf("GPU %d (%s) has %s of its %s free", g.Index, g.Name, plan.FormatBytes(g.Free), plan.FormatBytes(g.Total))
		remedy := "see who uses it with nvidia-smi"
		if free := c.freest(); free >= 0 && free != g.Index {
			remedy += fmt.Sprintf(", or take another one (--gpus device=%d)", free)
		}
		switch {
		case g.Free < floorGPU:
			c.add(true, fmt.Sprint(g.Index), g.Free, seen+", less than torch takes before the first tensor", remedy)
		case g.Free < c.t.GPUFree:
			c.add(false, fmt.Sprint(g.Index), g.Free, seen+", less than "+plan.FormatBytes(c.t.GPUFree), remedy)
		}
	}
}

// freest is the GPU with the most memory that is free enough, or -1.
func (c *checker) freest() int {
	best, most := -1, c.t.GPUFree-1
	for _, g := range c.facts.GPUs {
		if g.Free > most {
			best, most = g.Index, g.Free
		}
	}
	return best
}
