package environment

import (
	"slices"
	"strconv"
	"strings"
)

// release is the numbers in front of a version: 2.1.0+cu121 is 2, 1, 0.
type release []int

func parseRelease(text string) release {
	var r release
	for part := range strings.SplitSeq(text, ".") {
		end := strings.IndexFunc(part, func(c rune) bool { return c < '0' || c > '9' })
		if end < 0 {
			end = len(part)
		}
		n, err := strconv.Atoi(part[:end])
		if err != nil {
			break
		}
		r = append(r, n)
		if end < len(part) {
			break
		}
	}
	return r
}

// String gives "2.1.0".
func (r release) String() string {
	parts := make([]string, len(r))
	for i, n := range r {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ".")
}

// compare orders by as many numbers as both have: 2.9 equals 2.9.0.
func (r release) compare(other release) int {
	n := min(len(r), len(other))
	return slices.Compare(r[:n], other[:n])
}

// clause is one part of a constraint.
type clause struct {
	operator string
	release  release
}

// clauses gives the parts of a constraint that are all to hold; none where "|"
// leaves a choice.
func clauses(version string) []clause {
	if strings.Contains(version, "|") {
		return nil
	}
	var all []clause
	for text := range strings.SplitSeq(version, ",") {
		number := strings.TrimLeft(text, "=!<>~")
		if r := parseRelease(number); len(r) > 0 {
			all = append(all, clause{text[:len(text)-len(number)], r})
		}
	}
	return all
}

// lowest gives the least release that the constraint allows, or nil where it
// sets no lower end.
func lowest(version string) release {
	for _, c := range clauses(version) {
		if slices.Contains([]string{"=", "==", "===", ">=", "~=", ">"}, c.operator) {
			return c.release
		}
	}
	return nil
}

// pinned gives the release of "=3.9" and "==3.9.18", or nil.
func pinned(version string) release {
	for _, c := range clauses(version) {
		if strings.Trim(c.operator, "=") == "" {
			return c.release
		}
	}
	return nil
}

// isBelow tells whether every release that the constraint allows lies below
// limit. It is false in doubt.
func isBelow(version string, limit release) bool {
	for _, c := range clauses(version) {
		order := c.release.compare(limit)
		switch c.operator {
		case "=":
			if order < 0 {
				return true
			}
		case "==", "===", "<=":
			// ==2 is 2.0, so it is below 2.2.
			if order < 0 || order == 0 && len(c.release) < len(limit) && !isZero(limit[len(c.release):]) {
				return true
			}
		case "~=":
			// ~=3.9 allows 3.10, ~=3.9.1 does not.
			if order < 0 && len(c.release) > len(limit) {
				return true
			}
		case "<":
			if order < 0 || order == 0 && len(c.release) <= len(limit) {
				return true
			}
		}
	}
	return false
}

func isZero(r release) bool {
	return !slices.ContainsFunc(r, func(n int) bool { return n != 0 })
}
