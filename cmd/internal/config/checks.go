package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/docker/go-units"
	"gopkg.in/yaml.v3"

	"crun.dev/crun/run/precheck"
)

// size reads a size as Docker writes it, 10g or 512m. 0 asks for nothing, and
// is kept as one byte: not set means the default.
func (r *reader) size(to *int64) func(string, *yaml.Node) {
	return func(path string, node *yaml.Node) {
		if text, ok := r.value(path, node, func(text string) error {
			if n, err := units.RAMInBytes(text); err != nil || n < 0 {
				return fmt.Errorf("is not a size; write one such as 10g or 512m, or 0")
			}
			return nil
		}); ok {
			n, _ := units.RAMInBytes(text)
			*to = max(n, 1)
			r.set(path, node)
		}
	}
}

// percent reads 90 or 90%.
func (r *reader) percent(to *int) func(string, *yaml.Node) {
	return func(path string, node *yaml.Node) {
		number := func(text string) (int, error) { return strconv.Atoi(strings.TrimSuffix(text, "%")) }
		if text, ok := r.value(path, node, func(text string) error {
			if n, err := number(text); err != nil || n < 1 || n > 100 {
				return fmt.Errorf("is no percentage from 1 to 100; write one such as 90")
			}
			return nil
		}); ok {
			*to, _ = number(text)
			r.set(path, node)
		}
	}
}

func checkCheck(text string) error {
	if precheck.Unknown([]string{text}) != "" {
		return fmt.Errorf("is no check; there are %s, and %s", strings.Join(precheck.Names(), ", "), precheck.All)
	}
	return nil
}

// Thresholds are those of the checks, with the defaults of what is not set.
func (c Checks) Thresholds() precheck.Thresholds {
	t := precheck.Defaults()
	for _, v := range []struct{ from, to *int64 }{{&c.Free, &t.Free}, {&c.Available, &t.Available}, {&c.GPUFree, &t.GPUFree}} {
		if *v.from > 0 {
			*v.to = *v.from
		}
	}
	if c.Used > 0 {
		t.Used = c.Used
	}
	t.Refuse, t.Skip = c.Refuse, c.Skip
	return t
}
