package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// AutoCPUSet is the value of Limits.CPUSet by which the plan chooses the CPUs.
const AutoCPUSet = "auto"

// Core is a physical core of the engine's host.
type Core struct {
	CPUs []int // its hardware threads
	Node int   // its NUMA node
}

// HeldCPUs are CPUs that another run is pinned to.
type HeldCPUs struct {
	Run  string // its name
	CPUs []int
}

// HostGPU is a GPU of the engine's host, in the order of the indices.
type HostGPU struct {
	UUID string
	Node int // its NUMA node, -1 where nobody knows
}

// chooseCPUs gives as many CPUs as cpus says, of those that no other run is
// pinned to: near the run's GPUs, whole cores before parts of some, and on one
// NUMA node where that is possible. What cannot be had is refused: shared CPUs
// would be less than what was asked.
func (m *maker) chooseCPUs() []int {
	host := &m.req.Host
	if m.cores == 0 {
		m.errorf("%scpuset is auto, which takes as many cores as cpus says: set cpus too (--cpus 4)", m.at("cpuset"))
		return nil
	}
	cores := host.Cores
	if len(cores) == 0 {
		for n := range host.CPUs {
			cores = append(cores, Core{CPUs: []int{n}})
		}
	}
	held := map[int]bool{}
	var holders []string
	for _, h := range host.Held {
		for _, cpu := range h.CPUs {
			held[cpu] = true
		}
		holders = append(holders, fmt.Sprintf("%s (%s)", h.Run, FormatCPUSet(h.CPUs)))
	}
	near := m.gpuNodes()
	cpus, free := pickCPUs(m.cores, cores, held, near)
	if cpus == nil {
		text := ""
		if len(holders) > 0 {
			text = "; pinned are " + strings.Join(holders, ", ")
		}
		m.errorf("%scpuset is auto, and of %s's CPUs %d are free, not %d%s: wait, ask for fewer cpus, or leave cpuset out, by which CPUs are shared", m.at("cpuset"), m.host(), free, m.cores, text)
		return nil
	}
	why := "auto: free cores"
	if len(near) > 0 {
		why += " near the GPUs, on NUMA node " + joinInts(near)
		if slices.ContainsFunc(cores, func(c Core) bool {
			return !slices.Contains(near, c.Node) && slices.ContainsFunc(c.CPUs, func(n int) bool { return slices.Contains(cpus, n) })
		}) {
			m.warnf("not all of the CPUs %s are near the run's GPUs: what is free on NUMA node %s is too little", FormatCPUSet(cpus), joinInts(near))
		}
	}
	m.origin["cpuset"] = strings.TrimPrefix(m.origin["cpuset"]+", "+why, ", ")
	return cpus
}

func joinInts(all []int) string {
	var words []string
	for _, n := range all {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ", ")
}

// gpuNodes gives the NUMA nodes of the GPUs that the run asks for, each once. A
// number of GPUs is the first ones, as engines give them.
func (m *maker) gpuNodes() (nodes []int) {
	limit := m.req.Limits.GPUs
	if limit == nil || limit.None {
		return nil
	}
	for i, gpu := range m.req.Host.GPUs {
		asked := limit.All || i < limit.Count
		for _, id := range limit.IDs {
			index, _, _ := strings.Cut(id, ":") // a MIG device of it
			asked = asked || index == strconv.Itoa(i) || id == gpu.UUID
		}
		if asked && gpu.Node >= 0 && !slices.Contains(nodes, gpu.Node) {
			nodes = append(nodes, gpu.Node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// pickCPUs takes want CPUs in order, or none where fewer are free. near are
// the nodes to take them from first.
func pickCPUs(want int, cores []Core, held map[int]bool, near []int) (cpus []int, free int) {
	type node struct {
		id    int
		whole [][]int // free cores
		parts [][]int // what is free of others
		free  int
	}
	nodes := map[int]*node{}
	for _, core := range cores {
		n := nodes[core.Node]
		if n == nil {
			n = &node{id: core.Node}
			nodes[core.Node] = n
		}
		var some []int
		for _, cpu := range core.CPUs {
			if !held[cpu] {
				some = append(some, cpu)
			}
		}
		n.free += len(some)
		free += len(some)
		if len(some) == len(core.CPUs) {
			n.whole = append(n.whole, some)
		} else {
			n.parts = append(n.parts, some)
		}
	}
	if free < want {
		return nil, free
	}
	var order []*node
	for _, n := range nodes {
		order = append(order, n)
	}
	rank := func(n *node) (class, amount int) {
		switch {
		case slices.Contains(near, n.id):
			return 0, -n.free
		case n.free >= want:
			return 1, n.free // the least that fits, so that large gaps stay
		}
		return 2, -n.free
	}
	slices.SortFunc(order, func(a, b *node) int {
		classA, amountA := rank(a)
		classB, amountB := rank(b)
		return cmp.Or(classA-classB, amountA-amountB, a.id-b.id)
	})
	for _, n := range order {
		for _, core := range slices.Concat(n.whole, n.parts) {
			cpus = append(cpus, core[:min(len(core), want-len(cpus))]...)
		}
	}
	slices.Sort(cpus)
	return cpus, free
}
