package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"crun.dev/crun/run/why"
	"crun.dev/crun/run/why/evidence"
)

// whyLog draws the verdict from a log alone.
func (app *App) whyLog(o *whyOptions) error {
	text, err := app.readLogEnd(o.fromLog)
	if err != nil {
		return err
	}
	c := &evidence.Case{Log: evidence.ParseLog(text)}
	if o.exit >= 0 {
		c.ExitCode = &o.exit
	}
	v := why.Draw(c)
	if o.output == "json" {
		return app.printJSON(newVerdictJSON("", c, v, o.all))
	}
	if v.Code == why.Clean {
		_, err := fmt.Fprintln(app.Out, v.Cause.In(app.chinese()))
		return err
	}
	return app.printVerdict(v, o.all)
}

// readLogEnd reads the end of a log file, or of standard input for "-".
func (app *App) readLogEnd(name string) ([]byte, error) {
	if name == "-" {
		return lastBytes(app.In, evidence.MaxBytes)
	}
	file, err := os.Open(app.rel(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: name the log in it", name)
	}
	if info.Mode().IsRegular() && info.Size() > evidence.MaxBytes {
		if _, err := file.Seek(-evidence.MaxBytes, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	return lastBytes(file, evidence.MaxBytes)
}

// lastBytes reads to the end and gives the last bytes.
func lastBytes(r io.Reader, limit int) ([]byte, error) {
	var text []byte
	piece := make([]byte, 64<<10)
	for {
		n, err := r.Read(piece)
		text = append(text, piece[:n]...)
		if len(text) > 4*limit {
			text = append(text[:0], text[len(text)-limit:]...)
		}
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
