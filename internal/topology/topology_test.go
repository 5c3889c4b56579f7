package topology

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

const twoSockets = `
-- sys/devices/system/cpu/online --
0-5,7-8
-- sys/devices/system/cpu/isolated --
8
-- sys/devices/system/cpu/cpu0/topology/thread_siblings_list --
0,4
-- sys/devices/system/cpu/cpu1/topology/thread_siblings_list --
1,5
-- sys/devices/system/cpu/cpu2/topology/thread_siblings_list --
2,6
-- sys/devices/system/cpu/cpu3/topology/thread_siblings_list --
3,7
-- sys/devices/system/node/node0/cpulist --
0-1,4-5
-- sys/devices/system/node/node1/cpulist --
2-3,6-8
-- sys/bus/pci/devices/0000:07:00.0/numa_node --
1
-- sys/bus/pci/devices/0000:0a:00.0/numa_node --
-1
`

func TestCores(t *testing.T) {
	root := t.TempDir()
	if err := txtar.Write(txtar.Parse([]byte(twoSockets)), root); err != nil {
		t.Fatal(err)
	}
	want := []Core{{[]int{0, 4}, 0}, {[]int{1, 5}, 0}, {[]int{2}, 1}, {[]int{3, 7}, 1}}
	if diff := cmp.Diff(want, Cores(root)); diff != "" {
		t.Error(diff)
	}
	for address, want := range map[string]int{"00000000:07:00.0": 1, "00000000:0A:00.0": -1, "00000000:99:00.0": -1, "": -1, "x:07:00.0": -1, "0:../../x": -1} {
		if got := NodeOf(root, address); got != want {
			t.Errorf("%q is on node %d, want %d", address, got, want)
		}
	}
	if got := Cores(t.TempDir()); got != nil {
		t.Errorf("%v of nothing", got)
	}
}
