package profiles

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/docker/go-units"

	"crun.dev/crun/internal/lazyregexp"
)

// Every parser here takes the text of one value and gives an error that says
// what is wrong with it and what is allowed; its caller puts the place, the
// field and the value before that.

const (
	kiB = 1 << 10
	miB = 1 << 20
	giB = 1 << 30

	// minMemory is the least that Docker gives a container (linuxMinMemory in
	// moby's daemon_unix.go).
	minMemory = 6 * miB
	// maxSize is a pebibyte, past any host; it keeps sums inside an int64.
	maxSize = 1 << 50
	// minStack lets a dynamically linked program start: the kernel puts its
	// arguments there, up to a quarter of it (execve(2)).
	minStack = 128 * kiB
	// minAddressSpace is what a container starts with: the engine's runtime
	// (runc, a Go program) keeps to the limit itself and failed in 16 of 18
	// starts at 1 GiB, in none at 2 GiB (measured).
	minAddressSpace = 2 * giB
	// minPids leaves room for init's own threads beside the command's.
	minPids = 16
	// maxPids is PID_MAX_LIMIT of a 64-bit kernel (include/linux/threads.h).
	maxPids = 4 << 20
	// maxNoFile is the greatest fs.nr_open (sysctl_nr_open_max in fs/file.c).
	maxNoFile  = 0x7fffffc0
	maxThreads = 4096
	// maxCPU is the last number of a kernel with the greatest NR_CPUS.
	maxCPU   = 8191
	maxShare = 10000
	// nanoCPU is one CPU in Docker's NanoCPUs, minCPUs its least (0.01).
	nanoCPU = 1_000_000_000
	minCPUs = nanoCPU / 100
)

var (
	sizePattern    = lazyregexp.New(`(?i)^[0-9]+(\.[0-9]+)?\s?([kmgtp]i?b?|b)?$`)
	sharePattern   = lazyregexp.New(`^(-?[0-9]+)\s*/\s*(-?[0-9]+)$`)
	percentPattern = lazyregexp.New(`^[0-9]+(\.[0-9]+)?\s?%$`)
	milliPattern   = lazyregexp.New(`^[1-9][0-9]{0,6}m$`)
	decimalPattern = lazyregexp.New(`^-?[0-9]{1,12}(\.[0-9]{1,12})?$`)
	integerPattern = lazyregexp.New(`^-?[0-9]+$`)
)

// size makes a parser of sizes from least to a pebibyte.
func size(least int64) func(string) (int64, error) {
	return func(text string) (int64, error) { return parseSize(text, least, "write it as 4g or 512m") }
}

// sizeOrUnlimited makes a parser of sizes from least, or 0 where zero is
// allowed, or unlimited.
func sizeOrUnlimited(least int64, zero bool) func(string) (int64, error) {
	allowed := "write a size such as 4g, or unlimited"
	if zero {
		allowed += ", or 0 for none"
	}
	return func(text string) (int64, error) {
		switch {
		case text == "-1" || strings.EqualFold(text, "unlimited"):
			return Unlimited, nil
		case zero && text == "0":
			return 0, nil
		}
		return parseSize(text, least, allowed)
	}
}

func parseSize(text string, least int64, allowed string) (int64, error) {
	if text == "-1" || strings.EqualFold(text, "unlimited") {
		return 0, fmt.Errorf("is not possible here; %s", allowed)
	}
	if !sizePattern.MatchString(text) {
		return 0, fmt.Errorf("is not a size; %s%s", allowed, sizeHint(text))
	}
	n, err := units.RAMInBytes(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("is not a size; %s", allowed)
	case n < 0 || n > maxSize:
		return 0, fmt.Errorf("is more than 1024t; %s", allowed)
	case n < least && integerPattern.MatchString(text) && n > 0:
		return 0, fmt.Errorf("has no unit, so it counts bytes, and is below the least, %s; %s", formatSize(least), allowed)
	case n < least:
		return 0, fmt.Errorf("is below the least, %s; %s", formatSize(least), allowed)
	}
	return n, nil
}

// sizeHint reads what people write for a size besides sizes: "4 gigs", "4,5g".
func sizeHint(text string) string {
	guess := strings.ToLower(strings.ReplaceAll(text, ",", "."))
	digits := strings.TrimRight(guess, "abcdefghijklmnopqrstuvwxyz ")
	unit := strings.TrimSpace(guess[len(digits):])
	if digits == guess || unit == "" || !strings.ContainsRune("kmgt", rune(unit[0])) {
		return ""
	}
	if guess = digits + unit[:1]; sizePattern.MatchString(guess) {
		return fmt.Sprintf(" (did you mean %q?)", guess)
	}
	return ""
}

