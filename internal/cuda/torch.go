package cuda

import (
	"slices"
	"strconv"
	"strings"
)

// release is one minor release of torch with the versions of CUDA that it was
// published for, oldest first.
type release struct {
	torch string
	pypi  Version // of the wheels for x86-64 on PyPI
	cuda  []Version
}

// releases: cuda is from the "Release Compatibility Matrix" of
// https://github.com/pytorch/pytorch/blob/main/RELEASE.md (stable and
// experimental; 2.15 from https://github.com/pytorch/pytorch/issues/190385)
// and, for 1.7 to 1.11, from the builds of the pytorch channel
// (https://github.com/moi90/pytorch_compute_capabilities lists them) and
// https://pytorch.org/get-started/previous-versions/. pypi is what the wheels
// there require (nvidia-cuda-runtime, cuda-toolkit), read from their metadata;
// RELEASE.md has 10.2 for those before 1.13.
var releases = []release{
	{"1.7", Version{10, 2}, []Version{{9, 2}, {10, 1}, {10, 2}, {11, 0}}},
	{"1.8", Version{10, 2}, []Version{{10, 1}, {10, 2}, {11, 1}}},
	{"1.9", Version{10, 2}, []Version{{10, 2}, {11, 1}}},
	{"1.10", Version{10, 2}, []Version{{10, 2}, {11, 1}, {11, 3}}},
	{"1.11", Version{10, 2}, []Version{{10, 2}, {11, 1}, {11, 3}, {11, 5}}},
	{"1.12", Version{10, 2}, []Version{{10, 2}, {11, 3}, {11, 6}}},
	{"1.13", Version{11, 7}, []Version{{11, 6}, {11, 7}}},
	{"2.0", Version{11, 7}, []Version{{11, 7}, {11, 8}}},
	{"2.1", Version{12, 1}, []Version{{11, 8}, {12, 1}}},
	{"2.2", Version{12, 1}, []Version{{11, 8}, {12, 1}}},
	{"2.3", Version{12, 1}, []Version{{11, 8}, {12, 1}}},
	{"2.4", Version{12, 1}, []Version{{11, 8}, {12, 1}, {12, 4}}},
	{"2.5", Version{12, 4}, []Version{{11, 8}, {12, 1}, {12, 4}}},
	{"2.6", Version{12, 4}, []Version{{11, 8}, {12, 4}, {12, 6}}},
	{"2.7", Version{12, 6}, []Version{{11, 8}, {12, 6}, {12, 8}}},
	{"2.8", Version{12, 8}, []Version{{12, 6}, {12, 8}, {12, 9}}},
	{"2.9", Version{12, 8}, []Version{{12, 6}, {12, 8}, {13, 0}}},
	{"2.10", Version{12, 8}, []Version{{12, 6}, {12, 8}, {13, 0}}},
	{"2.11", Version{13, 0}, []Version{{12, 6}, {12, 8}, {13, 0}}},
	{"2.12", Version{13, 0}, []Version{{12, 6}, {13, 0}, {13, 2}}},
	{"2.13", Version{13, 0}, []Version{{12, 6}, {13, 0}, {13, 2}}},
	{"2.14", Version{13, 0}, []Version{{12, 6}, {13, 0}, {13, 2}}},
	{"2.15", Version{13, 2}, []Version{{13, 0}, {13, 2}}},
}

// Published gives the versions of CUDA that a release of torch ("2.4.1") was
// published for by its makers, oldest first; none where the table lacks it.
func Published(torch string) []Version {
	if r := find(torch); r != nil {
		return slices.Clone(r.cuda)
	}
	return nil
}

// WheelIndexes is where PyTorch publishes wheels for each kind: whl/cu118, whl/cpu.
// torch_stable.html lists those of the releases before 1.11, for which the page
// below gives "-f", and "--extra-index-url" for later ones.
// https://pytorch.org/get-started/previous-versions/
const WheelIndexes = "https://download.pytorch.org/whl/"

// IndexLine is the line of a requirements file that makes pip find the build
// ("cu118", "cpu") of a release of torch ("2.4.1").
func IndexLine(torch, build string) string {
	if olderThan(torch, "1.11") {
		return "--find-links " + WheelIndexes + "torch_stable.html"
	}
	return "--extra-index-url " + WheelIndexes + build
}

// OnPyPI is the CUDA of torch's wheels for x86-64 on PyPI; zero where the table
// lacks the release.
func OnPyPI(torch string) Version {
	if r := find(torch); r != nil {
		return r.pypi
	}
	return Version{}
}

// Newest is the newest CUDA of a release of torch, or of all where the release
// is not known.
func Newest(torch string) Version {
	r := find(torch)
	if r == nil {
		r = &releases[len(releases)-1]
	}
	return r.cuda[len(r.cuda)-1]
}

// NewestFor is the last release of torch that was published for a CUDA which
// runs on a driver made for CUDA has, with that CUDA.
func NewestFor(has Version) (torch string, with Version) {
	for _, r := range releases {
		for _, v := range r.cuda {
			if v.Runs(has) {
				torch, with = r.torch, v
			}
		}
	}
	return torch, with
}

// LastTorch is the newest release of torch that the table has.
func LastTorch() string { return releases[len(releases)-1].torch }

func find(torch string) *release {
	i := slices.IndexFunc(releases, func(r release) bool { return r.torch == minor(torch) })
	if i < 0 {
		return nil
	}
	return &releases[i]
}

// minor gives "2.4" of "2.4.1+cu121".
func minor(torch string) string {
	torch, _, _ = strings.Cut(torch, "+")
	words := strings.Split(torch, ".")
	if len(words) < 2 {
		return torch
	}
	return words[0] + "." + words[1]
}

// olderThan compares releases of torch by their first two numbers.
func olderThan(torch, other string) bool {
	number := func(text string) (n [2]int) {
		for i, word := range strings.SplitN(minor(text), ".", 2) {
			n[i], _ = strconv.Atoi(word)
		}
		return n
	}
	a, b := number(torch), number(other)
	return slices.Compare(a[:], b[:]) < 0
}
