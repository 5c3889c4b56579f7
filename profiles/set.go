package profiles

import (
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/internal/yamlfile"
)

// Layer says whose a file is.
type Layer int

// The layers, far to near. A Given file is named on the command line.
const (
	BuiltIn Layer = iota
	System
	User
	Project
	Given
)

// File is a profiles file that has been read.
type File struct {
	// Name is what messages call it.
	Name  string
	Layer Layer
	Data  []byte
}

// Catalogue is the file that is part of the binary.
func Catalogue(data []byte) File {
	return File{Name: "(built in) profiles.yaml", Layer: BuiltIn, Data: data}
}

// Set is what all files together define. It does not change once loaded.
type Set struct {
	files    []*catalogue
	resolved map[*definition]*Profile
}

// lookup finds the nearest definition of name in the files from index on. An
// extends never sees nearer files: a repository could change by it what the
// system's profiles mean.
func (s *Set) lookup(name string, index int) *definition {
	for _, file := range s.files[min(index, len(s.files)):] {
		if def := file.defs[name]; def != nil {
			return def
		}
	}
	return nil
}

// known lists the names in the files from index on, with a guess.
func (s *Set) known(name string, index int) string {
	names := s.names(index)
	if len(names) == 0 {
		return "; there are none"
	}
	return yamlfile.DidYouMean(name, names) + "; there are " + strings.Join(names, ", ")
}

func (s *Set) names(index int) []string {
	var names []string
	for _, file := range s.files[min(index, len(s.files)):] {
		names = append(names, file.names...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Names lists the profiles by name.
func (s *Set) Names() []string { return s.names(0) }

// FileInfo is a file that counts in a Set and the names that it defines, in
// its order.
type FileInfo struct {
	Name     string
	Layer    Layer
	Profiles []string
	// Build tells whether it has a section build.
	Build bool
}

// Files lists the files, the nearest first.
func (s *Set) Files() []FileInfo {
	var all []FileInfo
	for _, f := range s.files {
		all = append(all, FileInfo{Name: f.file.Name, Layer: f.file.Layer, Profiles: slices.Clone(f.names), Build: f.build != nil})
	}
	return all
}

// Default is the profile for those who name none, and the place that says so:
// the nearest file's that has a default. It is "" where none has.
func (s *Set) Default() (string, Source) {
	for _, file := range s.files {
		if file.fallback != "" {
			return file.fallback, file.defaultAt
		}
	}
	return "", Source{}
}

// Resolve gives the profile called name, whole from the nearest file that has
// it and with what it extends applied. The caller owns it. The error lists the
// names that there are.
func (s *Set) Resolve(name string) (*Profile, error) {
	def := s.lookup(name, 0)
	if def == nil {
		return nil, fmt.Errorf("no profile is called %q%s", name, s.known(name, 0))
	}
	return s.resolved[def].clone(), nil
}
