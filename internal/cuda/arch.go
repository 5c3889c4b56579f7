package cuda

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Capability is a compute capability: 8.6 is what compilers call sm_86.
type Capability struct{ Major, Minor int }

func (c Capability) String() string { return fmt.Sprintf("%d.%d", c.Major, c.Minor) }

// Compare orders capabilities.
func (c Capability) Compare(other Capability) int {
	return cmp.Or(cmp.Compare(c.Major, other.Major), cmp.Compare(c.Minor, other.Minor))
}

// Archs are the GPUs that torch's kernels were compiled for, in the form of
// TORCH_CUDA_ARCH_LIST with blanks: "7.5 8.0 12.0+PTX". "" is unknown.
type Archs string

// Supports tells whether a GPU of capability c can run the kernels, and
// whether that is known. Machine code runs on GPUs of its major version from
// its minor version on, PTX on all later ones
// (https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility,
// #ptx-compatibility).
func (a Archs) Supports(c Capability) (supported, known bool) {
	for word := range strings.FieldsSeq(string(a)) {
		number, ptx := strings.CutSuffix(word, "+PTX")
		arch, ok := parseCapability(number)
		if !ok {
			return false, false
		}
		known = true
		if arch.Major == c.Major && arch.Minor <= c.Minor || ptx && arch.Compare(c) <= 0 {
			supported = true
		}
	}
	return supported, known
}

func parseCapability(text string) (Capability, bool) {
	numbers, ok := integers(text)
	if !ok || len(numbers) != 2 {
		return Capability{}, false
	}
	return Capability{numbers[0], numbers[1]}, true
}

// wheel is the list of archs of torch's own builds from a release on, until a
// later row of the same CUDA.
type wheel struct {
	cuda  Version
	from  string
	archs Archs
}

// wheels are the builds for x86-64 by torch's makers: the wheels of PyPI and of
// their own index, and the pytorch channel. From TORCH_CUDA_ARCH_LIST in
// manywheel/build_cuda.sh of https://github.com/pytorch/builder (to torch 2.5),
// .ci/manywheel/build_cuda.sh and build_env_setup.py of
// https://github.com/pytorch/pytorch (since), and the "PyTorch CUDA Support
// Matrix" of RELEASE.md there (since 2.9). That 12.8 lost 7.0 with 2.11 is
// https://github.com/pytorch/pytorch/issues/172352.
var wheels = []wheel{
	{Version{10, 2}, "1.7", "3.7 5.0 6.0 7.0"},
	{Version{11, 3}, "1.10", "3.7 5.0 6.0 7.0 7.5 8.0 8.6"},
	{Version{11, 5}, "1.11", "3.7 5.0 6.0 7.0 7.5 8.0 8.6"},
	{Version{11, 6}, "1.12", "3.7 5.0 6.0 7.0 7.5 8.0 8.6"},
	{Version{11, 7}, "1.13", "3.7 5.0 6.0 7.0 7.5 8.0 8.6"},
	{Version{11, 8}, "2.0", "3.7 5.0 6.0 7.0 7.5 8.0 8.6 9.0"},
	{Version{12, 1}, "2.1", "5.0 6.0 7.0 7.5 8.0 8.6 9.0"},
	{Version{12, 4}, "2.4", "5.0 6.0 7.0 7.5 8.0 8.6 9.0"},
	{Version{12, 6}, "2.6", "5.0 6.0 7.0 7.5 8.0 8.6 9.0"},
	{Version{12, 8}, "2.7", "7.5 8.0 8.6 9.0 10.0 12.0+PTX"},
	{Version{12, 8}, "2.8", "7.0 7.5 8.0 8.6 9.0 10.0 12.0"},
	{Version{12, 8}, "2.11", "7.5 8.0 8.6 9.0 10.0 12.0"},
	{Version{12, 9}, "2.8", "7.0 7.5 8.0 8.6 9.0 10.0 12.0+PTX"},
	{Version{13, 0}, "2.9", "7.5 8.0 8.6 9.0 10.0 12.0+PTX"},
	{Version{13, 2}, "2.12", "7.5 8.0 8.6 9.0 10.0 12.0+PTX"},
}

// condaForge are those of conda-forge's builds by their CUDA, from
// recipe/build.sh and build_pytorch.sh of
// https://github.com/conda-forge/pytorch-cpu-feedstock.
var condaForge = map[Version]Archs{
	{11, 2}: "3.5 5.0 6.0 6.1 7.0 7.5 8.0 8.6+PTX",
	{11, 8}: "3.5 5.0 6.0 6.1 7.0 7.5 8.0 8.6 8.9+PTX",
	{12, 0}: "5.0 6.0 6.1 7.0 7.5 8.0 8.6 8.9 9.0+PTX",
	{12, 6}: "5.0 6.0 6.1 7.0 7.5 8.0 8.6 8.9 9.0+PTX",
}

// OfWheel gives the archs of a build for x86-64 by torch's makers, "" where
// they are not known.
func OfWheel(torch string, v Version) Archs {
	for _, row := range slices.Backward(wheels) {
		if row.cuda == v && !olderThan(torch, row.from) {
			return row.archs
		}
	}
	return ""
}

// OfCondaForge gives those of conda-forge's builds.
func OfCondaForge(v Version) Archs { return condaForge[v] }

// WheelFor finds a CUDA that a release of torch was published for whose
// kernels run on a GPU of capability c; zero where the table has none.
func WheelFor(torch string, c Capability) Version {
	for _, v := range slices.Backward(Published(torch)) {
		if supported, _ := OfWheel(torch, v).Supports(c); supported {
			return v
		}
	}
	return Version{}
}

// CapabilityOf gives a GPU's compute capability from what nvidia-smi calls its
// product and architecture. ok is false for one that these do not tell, from
// https://developer.nvidia.com/cuda-gpus and
// https://developer.nvidia.com/cuda-legacy-gpus.
func CapabilityOf(product, architecture string) (c Capability, ok bool) {
	has := func(names ...string) bool {
		words := strings.FieldsFunc(product, func(r rune) bool { return r == ' ' || r == '-' })
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(words, name) })
	}
	switch architecture {
	case "Pascal":
		if has("P100", "GP100") {
			return Capability{6, 0}, true
		}
		return Capability{6, 1}, true
	case "Volta":
		return Capability{7, 0}, true
	case "Turing":
		return Capability{7, 5}, true
	case "Ampere":
		if has("A100", "A100X", "A800", "A30", "A30X") {
			return Capability{8, 0}, true
		}
		return Capability{8, 6}, true
	case "Ada Lovelace":
		return Capability{8, 9}, true
	case "Hopper":
		return Capability{9, 0}, true
	case "Blackwell":
		switch {
		case has("B200", "GB200"):
			return Capability{10, 0}, true
		case has("B300", "GB300"):
			return Capability{10, 3}, true
		case has("GB10"):
			return Capability{12, 1}, true
		case has("RTX"):
			return Capability{12, 0}, true
		}
	}
	return Capability{}, false
}
