package profiles

import (
	"math/big"
	"strconv"
	"strings"
	"time"
)

// formatSize writes bytes as profiles.yaml would, exactly: 4g, 1536m, 100b.
func formatSize(bytes int64) string {
	for _, unit := range []struct {
		size int64
		sign string
	}{{1 << 40, "t"}, {giB, "g"}, {miB, "m"}, {kiB, "k"}} {
		if bytes >= unit.size && bytes%unit.size == 0 {
			return strconv.FormatInt(bytes/unit.size, 10) + unit.sign
		}
	}
	return strconv.FormatInt(bytes, 10) + "b"
}

// formatCPUs writes a number of 1e-9 CPUs as profiles.yaml would: 2, 0.5.
func formatCPUs(nano int64) string {
	text := big.NewRat(nano, nanoCPU).FloatString(9)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// formatTime writes a time limit as profiles.yaml would: 90m, 1d12h.
func formatTime(limit time.Duration) string {
	const day = 24 * time.Hour
	days, rest := limit/day, limit%day
	var text string
	if days > 0 {
		text = strconv.FormatInt(int64(days), 10) + "d"
	}
	if rest == 0 && days > 0 {
		return text
	}
	clock := rest.String() // 1h30m0s
	if strings.HasSuffix(clock, "m0s") {
		clock = strings.TrimSuffix(clock, "0s")
	}
	if strings.HasSuffix(clock, "h0m") {
		clock = strings.TrimSuffix(clock, "0m")
	}
	return text + clock
}

func formatMemory(a Amount) string {
	if a.IsShare() {
		return a.String()
	}
	return formatSize(a.Value)
}

func formatCPUAmount(a Amount) string {
	if a.IsShare() {
		return a.String()
	}
	return formatCPUs(a.Value)
}

func formatLimit(n int64) string {
	switch n {
	case Unlimited:
		return "unlimited"
	case 0:
		return "0"
	}
	return formatSize(n)
}

func formatNumber(n int64) string { return strconv.FormatInt(n, 10) }

// String writes g as profiles.yaml would: 1, all, none, [0, 2].
func (g GPUs) String() string {
	switch {
	case g.All:
		return "all"
	case len(g.IDs) > 0:
		return "[" + strings.Join(g.IDs, ", ") + "]"
	case g.Count > 0:
		return strconv.Itoa(g.Count)
	}
	return "none"
}

// String writes t as profiles.yaml would: auto, 4.
func (t Threads) String() string {
	if t.Auto {
		return "auto"
	}
	return strconv.Itoa(t.N)
}
