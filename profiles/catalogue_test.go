package profiles

import (
	"os"
	"testing"
)

// The profiles that crun carries must suit hosts from a laptop to a server.
func TestCatalogue(t *testing.T) {
	data, err := os.ReadFile("../profiles.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set, warnings, err := Load([]File{Catalogue(data)})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range warnings {
		t.Errorf("warning: %v", w)
	}
	if name, _ := set.Default(); name != "medium" {
		t.Errorf("the default is %q", name)
	}
	hosts := []struct {
		name      string
		gib, cpus int64
	}{{"16 GiB laptop", 16, 4}, {"2 cores, 24 GiB", 24, 2}, {"server", 512, 64}}
	for _, name := range set.Names() {
		p, err := set.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		if p.Description == "" || p.Memory == nil || p.CPUs == nil || p.Pids == nil || p.ShmSize == nil || p.TmpDir == nil || p.NoFile == nil || p.Threads == nil {
			t.Errorf("profile %s leaves a limit open", name)
		}
		for _, host := range hosts {
			// A kernel shows a few percent less than what is built in.
			memory, cpus := host.gib*giB/100*97, host.cpus*nanoCPU
			on := p.onHost(memory, cpus)
			warnings, err := on.Check()
			if len(warnings) > 0 || err != nil {
				t.Errorf("%s on %s: %v %v", name, host.name, warnings, err)
			}
			if on.Memory.Value > memory || on.CPUs.Value > cpus {
				t.Errorf("%s does not fit on %s: memory %s, cpus %s", name, host.name, formatSize(on.Memory.Value), formatCPUs(on.CPUs.Value))
			}
		}
	}
	small, err := set.Resolve("small")
	if err != nil {
		t.Fatal(err)
	}
	if small.Memory.Value != 4*giB || small.CPUs.Value != 2*nanoCPU || *small.NoFile != 65536 {
		t.Error("small is not the guide's --memory=4g --cpus=2.0 with 65536 descriptors")
	}
}
