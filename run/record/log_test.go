package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// drain reads what is there: output as it is, stderr in <>, gaps in [].
func drain(t *testing.T, l *LogReader) string {
	t.Helper()
	var b strings.Builder
	for {
		f, err := l.Next()
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case f.Gap != nil:
			fmt.Fprintf(&b, "[%d]", f.Gap.Bytes)
		case f.Stderr:
			fmt.Fprintf(&b, "<%s>", f.Data)
		default:
			b.Write(f.Data)
		}
	}
}

func openLog(t *testing.T, r *Record, limits LogLimits) *LogWriter {
	t.Helper()
	w, err := r.OpenLog(limits)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestLog(t *testing.T) {
	r, _ := testRecord(t)
	reader := r.ReadLog()
	defer reader.Close()
	if got := drain(t, reader); got != "" {
		t.Errorf("before the start: %q", got)
	}
	w := openLog(t, r, DefaultLogLimits)
	fmt.Fprint(w.Stdout(), "one ")
	fmt.Fprint(w.Stderr(), "two")
	if got := drain(t, reader); got != "one <two>" {
		t.Errorf("during the run: %q", got)
	}
	fmt.Fprint(w.Stdout(), "three")
	w.Close()
	if got := drain(t, reader); got != "three" {
		t.Errorf("what came since: %q", got)
	}
	w = openLog(t, r, DefaultLogLimits)
	fmt.Fprint(w.Stdout(), " four")
	w.Close()
	if err := r.CompressLog(); err != nil {
		t.Fatal(err)
	}
	if exists(filepath.Join(r.Dir(), "log")) {
		t.Error("the segments are still there")
	}
	// The follower read on in a file that has been replaced.
	if got := drain(t, reader); got != " four" {
		t.Errorf("behind the compression: %q", got)
	}
	if got := drain(t, r.ReadLog()); got != "one <two>three four" {
		t.Errorf("after the end: %q", got)
	}
}

func TestLogTorn(t *testing.T) {
	r, _ := testRecord(t)
	w := openLog(t, r, DefaultLogLimits)
	fmt.Fprint(w.Stdout(), "first ")
	fmt.Fprint(w.Stdout(), "second ")
	w.Close()
	path := segmentPath(filepath.Join(r.Dir(), "log"), 1)
	whole, _ := os.ReadFile(path)
	for cut := range len(whole) {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		reader := r.ReadLog()
		before := drain(t, reader)
		w := openLog(t, r, DefaultLogLimits)
		fmt.Fprint(w.Stdout(), "third")
		w.Close()
		got := drain(t, r.ReadLog())
		if want := before + "third"; got != want {
			t.Errorf("cut at %d: %q, want %q", cut, got, want)
		}
		if rest := drain(t, reader); before != "" && rest != "third" {
			t.Errorf("cut at %d: a follower read %q on, want %q", cut, rest, "third")
		}
		reader.Close()
	}
	// Zeros, as a power cut leaves them.
	os.WriteFile(path, append(whole, make([]byte, 100)...), 0o600)
	if got := drain(t, r.ReadLog()); got != "first second " {
		t.Errorf("with zeros behind: %q", got)
	}
}

func TestLogCut(t *testing.T) {
	r, _ := testRecord(t)
	w := openLog(t, r, LogLimits{Segment: 200, Head: 2, Tail: 3})
	slow := r.ReadLog()
	var all strings.Builder
	for i := range 400 {
		line := fmt.Sprintf("line %04d\n", i)
		all.WriteString(line)
		fmt.Fprint(w.Stdout(), line)
		if i == 100 {
			if f, err := slow.Next(); err != nil || string(f.Data) != "line 0000\n" {
				t.Fatalf("%v, %v", f, err)
			}
		}
	}
	w.Close()
	if entries, _ := os.ReadDir(filepath.Join(r.Dir(), "log")); len(entries) != 5 {
		t.Errorf("%d segments are there, want 5", len(entries))
	}
	check := func(when, got string, skipped string) {
		t.Helper()
		head, rest, found := strings.Cut(skipped+got, "[")
		missing, tail, _ := strings.Cut(rest, "]")
		if !found || !strings.HasPrefix(all.String(), head) || !strings.HasSuffix(all.String(), tail) {
			t.Errorf("%s: not a head and a tail: %q", when, got)
		}
		if want := fmt.Sprint(all.Len() - len(head) - len(tail)); missing != want {
			t.Errorf("%s: says that %s bytes are missing, want %s", when, missing, want)
		}
	}
	check("plain", drain(t, r.ReadLog()), "")
	if err := r.CompressLog(); err != nil {
		t.Fatal(err)
	}
	check("compressed", drain(t, r.ReadLog()), "")
	check("for a slow follower", drain(t, slow), "line 0000\n")
}

func TestLogFullDisk(t *testing.T) {
	r, _ := testRecord(t)
	w := openLog(t, r, LogLimits{Segment: 100, Head: 10, Tail: 10})
	fmt.Fprint(w.Stdout(), "before ")
	full := errors.New("no space left on device")
	r.store.files.fault = func(string) error { return full }
	if n, err := fmt.Fprint(w.Stdout(), "lost"); n != 4 || err != nil {
		t.Errorf("a write to a full disk gives %d, %v: it would end the copying", n, err)
	}
	fmt.Fprint(w.Stderr(), strings.Repeat("lost too ", 20))
	r.store.files.fault = nil
	fmt.Fprint(w.Stdout(), " after")
	if !errors.Is(w.Err(), full) {
		t.Errorf("Err gives %v", w.Err())
	}
	w.Close()
	if got, want := drain(t, r.ReadLog()), "before [184] after"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLogLongWrite(t *testing.T) {
	r, _ := testRecord(t)
	w := openLog(t, r, DefaultLogLimits)
	want := strings.Repeat("x", 3<<20)
	fmt.Fprint(w.Stdout(), want)
	w.Close()
	if got := drain(t, r.ReadLog()); got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}

// The end of a long log is read without the rest, from segments and compressed,
// and a log that an early crun compressed as a whole.
func TestReadLogEnd(t *testing.T) {
	r, lock := testRecord(t)
	defer lock.Unlock()
	w := openLog(t, r, LogLimits{Segment: 1 << 20, Head: 64, Tail: 64})
	for i := range 4000 {
		fmt.Fprint(w.Stdout(), strings.Repeat(fmt.Sprintf("line of a long log %d\n", i), 200))
	}
	w.Close()
	whole := drain(t, r.ReadLog())
	check := func(form string, least int) {
		t.Helper()
		end := drain(t, r.ReadLogEnd())
		// A gap may stand before it.
		if _, after, found := strings.Cut(end, "]"); found {
			end = after
		}
		if !strings.HasSuffix(whole, end) || len(end) < 1<<20 || len(end) > len(whole)/2 && least == 0 || len(end) < least {
			t.Errorf("%s: %d of %d bytes, beginning with %.40q", form, len(end), len(whole), end)
		}
	}
	check("segments", 0)
	if err := r.CompressLog(); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, r.ReadLog()); got != whole {
		t.Errorf("the whole is %d bytes, not %d", len(got), len(whole))
	}
	check("compressed", 0)
	if err := os.Remove(filepath.Join(r.Dir(), PiecesFile)); err != nil {
		t.Fatal(err)
	}
	check("compressed by an early crun", len(whole))
}
