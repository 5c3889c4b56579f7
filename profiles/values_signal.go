package profiles

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Shares of memory and of the time limit at which a signal is sent where it is
// asked for by its name alone, in percent.
const (
	defaultMemoryShare = 90
	defaultTimeShare   = 95
)

// signalNames are the signals that a script can catch and that mean nothing
// else.
var signalNames = []string{"SIGUSR1", "SIGUSR2", "SIGHUP", "SIGINT", "SIGTERM"}

// parseSignal reads a signal's name, with or without SIG.
func parseSignal(text string) (string, error) {
	name := strings.ToUpper(text)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	for _, known := range signalNames {
		if name == known {
			return known, nil
		}
	}
	return "", fmt.Errorf("is no signal for this; write %s%s", orList(signalNames), didYouMean(name, signalNames))
}

// parsePercent reads "90%", or "none" as 0.
func parsePercent(text string) (int, error) {
	const allowed = "write 1% to 99%, or none"
	if text == "none" {
		return 0, nil
	}
	number, isPercent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case !isPercent && err == nil:
		return 0, fmt.Errorf("has no %% sign; %s (did you mean %d%%?)", allowed, n)
	case err != nil:
		return 0, errors.New("is no share; " + allowed)
	case n < 1 || n > 99:
		return 0, errors.New("is out of range; " + allowed)
	}
	return n, nil
}

func formatPercent(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n) + "%"
}

// setSignal reads the short forms of signal_before_kill: "none", a signal's
// name, or both with shares, "SIGUSR1,memory=90%,time=95%".
func (p *Profile) setSignal(text string, source Source) error {
	const name = "signal_before_kill"
	if text == "none" {
		p.SignalBeforeKill = &SignalBeforeKill{}
		p.Origin[name+".memory"], p.Origin[name+".time"] = source, source
		delete(p.Origin, name+".signal")
		return nil
	}
	shares := false
	for item := range strings.SplitSeq(text, ",") {
		part, value, ok := strings.Cut(item, "=")
		if !ok {
			part, value = "signal", item
		} else if part != "signal" && part != "memory" && part != "time" {
			return fmt.Errorf("%s is %q, which has %q; write SIGNAL, memory=N%% or time=N%%, with commas between, or none", name, text, part)
		}
		shares = shares || part != "signal"
		if err := p.set(name+"."+part, value, source); err != nil {
			return err
		}
	}
	if !shares {
		for part, share := range map[string]int{"memory": defaultMemoryShare, "time": defaultTimeShare} {
			if _, given := p.Origin[name+"."+part]; !given {
				if err := p.set(name+"."+part, formatPercent(share), source); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
