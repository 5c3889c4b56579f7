package cli

import (
	"fmt"
	"io"
	"os"

	"crun.dev/crun/run/why"
	"crun.dev/crun/run/why/evidence"
)

// whyLog draws the verdict from a log alone.
func (app *App) whyLog(o *whyOptions) error {
	log, err := app.readLogEnd(o.fromLog)
	if err != nil {
		return err
	}
	c := &evidence.Case{Log: log}
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
func (app *App) readLogEnd(name string) (log evidence.Log, err error) {
	if name == "-" {
		return logOf(app.In)
	}
	file, err := os.Open(app.rel(name))
	if err != nil {
		return log, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return log, err
	}
	if info.IsDir() {
		return log, fmt.Errorf("%s is a folder: name the log in it", name)
	}
	if info.Mode().IsRegular() && info.Size() > evidence.MaxBytes {
		if _, err := file.Seek(-evidence.MaxBytes, io.SeekEnd); err != nil {
			return log, err
		}
	}
	return logOf(file)
}

// logOf reads to the end.
func logOf(r io.Reader) (evidence.Log, error) {
	var tail evidence.Tail
	_, err := io.Copy(&tail, r)
	return tail.Log(), err
}
