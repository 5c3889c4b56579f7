package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// LogLimits bound a run's log while the run lasts. Beyond them the middle is
// cut: Head segments from the beginning and Tail from the end are kept.
type LogLimits struct {
	Segment    int64 // bytes a segment
	Head, Tail int
}

// DefaultLogLimits keep 1 GiB: the first and the last 512 MiB.
var DefaultLogLimits = LogLimits{Segment: 8 << 20, Head: 64, Tail: 64}

// LogWriter writes a run's log. Its methods may be called concurrently.
//
// What is written lies in the kernel's hands when a write returns, so the
// death of the monitor loses nothing of it; a power cut loses the last
// seconds. A log that cannot be written (a full disk) must not stop the run:
// the bytes are counted, and a gap stands in their place once there is room.
type LogWriter struct {
	mu     sync.Mutex
	files  *files
	dir    string
	limits LogLimits
	now    func() time.Time

	file    *os.File // the last segment, nil before the first
	size    int64    // of that segment
	index   int
	indices []int // of the segments that are there
	total   int64 // bytes of output, kept or not
	lost    int64 // bytes that could not be written and are not told yet
	err     error // the first that a write met
	buf     []byte
}

// OpenLog opens the log for writing behind what is there. A frame that a crash
// tore is cut off.
func (r *Record) OpenLog(limits LogLimits) (*LogWriter, error) {
	w := &LogWriter{files: &r.store.files, dir: filepath.Join(r.dir, "log"), limits: limits, now: time.Now}
	if err := os.Mkdir(w.dir, 0o700); err != nil && !os.IsExist(err) {
		return nil, fmt.Errorf("opening the log of run %s: %w", r.ID, err)
	}
	var err error
	if w.indices, err = segments(w.dir); err != nil {
		return nil, fmt.Errorf("opening the log of run %s: %w", r.ID, err)
	}
	if len(w.indices) == 0 {
		return w, nil
	}
	w.index = w.indices[len(w.indices)-1]
	if err := w.reopen(); err != nil {
		return nil, fmt.Errorf("opening the log of run %s: %w", r.ID, err)
	}
	return w, nil
}

// reopen opens the last segment behind its last whole frame.
func (w *LogWriter) reopen() error {
	file, err := os.OpenFile(segmentPath(w.dir, w.index), os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	reader := frameReader{r: file}
	for first := true; ; first = false {
		kind, _, data, err := reader.next()
		if err == io.EOF || errors.Is(err, errTorn) {
			break
		}
		if err != nil {
			file.Close()
			return err
		}
		if first {
			w.total = parseStart(kind, data)
		}
		w.total += outputBytes(kind, data)
	}
	w.size = reader.size
	if err := file.Truncate(w.size); err != nil {
		file.Close()
		return err
	}
	if _, err := file.Seek(w.size, io.SeekStart); err != nil {
		file.Close()
		return err
	}
	if w.size == 0 { // torn before its first frame: make it anew
		file.Close()
		os.Remove(segmentPath(w.dir, w.index))
		w.indices = w.indices[:len(w.indices)-1]
		w.index--
		if len(w.indices) == 0 {
			return nil
		}
		w.index = w.indices[len(w.indices)-1]
		return w.reopen()
	}
	w.file = file
	return nil
}

// Stdout and Stderr give the writers of the two streams. Their Write never
// fails.
func (w *LogWriter) Stdout() io.Writer { return logStream{w, kindStdout} }

// Stderr is Stdout's sister.
func (w *LogWriter) Stderr() io.Writer { return logStream{w, kindStderr} }

type logStream struct {
	w    *LogWriter
	kind byte
}

func (s logStream) Write(p []byte) (int, error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxFrameData)
		s.w.output(s.kind, rest[:n])
		rest = rest[n:]
	}
	return len(p), nil
}

func (w *LogWriter) output(kind byte, data []byte) {
	now := w.now()
	w.buf = w.buf[:0]
	if w.lost > 0 {
		w.buf = appendJSON(w.buf, kindGap, now, Gap{Bytes: w.lost, Why: w.err.Error()})
	}
	w.buf = appendFrame(w.buf, kind, now, data)
	err := w.put(now)
	w.total += int64(len(data))
	if err == nil {
		w.lost = 0
		return
	}
	w.lost += int64(len(data))
	if w.err == nil {
		w.err = err
	}
}

// Gap notes that output is missing here. bytes is 0 where it is not known.
func (w *LogWriter) Gap(bytes int64, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	w.buf = appendJSON(w.buf[:0], kindGap, now, Gap{Bytes: bytes, Why: why})
	if err := w.put(now); err != nil && w.err == nil {
		w.err = err
	}
	w.total += bytes
}

// put writes buf behind the last segment, or into a new one, as a whole.
func (w *LogWriter) put(now time.Time) error {
	if w.file == nil || w.size+int64(len(w.buf)) > w.limits.Segment {
		if err := w.roll(now); err != nil {
			return err
		}
	}
	if err := w.files.step("log"); err != nil {
		return err
	}
	_, err := w.file.Write(w.buf)
	if err != nil {
		w.file.Truncate(w.size)
		w.file.Seek(w.size, io.SeekStart)
		return err
	}
	w.size += int64(len(w.buf))
	return nil
}

// roll begins a new segment and cuts the middle.
func (w *LogWriter) roll(now time.Time) error {
	if err := w.files.step("segment"); err != nil {
		return err
	}
	path := segmentPath(w.dir, w.index+1)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	start := appendJSON(nil, kindStart, now, segmentStart{Version: 1, Before: w.total - w.lost})
	if _, err := file.Write(start); err != nil {
		file.Close()
		os.Remove(path)
		return err
	}
	if w.file != nil {
		w.file.Close()
	}
	w.file, w.size = file, int64(len(start))
	w.index++
	w.indices = append(w.indices, w.index)
	for w.limits.Head > 0 && len(w.indices) > w.limits.Head+w.limits.Tail {
		if err := os.Remove(segmentPath(w.dir, w.indices[w.limits.Head])); err != nil && !gone(err) {
			return nil // one too many; the next roll tries again
		}
		w.indices = slices.Delete(w.indices, w.limits.Head, w.limits.Head+1)
	}
	return nil
}

// Err is the first failure of a write: the log is not whole.
func (w *LogWriter) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close ends the writing.
func (w *LogWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost > 0 {
		now := w.now()
		w.buf = appendJSON(w.buf[:0], kindGap, now, Gap{Bytes: w.lost, Why: w.err.Error()})
		w.put(now)
		w.lost = 0
	}
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}

func segmentPath(dir string, index int) string {
	return filepath.Join(dir, fmt.Sprintf("%08d", index))
}

// segments lists the segments in dir, in order.
func segments(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var indices []int
	for _, entry := range entries {
		if n, err := strconv.Atoi(strings.TrimLeft(entry.Name(), "0")); err == nil && n > 0 {
			indices = append(indices, n)
		}
	}
	slices.Sort(indices)
	return indices, nil
}

// Total counts the bytes of output up to now, kept or not.
func (w *LogWriter) Total() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}
