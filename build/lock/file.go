package lock

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/internal/atomicfile"
	"crun.dev/crun/internal/yamlfile"
)

// separator stands in a crun.lock between two platforms, each of which is a
// YAML document of its own. A lock of one platform has none: every crun reads it.
const separator = "---"

// ParseFile reads a crun.lock with the packages of one platform or of several,
// by the names of these. It is as strict as Parse, and refuses a platform that
// is there twice.
func ParseFile(data []byte, file string) ([]*Lock, error) {
	if bytes.Contains(data, []byte("\n<<<<<<< ")) {
		_, err := Parse(data, file) // before the conflict's other lines are taken for documents
		return nil, err
	}
	var locks []*Lock
	var errs []error
	for _, part := range documents(data) {
		l, err := Parse(part, file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if Of(locks, l.Platform) != nil {
			at := yamlfile.Position{File: file, Line: bytes.Count(part, []byte("\n")) - bytes.Count(bytes.TrimLeft(part, "\n"), []byte("\n")) + 1, Column: 1}
			errs = append(errs, yamlfile.Errorf(at, "the packages for %s are there twice; %s", l.Platform, remedy))
			continue
		}
		locks = append(locks, l)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return sorted(locks), nil
}

// documents splits data at its separators. Each part begins with an empty line
// for each line before it, so that positions in it are those of the file.
func documents(data []byte) [][]byte {
	parts := [][]byte{nil}
	before := 0
	for line := range bytes.Lines(data) {
		before++
		if string(bytes.TrimRight(line, " \r\n")) == separator && len(bytes.TrimSpace(parts[len(parts)-1])) > 0 {
			parts = append(parts, bytes.Repeat([]byte("\n"), before))
			continue
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], line...)
	}
	return parts
}

// Of gives the lock of a platform, or nil.
func Of(locks []*Lock, platform string) *Lock {
	if i := slices.IndexFunc(locks, func(l *Lock) bool { return l.Platform == platform }); i >= 0 {
		return locks[i]
	}
	return nil
}

// PlatformsOf names the platforms of locks, in order.
func PlatformsOf(locks []*Lock) []string {
	var names []string
	for _, l := range sorted(locks) {
		names = append(names, l.Platform)
	}
	return names
}

func sorted(locks []*Lock) []*Lock {
	return slices.SortedFunc(slices.Values(locks), func(a, b *Lock) int { return strings.Compare(a.Platform, b.Platform) })
}

// MarshalFile gives the bytes of a crun.lock that holds locks, each of another
// platform. That of one lock is its Marshal.
func MarshalFile(locks ...*Lock) []byte {
	data := []byte(header)
	for i, l := range sorted(locks) {
		if i > 0 {
			data = append(data, separator+"\n"...)
		}
		data = append(data, bytes.TrimPrefix(l.Marshal(), []byte(header))...)
	}
	return data
}

// Write puts locks, each of another platform, at path, with mode 0644, in whole
// or not at all: a reader sees the old file or the new one, also after a crash.
// A lock that Parse would refuse is not written.
func Write(path string, locks ...*Lock) error {
	for _, l := range locks {
		if problems := l.check(); len(problems) > 0 {
			return fmt.Errorf("writing %s: %s", path, problems[0])
		}
	}
	return atomicfile.Replace(path, MarshalFile(locks...), 0o644)
}
