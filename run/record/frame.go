package record

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// The log is a sequence of frames: what the run wrote at one time on one
// stream, or a note of crun's on the log itself. A frame is a kind (1 byte),
// the time (8 bytes, nanoseconds since 1970) and the length of what follows
// (4 bytes), numbers big-endian.
const (
	kindStdout = '1'
	kindStderr = '2'
	kindGap    = 'g' // Gap as JSON
	kindStart  = 's' // segmentStart as JSON; the first frame of each segment

	headerSize   = 1 + 8 + 4
	maxFrameData = 1 << 20 // longer output is several frames
)

// segmentStart tells where a segment lies in the whole output.
type segmentStart struct {
	Version int   `json:"version"`
	Before  int64 `json:"before"` // bytes of output before this segment
}

// Gap is a place where output is missing from the log.
type Gap struct {
	Bytes int64  `json:"bytes"` // 0 where it is not known
	Why   string `json:"why"`
}

// Frame is a piece of the log.
type Frame struct {
	Time   time.Time
	Stderr bool
	Data   []byte // valid until the next one is read
	Gap    *Gap   // set where output is missing; Data is empty then
}

// errTorn says that a segment ends, or stops being one, within a frame.
var errTorn = errors.New("torn frame")

func appendFrame(to []byte, kind byte, at time.Time, data []byte) []byte {
	to = append(to, kind)
	to = binary.BigEndian.AppendUint64(to, uint64(at.UnixNano()))
	to = binary.BigEndian.AppendUint32(to, uint32(len(data)))
	return append(to, data...)
}

func appendJSON(to []byte, kind byte, at time.Time, v any) []byte {
	data, _ := json.Marshal(v) // plain structs of ours
	return appendFrame(to, kind, at, data)
}

// frameReader reads frames from r, which may grow: after io.EOF or errTorn it
// can be asked again once more is there.
type frameReader struct {
	r    io.Reader
	buf  []byte // read and not yet given out, from start on
	from int
	// size counts the bytes of the whole frames given out.
	size int64
}

// next gives the next raw frame. io.EOF: the input ends between two frames;
// errTorn: within one, or what is there is no frame.
func (f *frameReader) next() (kind byte, at time.Time, data []byte, err error) {
	if err := f.fill(headerSize); err != nil {
		return 0, at, nil, err
	}
	header := f.buf[f.from:]
	kind = header[0]
	length := int(binary.BigEndian.Uint32(header[9:]))
	if (kind != kindStdout && kind != kindStderr && kind != kindGap && kind != kindStart) || length > maxFrameData {
		return 0, at, nil, errTorn
	}
	at = time.Unix(0, int64(binary.BigEndian.Uint64(header[1:]))).UTC()
	if err := f.fill(headerSize + length); err != nil {
		return 0, at, nil, err
	}
	data = f.buf[f.from+headerSize : f.from+headerSize+length]
	f.from += headerSize + length
	f.size += int64(headerSize + length)
	return kind, at, data, nil
}

// fill makes n bytes available.
func (f *frameReader) fill(n int) error {
	if len(f.buf)-f.from >= n {
		return nil
	}
	rest := copy(f.buf, f.buf[f.from:])
	f.buf, f.from = f.buf[:rest], 0
	if cap(f.buf) < n {
		grown := make([]byte, rest, max(n, 64<<10))
		copy(grown, f.buf)
		f.buf = grown
	}
	for len(f.buf) < n {
		got, err := f.r.Read(f.buf[len(f.buf):cap(f.buf)])
		f.buf = f.buf[:len(f.buf)+got]
		if err == io.EOF && len(f.buf) >= n {
			return nil
		}
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			if len(f.buf) == 0 {
				return io.EOF
			}
			return errTorn
		}
		if err != nil {
			return err
		}
	}
	return nil
}
