package lock

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/internal/names"
	"gopkg.in/yaml.v3"
)

const header = `# The exact packages of this folder's environment, made by crun build from its
# environment file. Commit it, and do not edit it: crun build makes it anew.
`

// Marshal gives crun.lock's bytes: a fixed order of fields, packages by name,
// line feeds. Locks of the same content give the same bytes, whatever order
// the solver gave the packages in.
func (l *Lock) Marshal() []byte {
	var buffer bytes.Buffer
	buffer.WriteString(header)
	encoder := yaml.NewEncoder(&buffer)
	encoder.SetIndent(2)
	// Neither fails: the types hold nothing that YAML cannot, and a buffer
	// takes all.
	if err := encoder.Encode(l.Canonical()); err != nil {
		panic(fmt.Sprintf("lock: encoding: %v", err))
	}
	if err := encoder.Close(); err != nil {
		panic(fmt.Sprintf("lock: encoding: %v", err))
	}
	return buffer.Bytes()
}

// Canonical is a sorted copy. Channels, Indexes and a package's Depends keep
// their order: the first two are a priority, the third is the channel's word.
func (l *Lock) Canonical() *Lock {
	c := *l
	c.Virtual = slices.Sorted(slices.Values(l.Virtual))
	c.Apt = slices.SortedFunc(slices.Values(l.Apt), func(a, b DebianPackage) int { return strings.Compare(a.Name, b.Name) })
	c.Miniconda = slices.SortedFunc(slices.Values(l.Miniconda), comparePackages)
	c.Toolchain = slices.SortedFunc(slices.Values(l.Toolchain), comparePackages)
	c.Conda = slices.SortedFunc(slices.Values(l.Conda), comparePackages)
	c.Pip = slices.Clone(l.Pip)
	for i, d := range c.Pip {
		c.Pip[i].Hashes = slices.Compact(slices.Sorted(slices.Values(d.Hashes)))
	}
	slices.SortFunc(c.Pip, func(a, b Distribution) int {
		return cmp.Or(
			strings.Compare(names.Distribution(a.Name), names.Distribution(b.Name)),
			strings.Compare(a.Version, b.Version),
			strings.Compare(a.URL, b.URL),
			strings.Compare(a.Markers, b.Markers),
		)
	})
	return &c
}

func comparePackages(a, b Package) int {
	return cmp.Or(
		strings.Compare(a.Name, b.Name),
		strings.Compare(a.Channel, b.Channel),
		strings.Compare(a.Path(), b.Path()),
	)
}
