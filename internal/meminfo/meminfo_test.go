package meminfo

import "testing"

func TestValue(t *testing.T) {
	text := "MemTotal:       24683520 kB\nMemAvailable:   20380672 kB\nHugePages_Total:       0\n"
	if got := Value(text, "MemAvailable"); got != 20380672<<10 {
		t.Errorf("%d", got)
	}
	if got := Value(text, "Mem"); got != -1 {
		t.Errorf("%d", got)
	}
}
