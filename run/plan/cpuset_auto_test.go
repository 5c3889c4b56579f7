package plan

import (
	"strings"
	"testing"
)

// twoSockets has two nodes of four cores with two threads each: CPU n and n+8.
func twoSockets() (cores []Core) {
	for n := range 8 {
		cores = append(cores, Core{CPUs: []int{n, n + 8}, Node: n / 4})
	}
	return cores
}

func TestAutoCPUSet(t *testing.T) {
	gpus := []HostGPU{{"GPU-a", 1}, {"GPU-b", 0}, {"GPU-c", -1}}
	for _, test := range []struct {
		name  string
		cpus  int64 // thousandths
		held  string
		gpus  *GPULimit
		cores []Core
		want  string // the set, or the beginning of an error
	}{
		{"whole cores", 4000, "", nil, twoSockets(), "0-1,8-9"},
		{"a part counts as one", 1500, "", nil, twoSockets(), "0,8"},
		{"one alone", 1000, "", nil, twoSockets(), "0"},
		{"not those that others hold", 4000, "0-1,8-9", nil, twoSockets(), "2-3,10-11"},
		{"half a core comes last", 2000, "0", nil, twoSockets(), "1,9"},
		{"half cores when nothing else is free", 2000, "0-7", nil, twoSockets(), "8-9"},
		{"the node that it fills best", 4000, "4-5,12-13", nil, twoSockets(), "6-7,14-15"},
		{"one node where one is enough", 6000, "0-1,8-9", nil, twoSockets(), "4-6,12-14"},
		{"two where it is not", 10000, "", nil, twoSockets(), "0-4,8-12"},
		{"near the GPU", 2000, "", &GPULimit{Count: 1}, twoSockets(), "4,12"},
		{"near the GPU by index", 2000, "", &GPULimit{IDs: []string{"1"}}, twoSockets(), "0,8"},
		{"near the GPU by UUID", 2000, "", &GPULimit{IDs: []string{"GPU-a"}}, twoSockets(), "4,12"},
		{"near the GPU of a MIG device", 2000, "", &GPULimit{IDs: []string{"0:1"}}, twoSockets(), "4,12"},
		{"near the GPU, the rest elsewhere", 10000, "", &GPULimit{Count: 1}, twoSockets(), "0,4-8,12-15"},
		{"a GPU that is nowhere", 2000, "", &GPULimit{IDs: []string{"2"}}, twoSockets(), "0,8"},
		{"no GPU", 2000, "", &GPULimit{None: true}, twoSockets(), "0,8"},
		{"cores that nobody knows", 2000, "0,2", nil, nil, "1,3"},
		{"too few", 4000, "0-12", nil, twoSockets(), "flag --cpuset: cpuset is auto, and of the engine's host's CPUs 3 are free, not 4; pinned are other (0-12): wait, ask for fewer cpus"},
		{"without cpus", 0, "", nil, twoSockets(), "flag --cpuset: cpuset is auto, which takes as many cores as cpus says: set cpus too"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := small()
			r.Origin["cpuset"] = "flag --cpuset"
			r.Limits.CPUSet, r.Limits.CPUs, r.Limits.GPUs = ptr(AutoCPUSet), nil, test.gpus
			if test.cpus > 0 {
				r.Limits.CPUs = &Amount{Value: test.cpus * 1_000_000}
			}
			r.Host.Cores, r.Host.GPUs, r.Host.GPUDriver = test.cores, gpus, "nvidia"
			if test.held != "" {
				held, err := ParseCPUSet(test.held)
				if err != nil {
					t.Fatal(err)
				}
				r.Host.Held = []HeldCPUs{{"other", held}}
			}
			p, warnings, err := Make(r)
			if err != nil {
				if !strings.HasPrefix(err.Error(), test.want) {
					t.Errorf("error %q, want %q", err, test.want)
				}
				return
			}
			if got := p.Spec.Linux.Resources.CPU.Cpus; got != test.want || p.Spec.Annotations["dev.crun.cpuset"] != got {
				t.Errorf("%s, label %q, want %s", got, p.Spec.Annotations["dev.crun.cpuset"], test.want)
			}
			if !strings.HasPrefix(p.Origin["cpuset"], "flag --cpuset, auto: free cores") {
				t.Errorf("origin %q", p.Origin["cpuset"])
			}
			if elsewhere := strings.Contains(test.name, "the rest elsewhere"); elsewhere != strings.Contains(strings.Join(warnings, "\n"), "not all of the CPUs") {
				t.Errorf("warnings %q", warnings)
			}
		})
	}
}
