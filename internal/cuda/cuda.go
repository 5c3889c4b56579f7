// Package cuda holds what is known about CUDA, its drivers, the torch builds
// that need them and the GPUs that they run on: one table for the builder, the
// lint and the start of a run alike. It is pure: it reads no machine.
//
// Each number stands beside its source. What has no source is left out, and
// the functions then say that they do not know.
package cuda

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Version is a version of CUDA: 12.4. The zero Version is none.
type Version struct{ Major, Minor int }

// Known are the versions that a driver's floor is known for, oldest first.
func Known() []Version {
	var all []Version
	for _, row := range drivers {
		all = append(all, row.cuda)
	}
	return all
}

// ParseVersion reads "12.4", or "12.4.1", whose last number does not count:
// neither a driver nor torch tells them apart. The error says what is allowed.
func ParseVersion(text string) (Version, error) {
	numbers, ok := integers(text)
	if !ok || len(numbers) < 2 || len(numbers) > 3 || numbers[0] < 7 || numbers[0] > 99 || numbers[1] > 99 {
		return Version{}, fmt.Errorf(`%q is no version of CUDA; allowed is one such as "12.4"`, text)
	}
	return Version{numbers[0], numbers[1]}, nil
}

// ParseTag reads the form that names of wheels and builds have: "cu118",
// "cuda126", "126", or with a dot "cuda11.8". The last digit is the minor one.
func ParseTag(tag string) (Version, bool) {
	digits := strings.TrimLeft(tag, "cuda")
	if !strings.Contains(digits, ".") && len(digits) >= 2 {
		digits = digits[:len(digits)-1] + "." + digits[len(digits)-1:]
	}
	v, err := ParseVersion(digits)
	return v, err == nil
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Tag is the version as names of wheels have it: cu124.
func (v Version) Tag() string { return fmt.Sprintf("cu%d%d", v.Major, v.Minor) }

// IsZero tells whether v is none.
func (v Version) IsZero() bool { return v == Version{} }

// Compare orders versions.
func (v Version) Compare(other Version) int {
	return cmp.Or(cmp.Compare(v.Major, other.Major), cmp.Compare(v.Minor, other.Minor))
}

// Runs tells whether a program that was built with CUDA v starts on a machine
// whose driver is made for CUDA has. Drivers run what older versions built, and
// from 11 on also what newer ones of the same major version built ("minor
// version compatibility",
// https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html).
func (v Version) Runs(has Version) bool {
	if v.Major == has.Major && v.Major >= 11 {
		return true
	}
	return v.Compare(has) <= 0
}

// Driver is a version of NVIDIA's driver for Linux: 550.54.14.
type Driver []int

// ParseDriver reads a driver's version; ok is false where text is none.
func ParseDriver(text string) (d Driver, ok bool) {
	numbers, ok := integers(text)
	if !ok || len(numbers) < 2 || numbers[0] < 100 {
		return nil, false
	}
	return numbers, true
}

func (d Driver) String() string {
	var words []string
	for _, n := range d {
		words = append(words, fmt.Sprintf("%02d", n))
	}
	return strings.Join(words, ".")
}

// Compare orders drivers.
func (d Driver) Compare(other Driver) int { return slices.Compare(d, other) }

// driver is one row of the toolkit's own list.
type driver struct {
	cuda Version
	// shipped is the driver that came with the first release of this CUDA, and
	// the least one that shows it as its own version.
	shipped string
}

// drivers are the drivers for Linux that belong to each CUDA, from "CUDA
// Toolkit and Corresponding Driver Versions" in
// https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html (release
// notes of 13.2 Update 2; the row of the first release of each).
var drivers = []driver{
	{Version{9, 0}, "384.81"},
	{Version{9, 1}, "390.46"},
	{Version{9, 2}, "396.26"},
	{Version{10, 0}, "410.48"},
	{Version{10, 1}, "418.39"},
	{Version{10, 2}, "440.33"},
	{Version{11, 0}, "450.36.06"},
	{Version{11, 1}, "455.23"},
	{Version{11, 2}, "460.27.03"},
	{Version{11, 3}, "465.19.01"},
	{Version{11, 4}, "470.42.01"},
	{Version{11, 5}, "495.29.05"},
	{Version{11, 6}, "510.39.01"},
	{Version{11, 7}, "515.43.04"},
	{Version{11, 8}, "520.61.05"},
	{Version{12, 0}, "525.60.13"},
	{Version{12, 1}, "530.30.02"},
	{Version{12, 2}, "535.54.03"},
	{Version{12, 3}, "545.23.06"},
	{Version{12, 4}, "550.54.14"},
	{Version{12, 5}, "555.42.02"},
	{Version{12, 6}, "560.28.03"},
	{Version{12, 8}, "570.26"},
	{Version{12, 9}, "575.51.03"},
	{Version{13, 0}, "580.65.06"},
	{Version{13, 1}, "590.44.01"},
	{Version{13, 2}, "595.45.04"},
}

// floors are the least drivers of each major version under minor version
// compatibility, from "CUDA Toolkit and Minimum Required Driver Version for
// CUDA Minor Version Compatibility" of the same page. CUDA 11.0 came before
// that promise: its own driver is enough for it.
var floors = map[int]string{11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}

// Floor is the least driver that a program built with CUDA v runs on; ok is
// false where nobody has said.
func Floor(v Version) (d Driver, ok bool) {
	text, compatible := floors[v.Major]
	if !compatible || v == (Version{11, 0}) {
		i := slices.IndexFunc(drivers, func(row driver) bool { return row.cuda == v })
		if i < 0 {
			return nil, false
		}
		text = drivers[i].shipped
	}
	return ParseDriver(text)
}

// Of is the CUDA that a driver is made for, which nvidia-smi shows; ok is
// false for one older than the table.
func Of(d Driver) (v Version, ok bool) {
	for _, row := range drivers {
		if shipped, _ := ParseDriver(row.shipped); shipped.Compare(d) <= 0 {
			v, ok = row.cuda, true
		}
	}
	return v, ok
}

// integers reads numbers with dots between.
func integers(text string) ([]int, bool) {
	var numbers []int
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, int(n))
	}
	return numbers, true
}
