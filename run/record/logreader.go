package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// LogReader reads a run's log from its beginning, during the run and after it.
type LogReader struct {
	dir        string // of the record
	compressed bool
	file       *os.File
	decoder    *zstd.Decoder
	frames     frameReader
	index      int   // of the open segment, 0 before the first
	finished   bool  // nothing more is written to the open segment
	position   int64 // bytes of output given out or known to be missing
	skip       int64 // bytes of output to pass over: given out before
	begin      int64 // where to begin in a compressed log
}

// ReadLog opens the log for reading. A run without output has an empty one.
func (r *Record) ReadLog() *LogReader { return &LogReader{dir: r.dir} }

// ReadLogEnd opens the log for reading its end: some megabytes at least, where
// there are as many, but not much more. A gap stands for what came before.
func (r *Record) ReadLogEnd() *LogReader {
	l := &LogReader{dir: r.dir, begin: r.lastPieces()}
	// The last segment may have been begun just now.
	if indices, err := segments(filepath.Join(r.dir, "log")); err == nil && len(indices) > 2 {
		l.index = indices[len(indices)-3]
	}
	return l
}

// Next gives the next piece of the log. io.EOF means that nothing more is
// there now; where the run still writes, Next may be asked again.
func (l *LogReader) Next() (Frame, error) {
	for {
		if l.file == nil {
			if err := l.open(); err != nil {
				return Frame{}, err
			}
		}
		kind, at, data, err := l.frames.next()
		switch {
		case err == io.EOF || errors.Is(err, errTorn):
			if more, err := l.advance(); !more {
				return Frame{}, err
			}
			continue
		case err != nil:
			return Frame{}, fmt.Errorf("reading the log: %w", err)
		}
		frame := Frame{Time: at}
		switch kind {
		case kindStart:
			if missing := parseStart(kind, data) - l.position; missing > 0 && !l.compressed {
				l.position += missing
				frame.Gap = &Gap{Bytes: missing, Why: "the middle of a long log is not kept"}
				return frame, nil
			}
			continue
		case kindGap:
			var gap Gap
			json.Unmarshal(data, &gap)
			if l.skip > 0 {
				l.skip -= min(l.skip, gap.Bytes)
				continue
			}
			l.position += gap.Bytes
			frame.Gap = &gap
		default:
			if l.skip > 0 {
				passed := min(l.skip, int64(len(data)))
				l.skip -= passed
				if data = data[passed:]; len(data) == 0 {
					continue
				}
			}
			l.position += int64(len(data))
			frame.Stderr = kind == kindStderr
			frame.Data = data
		}
		return frame, nil
	}
}

// open opens the compressed log, or the first segment behind the last one
// read. io.EOF where neither is there.
func (l *LogReader) open() error {
	file, err := os.Open(filepath.Join(l.dir, "log.zst"))
	if err == nil {
		if _, err := file.Seek(l.begin, io.SeekStart); err != nil {
			file.Close()
			return fmt.Errorf("reading the log: %w", err)
		}
		decoder, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			file.Close()
			return fmt.Errorf("reading the log: %w", err)
		}
		l.file, l.decoder, l.compressed = file, decoder, true
		l.frames = frameReader{r: decoder}
		l.skip = l.position
		return nil
	}
	if !gone(err) {
		return fmt.Errorf("reading the log: %w", err)
	}
	indices, err := segments(filepath.Join(l.dir, "log"))
	if gone(err) {
		return io.EOF
	}
	if err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	for _, index := range indices {
		if index <= l.index {
			continue
		}
		file, err := os.Open(segmentPath(filepath.Join(l.dir, "log"), index))
		if gone(err) {
			continue // cut in this moment
		}
		if err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
		l.file, l.index = file, index
		l.frames = frameReader{r: file}
		return nil
	}
	return io.EOF
}

// advance is called at the end of what is there. It tells whether to read on:
// a later segment, or the compressed log, has begun.
func (l *LogReader) advance() (bool, error) {
	if l.compressed {
		return false, io.EOF
	}
	if l.finished {
		l.Close()
		return true, nil
	}
	// What is there of a torn frame is read again: the writer completes it, or
	// cuts it off and writes another in its place.
	if _, err := l.file.Seek(l.frames.size, io.SeekStart); err != nil {
		return false, fmt.Errorf("reading the log: %w", err)
	}
	l.frames = frameReader{r: l.file, buf: l.frames.buf[:0], size: l.frames.size}
	if !exists(filepath.Join(l.dir, "log.zst")) {
		indices, err := segments(filepath.Join(l.dir, "log"))
		if err != nil && !gone(err) {
			return false, fmt.Errorf("reading the log: %w", err)
		}
		if len(indices) == 0 || indices[len(indices)-1] <= l.index {
			return false, io.EOF
		}
	}
	// The writer had finished this segment when it began the next, but maybe
	// only after this reader came to its end: once more.
	l.finished = true
	return true, nil
}

// Close ends the reading.
func (l *LogReader) Close() error {
	if l.decoder != nil {
		l.decoder.Close()
		l.decoder = nil
	}
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file, l.finished = nil, false
	return err
}

func parseStart(kind byte, data []byte) int64 {
	var start segmentStart
	if kind == kindStart {
		json.Unmarshal(data, &start)
	}
	return start.Before
}

// outputBytes counts what a frame stands for in the whole output.
func outputBytes(kind byte, data []byte) int64 {
	switch kind {
	case kindStdout, kindStderr:
		return int64(len(data))
	case kindGap:
		var gap Gap
		json.Unmarshal(data, &gap)
		return gap.Bytes
	}
	return 0
}
