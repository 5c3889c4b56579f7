package plan

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNewID(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var ids []string
	for i := range 2000 {
		// The random part falls while the time rises.
		id := NewID(now.Add(time.Duration(i)*time.Millisecond), [3]byte{255, byte(255 - i%256), byte(i)})
		if !ValidID(id) {
			t.Fatalf("%q", id)
		}
		ids = append(ids, id)
	}
	if !slices.IsSorted(ids) {
		t.Error("ids do not sort by time")
	}
	if NewID(now, [3]byte{0, 0, 1}) == NewID(now, [3]byte{0, 0, 2}) {
		t.Error("the random part does not count")
	}
	for i, late := range []time.Time{time.Unix(0, 0), time.Date(2109, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if id := NewID(late, [3]byte{}); !ValidID(id) || (i == 1 && id < ids[0]) {
			t.Errorf("%v: %q", late, id)
		}
	}
	for _, s := range []string{"", "01jde01234567", "01jde012345", "01jde012345i", "01JDE0123456", "01jde012345\n"} {
		if ValidID(s) {
			t.Errorf("%q is taken for an id", s)
		}
	}
}

func TestValidName(t *testing.T) {
	for _, s := range []string{"a", "0", "brave-otter", "a--b", strings.Repeat("x", 63)} {
		if err := ValidName(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{"", "-a", "a-", "A", "a_b", "a.b", "ä", "a b", strings.Repeat("x", 64), "a\n"} {
		if ValidName(s) == nil {
			t.Errorf("%q is taken for a name", s)
		}
	}
}

func TestCPUSet(t *testing.T) {
	for list, want := range map[string]string{"0": "0", "3,1,2": "1-3", "0-3,8": "0-3,8", "0-1,1-2": "0-2", " 1 , 3": "1,3", "8191": "8191"} {
		cpus, err := ParseCPUSet(list)
		if got := FormatCPUSet(cpus); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", list, got, err, want)
		}
	}
	for _, list := range []string{"", ",", "a", "1-", "-1", "2-1", "8192", "0-99999", "1-2-3", "0x1", "+1"} {
		if cpus, err := ParseCPUSet(list); err == nil {
			t.Errorf("%q gives %v", list, cpus)
		}
	}
}

func TestFormats(t *testing.T) {
	for n, want := range map[int64]string{
		-1: "unlimited", 0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB", 1536: "1.5 KiB", 4 << 30: "4 GiB", 4<<30 - 1: "3.9 GiB",
		512 << 20: "512 MiB", 1 << 40: "1 TiB", 1<<63 - 1: "8191.9 PiB",
	} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{2e9: "2", 15e8: "1.5", 333_333_333: "0.333", 10_000_000: "0.01"} {
		if got := FormatCPUs(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		time.Hour: "1h", 90 * time.Minute: "1h30m", 36 * time.Hour: "36h", 10 * time.Second: "10s", 10 * time.Minute: "10m",
		time.Hour + time.Second: "1h0m1s", 20*time.Hour + 10*time.Minute: "20h10m",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
	for want, a := range map[int64]Amount{7: {Value: 7}, 50: {Num: 1, Den: 2}, 33: {Num: 1, Den: 3}, 100: {Num: 1, Den: 1}, 99: {Num: 9999, Den: 10000}} {
		if got := a.Of(100); got != want {
			t.Errorf("%+v of 100 is %d, want %d", a, got, want)
		}
	}
	if got := (Amount{Num: 9999, Den: 10000}).Of(1<<63 - 1); got != 9222449699651090329 {
		t.Errorf("a share of the largest number is %d", got)
	}
}
