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

// CompressLog turns the log of a run that is over into log.zst. It may be
// called again after a crash, at any point.
func (r *Record) CompressLog() error {
	path := filepath.Join(r.dir, "log.zst")
	plain := filepath.Join(r.dir, "log")
	if !exists(path) && exists(plain) {
		if err := r.compress(path); err != nil {
			os.Remove(path + ".tmp")
			return fmt.Errorf("compressing the log of run %s: %w", r.ID, err)
		}
	}
	if err := r.store.files.step("remove segments"); err != nil {
		return err
	}
	if err := os.RemoveAll(plain); err != nil {
		return fmt.Errorf("compressing the log of run %s: %w", r.ID, err)
	}
	return nil
}

func (r *Record) compress(path string) (err error) {
	if err := r.store.files.step("create log.zst"); err != nil {
		return err
	}
	file, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	// One thread and a small window: the monitor is to stay small.
	encoder, err := zstd.NewWriter(file, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	log := r.ReadLog()
	defer log.Close()
	var (
		buf   []byte
		piece int     // bytes in this piece
		begin []int64 // where pieces begin in the file
	)
	for {
		frame, err := log.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		switch {
		case frame.Gap != nil:
			buf = appendJSON(buf[:0], kindGap, frame.Time, frame.Gap)
		case frame.Stderr:
			buf = appendFrame(buf[:0], kindStderr, frame.Time, frame.Data)
		default:
			buf = appendFrame(buf[:0], kindStdout, frame.Time, frame.Data)
		}
		if piece >= pieceSize {
			if err := encoder.Close(); err != nil {
				return err
			}
			at, err := file.Seek(0, io.SeekCurrent)
			if err != nil {
				return err
			}
			begin, piece = append(begin, at), 0
			encoder.Reset(file)
		}
		piece += len(buf)
		if _, err := encoder.Write(buf); err != nil {
			return err
		}
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	if err := r.putPieces(begin); err != nil {
		return err
	}
	if err := r.store.files.step("sync log.zst"); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := r.store.files.rename(path+".tmp", path); err != nil {
		return err
	}
	return r.store.files.syncDir(r.dir)
}

// A compressed log is made of pieces, each of which can be read without those
// before it (RFC 8878, 3: frames may follow one another), so that the end of a
// large one is at hand. pieceSize is in bytes of frames.
const pieceSize = 4 << 20

// PiecesFile has where the pieces of log.zst begin, but for the first, as JSON.
// A log of one piece has none, nor has one that an early crun compressed.
const PiecesFile = "log.pieces"

func (r *Record) putPieces(begin []int64) error {
	if len(begin) == 0 {
		return nil
	}
	data, err := json.Marshal(begin)
	if err != nil {
		return err
	}
	return r.Put(PiecesFile, data)
}

// lastPieces gives where to begin reading log.zst for the last two pieces: the
// last one may be short. 0 is its beginning.
func (r *Record) lastPieces() int64 {
	data, err := r.Get(PiecesFile)
	var begin []int64
	if err != nil || json.Unmarshal(data, &begin) != nil || len(begin) < 2 {
		return 0
	}
	return begin[len(begin)-2]
}