// parseMemory reads a size or a share of the host's memory.
func parseMemory(text string) (Amount, error) {
	if amount, ok, err := parseShare(text); ok {
		return amount, err
	}
	n, err := parseSize(text, minMemory, "write it as 4g or 512m, or as a share of the host such as 1/8")
	return Amount{Value: n}, err
}

// parseCPUs reads a number of CPUs, fractions allowed, or a share of the host's.
func parseCPUs(text string) (Amount, error) {
	if amount, ok, err := parseShare(text); ok {
		return amount, err
	}
	const allowed = "write a number such as 2 or 0.5, or a share of the host such as 1/8"
	if milliPattern.MatchString(text) {
		milli, _ := strconv.Atoi(strings.TrimSuffix(text, "m"))
		return Amount{}, fmt.Errorf("is not a number of CPUs; %s (did you mean %s?)", allowed, strconv.FormatFloat(float64(milli)/1000, 'f', -1, 64))
	}
	if !decimalPattern.MatchString(text) {
		return Amount{}, fmt.Errorf("is not a number of CPUs; %s", allowed)
	}
	// A rational, since 0.1 has no exact float and Docker refuses a rest.
	cpus, ok := new(big.Rat).SetString(text)
	if !ok {
		return Amount{}, fmt.Errorf("is not a number of CPUs; %s", allowed)
	}
	cpus.Mul(cpus, big.NewRat(nanoCPU, 1))
	switch {
	case cpus.Cmp(big.NewRat(minCPUs, 1)) < 0:
		return Amount{}, fmt.Errorf("is below the least, 0.01; %s", allowed)
	case cpus.Cmp(big.NewRat((maxCPU+1)*nanoCPU, 1)) > 0:
		return Amount{}, fmt.Errorf("is more than %d, the most that Linux has; %s", maxCPU+1, allowed)
	case !cpus.IsInt():
		return Amount{}, errors.New("has more than nine digits behind the point; leave some out")
	}
	return Amount{Value: cpus.Num().Int64()}, nil
}

// parseShare reads "1/8"; ok tells whether text was meant as a share at all.
func parseShare(text string) (amount Amount, ok bool, err error) {
	if percentPattern.MatchString(text) {
		return Amount{}, true, errors.New("is a percentage; write the share of the host as a fraction such as 1/2")
	}
	parts := sharePattern.FindStringSubmatch(text)
	if parts == nil {
		return Amount{}, false, nil
	}
	num, err1 := strconv.ParseInt(parts[1], 10, 64)
	den, err2 := strconv.ParseInt(parts[2], 10, 64)
	switch {
	case err1 != nil || err2 != nil || den > maxShare:
		return Amount{}, true, fmt.Errorf("is no usable share; write a fraction such as 1/8 whose lower number is at most %d", maxShare)
	case num <= 0 || den <= 0:
		return Amount{}, true, errors.New("is no share; both numbers of a fraction such as 1/8 are at least 1")
	case num > den:
		return Amount{}, true, errors.New("is more than the whole host; write a share of at most 1/1")
	}
	return Amount{Num: num, Den: den}, true, nil
}

// count makes a parser of whole numbers from least to most.
func count(least, most int64, unlimited string) func(string) (int64, error) {
	return func(text string) (int64, error) {
		if text == "-1" || strings.EqualFold(text, "unlimited") {
			return 0, fmt.Errorf("is not possible: %s; write a whole number from %d to %d", unlimited, least, most)
		}
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case !integerPattern.MatchString(text):
			return 0, fmt.Errorf("is not a whole number; write one from %d to %d", least, most)
		case err != nil || n < least || n > most:
			return 0, fmt.Errorf("is out of range; write a whole number from %d to %d", least, most)
		}
		return n, nil
	}
}

// oneOf makes a parser of the given words.
func oneOf(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		for _, word := range words {
			if text == word {
				return word, nil
			}
		}
		return "", fmt.Errorf("is not known; write %s%s", orList(words), didYouMean(text, words))
	}
}

// parseBool reads true and false; YAML 1.1's yes and on are text by now.
func parseBool(text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("is neither true nor false; write one of the two")
}

// andList gives "a, b and c".
func andList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// orList gives "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
