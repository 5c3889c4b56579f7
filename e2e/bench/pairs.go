package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// command is one side of a pair.
type command struct {
	name string
	args []string
	dir  string
	env  []string // added to the process's own
}

// once runs the command and gives its wall time. A command that fails ends the
// measurement: a fast failure is no result.
func (c command) once() (time.Duration, error) {
	cmd := exec.Command(c.args[0], c.args[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), c.env...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", c.name, err, output.Bytes())
	}
	return took, nil
}

// result is what a series of pairs gave.
type result struct {
	a, b                   time.Duration // medians
	ratio, lowest, highest float64       // of a/b, pair by pair: median and extremes
	pairs                  int
}

// pair runs a and b in turn, pairs times after one uncounted pair, changing
// which goes first, so that a machine that drifts or is shared touches both
// alike. The ratio is taken pair by pair.
func pair(a, b command, pairs int) (result, error) {
	var timesA, timesB []time.Duration
	var ratios []float64
	for i := range pairs + 1 {
		var ta, tb time.Duration
		var err error
		for j := range 2 {
			if (i+j)%2 == 0 {
				ta, err = a.once()
			} else {
				tb, err = b.once()
			}
			if err != nil {
				return result{}, err
			}
		}
		if i == 0 {
			continue
		}
		timesA, timesB = append(timesA, ta), append(timesB, tb)
		ratios = append(ratios, float64(ta)/float64(tb))
	}
	return result{a: median(timesA), b: median(timesB), ratio: median(ratios),
		lowest: slices.Min(ratios), highest: slices.Max(ratios), pairs: pairs}, nil
}

// median gives the middle of values, the lower one of two.
func median[T time.Duration | float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

// docker gives the client to compare with: the one that came with the engine,
// as newer ones build by a plugin that may be missing.
var docker = sync.OnceValue(func() string {
	const packaged = "/usr/bin/docker"
	if _, err := os.Stat(packaged); err == nil {
		return packaged
	}
	return "docker"
})
