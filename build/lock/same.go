package lock

import (
	"encoding/json"
	"slices"
)

// Parts of Request.Environment by what they decide about.
var (
	// noConda says nothing about the conda packages.
	noConda = []string{"name", "variables", "pip", "constraints", "overrides"}
	// noPackage says nothing about any package.
	noPackage = []string{"name", "variables"}
)

// SameConda tells whether two requests ask for the same conda packages from
// the same channels, for the same base.
func (r Request) SameConda(other Request) bool {
	r.Local, other.Local = nil, nil
	return r.part(noConda).Key() == other.part(noConda).Key()
}

// SamePackages tells whether two requests ask for the same packages, conda's
// and pip's: an image of the one has those of the other.
func (r Request) SamePackages(other Request) bool {
	return r.part(noPackage).Key() == other.part(noPackage).Key()
}

// SameBase tells whether two requests ask for the same below their conda
// packages.
func (r Request) SameBase(other Request) bool {
	a, b := r.canonical(), other.canonical()
	return a.Base == b.Base && a.Platform == b.Platform && slices.Equal(a.Apt, b.Apt) && a.Compiler == b.Compiler && a.LayoutVersion == b.LayoutVersion
}

// SameSources tells whether two requests choose from the same packages: the
// same channels in the same order, for the same platform and CUDA.
func (r Request) SameSources(other Request) bool {
	return r.Platform == other.Platform && r.CUDA == other.CUDA && slices.Equal(r.allChannels(), other.allChannels())
}

// HasPip tells whether line is one of the request's pip lines.
func (r Request) HasPip(line string) bool {
	var environment content
	return json.Unmarshal(r.Environment, &environment) == nil && slices.Contains(slices.Concat(environment.Pip...), line)
}

func (r Request) allChannels() []string {
	var environment content
	_ = json.Unmarshal(r.Environment, &environment) // what is no JSON has no channels
	return append(slices.Clone(r.Channels), environment.Channels...)
}

// part is the request without some keys of its environment, and without what
// decides about no conda or pip package.
func (r Request) part(leftOut []string) Request {
	var environment map[string]json.RawMessage
	if json.Unmarshal(r.Environment, &environment) == nil {
		for _, key := range leftOut {
			delete(environment, key)
		}
		r.Environment = encode(environment)
	}
	r.Apt, r.Compiler, r.LayoutVersion = nil, "", 0
	r.Local = slices.Clone(r.Local)
	for i := range r.Local {
		r.Local[i].Digest = "" // the packages that it needs go by Metadata
	}
	return r
}
