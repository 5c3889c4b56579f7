package profiles

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/yamlfile"
)

// didYouMean is yamlfile's clause, or "".
func didYouMean(word string, allowed []string) string { return yamlfile.DidYouMean(word, allowed) }

const gpuAllowed = "write a count (1), all, none, or which ones: [0, 2], or device=0,2 on the command line"

var gpuID = lazyregexp.New(`^([0-9]{1,4}(:[0-9]{1,4})?|GPU-[0-9A-Fa-f-]+|MIG-[0-9A-Za-z/-]+)$`)

// parseGPUs reads a count, "all", "none", or ids after "device=", as in
// docker's --gpus; a UUID says by itself that it is an id.
func parseGPUs(text string) (GPUs, error) {
	ids, isIDs := strings.CutPrefix(text, "device=")
	switch {
	case isIDs || strings.HasPrefix(text, "GPU-") || strings.HasPrefix(text, "MIG-"):
		return parseGPUIDs(strings.Split(ids, ","))
	case strings.EqualFold(text, "all") || text == "-1":
		return GPUs{All: true}, nil
	case strings.EqualFold(text, "none"):
		return GPUs{None: true}, nil
	case text == "0":
		return GPUs{}, errors.New("could mean no GPU or the first one; write none, or [0] (device=0 on the command line) for the first")
	case strings.Contains(text, ","):
		return GPUs{}, fmt.Errorf("is not a count; %s (did you mean \"device=%s\"?)", gpuAllowed, text)
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return GPUs{}, fmt.Errorf("is not a count; %s%s", gpuAllowed, didYouMean(text, []string{"all", "none"}))
	case n < 1 || n > 1024:
		return GPUs{}, fmt.Errorf("is no possible count; %s", gpuAllowed)
	}
	return GPUs{Count: n}, nil
}

func parseGPUIDs(ids []string) (GPUs, error) {
	for i, id := range ids {
		if err := checkGPUID(id); err != nil {
			return GPUs{}, fmt.Errorf("names %q, which %w", id, err)
		}
		if slices.Contains(ids[:i], id) {
			return GPUs{}, fmt.Errorf("names %s twice; name each GPU once", id)
		}
	}
	return GPUs{IDs: ids}, nil
}

func checkGPUID(id string) error {
	if !gpuID.MatchString(id) {
		return errors.New("is not the id of a GPU; write an index (0), a UUID (GPU-...) or a MIG device (0:1, MIG-...), as nvidia-smi -L lists them")
	}
	return nil
}

// parseCPUSet checks a list of CPU numbers (man 7 cpuset, "List format",
// without strides, which Docker does not take), or auto, and keeps it as
// written.
func parseCPUSet(text string) (string, error) {
	if text == "auto" {
		return text, nil
	}
	_, err := cpusIn(text)
	return text, err
}

// cpusIn counts the CPUs that a cpuset names.
func cpusIn(text string) (int, error) {
	const allowed = "write CPU numbers such as 0-3 or 0,2,8-11, or auto"
	named := make(map[int]bool)
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		switch {
		case err1 != nil || err2 != nil:
			return 0, fmt.Errorf("is not a list of CPUs; %s", allowed)
		case last > maxCPU:
			return 0, fmt.Errorf("names a CPU past %d, the last that Linux has; %s", maxCPU, allowed)
		case first > last:
			return 0, fmt.Errorf("has a range that runs backwards, %s; write %s-%s", part, to, from)
		}
		for cpu := first; cpu <= last; cpu++ {
			named[int(cpu)] = true
		}
	}
	return len(named), nil
}

// parseThreads reads "auto" or a number.
func parseThreads(text string) (Threads, error) {
	if text == "auto" {
		return Threads{Auto: true}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxThreads {
		return Threads{}, fmt.Errorf("is no number of threads; write auto, which follows cpus, or a whole number from 1 to %d", maxThreads)
	}
	return Threads{N: n}, nil
}

// parseTmpDir reads the short form SIZE or SIZE,KIND.
func parseTmpDir(text string) (dir TmpDir, err error) {
	size, kind, hasKind := strings.Cut(text, ",")
	if dir.Size, err = parseTmpSize(size); err != nil {
		return TmpDir{}, err
	}
	if hasKind {
		if dir.Kind, err = parseTmpKind(kind); err != nil {
			return TmpDir{}, fmt.Errorf("has the kind %q, which %w", kind, err)
		}
	}
	return dir, nil
}

var (
	parseTmpSize = size(miB)
	parseTmpKind = oneOf(TmpFS, Disk)
	dayPattern   = lazyregexp.New(`^([0-9]{1,5})d(.*)$`)
)

// parseTimeLimit reads a duration as Go writes it (1h30m), with days before
// it; "none" gives 0.
func parseTimeLimit(text string) (time.Duration, error) {
	const allowed = "write it as 90m, 12h, 2d or 1d12h, or none"
	if text == "none" {
		return 0, nil
	}
	const most = 3650 * 24 * time.Hour
	tooLong := fmt.Errorf("is more than 3650d; %s", allowed)
	var limit time.Duration
	rest := text
	if parts := dayPattern.FindStringSubmatch(text); parts != nil {
		days, _ := strconv.Atoi(parts[1])
		if limit, rest = time.Duration(days)*24*time.Hour, parts[2]; limit > most {
			return 0, tooLong
		}
	}
	if rest != "" || text == "" {
		more, err := time.ParseDuration(rest)
		switch {
		case err != nil && integerPattern.MatchString(text):
			return 0, fmt.Errorf("has no unit; %s", allowed)
		case err != nil:
			return 0, fmt.Errorf("is not a time; %s", allowed)
		case more > most:
			return 0, tooLong
		}
		limit += more
	}
	switch {
	case limit < time.Second || strings.Contains(text, "-"):
		return 0, fmt.Errorf("is less than a second; %s", allowed)
	case limit > most:
		return 0, tooLong
	}
	return limit, nil
}

// ownedEnv has the variables that follow from other fields, so that the two
// cannot disagree. NVIDIA_VISIBLE_DEVICES would also pass by "gpus: none".
var ownedEnv = map[string]string{"NVIDIA_VISIBLE_DEVICES": "gpus", "TMPDIR": "tmpdir", "HOME": "home"}

func checkEnvName(name string) error {
	switch owner := ownedEnv[name]; {
	case owner != "":
		return fmt.Errorf("is set by the field %s; leave it out", owner)
	case !names.IsVariable(name):
		return errors.New("is not the name of a variable; write letters, digits and _, with no digit first")
	}
	return nil
}

func checkEnvValue(value string) error {
	if strings.ContainsRune(value, 0) {
		return errors.New("holds a zero byte, which no variable can")
	}
	return nil
}
