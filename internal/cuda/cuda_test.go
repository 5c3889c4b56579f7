package cuda

import (
	"slices"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{"12.4": {12, 4}, "12.4.1": {12, 4}, "9.2": {9, 2}, "13.0": {13, 0}} {
		if got, err := ParseVersion(text); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "12", "12.", "cu124", "12.4.1.0", "6.5", "-1.2", "12.4 ", "12.x", "100.0", "12.400"} {
		if got, err := ParseVersion(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
	for text, want := range map[string]Version{"cu118": {11, 8}, "cu92": {9, 2}, "cuda126": {12, 6}, "cuda11.8": {11, 8}, "cu130": {13, 0}, "cuda102": {10, 2}} {
		if got, ok := ParseTag(text); !ok || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"cpu", "cu", "cu1", "rocm6.0"} {
		if got, ok := ParseTag(text); ok {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

func TestFloor(t *testing.T) {
	for v, want := range map[Version]string{
		{10, 2}: "440.33", {11, 0}: "450.36.06", {11, 8}: "450.80.02", {12, 0}: "525.60.13", {12, 8}: "525.60.13", {13, 2}: "580.65.06",
	} {
		if got, ok := Floor(v); !ok || got.String() != want {
			t.Errorf("the floor of %s is %s, want %s", v, got, want)
		}
	}
	for _, v := range []Version{{8, 0}, {14, 0}, {}} {
		if got, ok := Floor(v); ok {
			t.Errorf("the floor of %s is said to be %s", v, got)
		}
	}
}

func TestOfDriver(t *testing.T) {
	for text, want := range map[string]Version{
		"550.54.14": {12, 4}, "550.163.01": {12, 4}, "535.129.03": {12, 2}, "470.256.02": {11, 4}, "450.80.02": {11, 0},
		"525.60.13": {12, 0}, "520.61.05": {11, 8}, "999.1": {13, 2}, "580.65.06": {13, 0}, "384.81": {9, 0},
	} {
		d, ok := ParseDriver(text)
		if !ok || d.String() != text && text != "999.1" {
			t.Errorf("%q is read as %s", text, d)
		}
		if got, ok := Of(d); !ok || got != want {
			t.Errorf("driver %s is for CUDA %s, want %s", text, got, want)
		}
	}
	if d, _ := ParseDriver("352.31"); d != nil {
		if v, ok := Of(d); ok {
			t.Errorf("driver 352.31, older than the table, is for CUDA %s", v)
		}
	}
	for _, text := range []string{"", "N/A", "12.4", "550"} {
		if d, ok := ParseDriver(text); ok {
			t.Errorf("%q is taken for driver %s", text, d)
		}
	}
}

func TestRuns(t *testing.T) {
	for _, test := range []struct {
		built, has Version
		want       bool
	}{
		{Version{12, 8}, Version{12, 2}, true}, // within one major version
		{Version{11, 8}, Version{12, 2}, true}, // drivers run what is older
		{Version{12, 1}, Version{11, 8}, false},
		{Version{13, 0}, Version{12, 9}, false},
		{Version{10, 2}, Version{10, 1}, false}, // not before CUDA 11
		{Version{10, 1}, Version{10, 2}, true},
	} {
		if got := test.built.Runs(test.has); got != test.want {
			t.Errorf("CUDA %s on a driver for %s: %v", test.built, test.has, got)
		}
	}
}

// The tables must agree with one another: a row that does not is a slip.
func TestTables(t *testing.T) {
	if !slices.IsSortedFunc(drivers, func(a, b driver) int { return a.cuda.Compare(b.cuda) }) {
		t.Error("the drivers are not in order")
	}
	for _, row := range drivers {
		shipped, ok := ParseDriver(row.shipped)
		floor, known := Floor(row.cuda)
		if !ok || !known || row.cuda != (Version{11, 0}) && floor.Compare(shipped) > 0 {
			t.Errorf("CUDA %s: the floor %s lies above its own driver %s", row.cuda, floor, row.shipped)
		}
	}
	for i, r := range releases {
		if i > 0 && !olderThan(releases[i-1].torch, r.torch) {
			t.Errorf("torch %s stands in the wrong place", r.torch)
		}
		if !slices.Contains(r.cuda, r.pypi) || !slices.IsSortedFunc(r.cuda, Version.Compare) {
			t.Errorf("torch %s: PyPI's CUDA %s, all %v", r.torch, r.pypi, r.cuda)
		}
		for _, v := range r.cuda {
			if _, ok := Floor(v); !ok {
				t.Errorf("torch %s: no driver is known for CUDA %s", r.torch, v)
			}
			if archs := OfWheel(r.torch, v); archs == "" && olderThan("1.11", r.torch) {
				t.Errorf("torch %s: the GPUs of CUDA %s are not known", r.torch, v)
			}
		}
	}
	for _, row := range wheels {
		if _, known := row.archs.Supports(Capability{8, 0}); !known {
			t.Errorf("%q cannot be read", row.archs)
		}
		if !slices.Contains(Published(row.from), row.cuda) {
			t.Errorf("torch %s was not published for CUDA %s", row.from, row.cuda)
		}
	}
}

func TestTorch(t *testing.T) {
	if got := OnPyPI("2.8.0"); got != (Version{12, 8}) {
		t.Errorf("torch 2.8.0 on PyPI has CUDA %s", got)
	}
	if got := Published("2.6.0+cu124"); !slices.Equal(got, []Version{{11, 8}, {12, 4}, {12, 6}}) {
		t.Errorf("torch 2.6 is published for %v", got)
	}
	if got := Published("99.0"); got != nil {
		t.Errorf("an unknown torch is published for %v", got)
	}
	for torch, want := range map[string]Version{"2.1.2": {12, 1}, "": {13, 2}, "99.0": {13, 2}} {
		if got := Newest(torch); got != want {
			t.Errorf("the newest CUDA of torch %q is %s, want %s", torch, got, want)
		}
	}
	if torch, with := NewestFor(Version{11, 4}); torch != "2.7" || with != (Version{11, 8}) {
		t.Errorf("on a driver for CUDA 11.4 the last torch is %s for %s", torch, with)
	}
}

func TestArchs(t *testing.T) {
	for _, test := range []struct {
		torch string
		cuda  Version
		gpu   Capability
		want  bool
	}{
		{"2.8.0", Version{12, 8}, Capability{6, 1}, false}, // a GTX 1080
		{"2.8.0", Version{12, 6}, Capability{6, 1}, true},
		{"2.8.0", Version{12, 8}, Capability{7, 0}, true},
		{"2.7.1", Version{12, 8}, Capability{7, 0}, false},
		{"2.11.0", Version{12, 8}, Capability{7, 0}, false},
		{"2.6.0", Version{12, 4}, Capability{12, 0}, false}, // an RTX 5090
		{"2.7.0", Version{12, 8}, Capability{12, 0}, true},
		{"2.4.1", Version{12, 1}, Capability{8, 9}, true}, // by machine code for 8.6
		{"1.10.0", Version{11, 3}, Capability{9, 0}, false},
	} {
		if got, known := OfWheel(test.torch, test.cuda).Supports(test.gpu); !known || got != test.want {
			t.Errorf("torch %s for CUDA %s on %s: %v, known %v", test.torch, test.cuda, test.gpu, got, known)
		}
	}
	if _, known := OfWheel("2.4.1", Version{12, 0}).Supports(Capability{8, 0}); known {
		t.Error("a build that nobody published has known GPUs")
	}
	if got, known := OfCondaForge(Version{12, 0}).Supports(Capability{12, 0}); !got || !known {
		t.Error("PTX does not run on a later GPU")
	}
	if got := WheelFor("2.8.0", Capability{6, 1}); got != (Version{12, 6}) {
		t.Errorf("torch 2.8.0 runs on a GTX 1080 with CUDA %s", got)
	}
	if got := WheelFor("2.15.0", Capability{6, 1}); !got.IsZero() {
		t.Errorf("torch 2.15.0 runs on a GTX 1080 with CUDA %s", got)
	}
}

func TestCapabilityOf(t *testing.T) {
	for _, test := range []struct {
		product, architecture string
		want                  Capability
	}{
		{"NVIDIA A100-SXM4-80GB", "Ampere", Capability{8, 0}},
		{"NVIDIA GeForce RTX 3090", "Ampere", Capability{8, 6}},
		{"NVIDIA A10", "Ampere", Capability{8, 6}},
		{"Tesla P100-PCIE-16GB", "Pascal", Capability{6, 0}},
		{"NVIDIA GeForce GTX 1080 Ti", "Pascal", Capability{6, 1}},
		{"NVIDIA H200", "Hopper", Capability{9, 0}},
		{"NVIDIA L40S", "Ada Lovelace", Capability{8, 9}},
		{"NVIDIA GeForce RTX 5090", "Blackwell", Capability{12, 0}},
		{"NVIDIA B200", "Blackwell", Capability{10, 0}},
		{"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "Blackwell", Capability{12, 0}},
	} {
		if got, ok := CapabilityOf(test.product, test.architecture); !ok || got != test.want {
			t.Errorf("%s is %s, want %s", test.product, got, test.want)
		}
	}
	for _, product := range []string{"NVIDIA Thor", ""} {
		if got, ok := CapabilityOf(product, "Blackwell"); ok {
			t.Errorf("%q is said to be %s", product, got)
		}
	}
}
