package why

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"crun.dev/crun/run/record"
	"crun.dev/crun/run/why/evidence"
)

// Load reads the case of a run from its record. What cannot be read is left out
// and told in notes, a sentence each: a verdict from the rest is better than
// none. An error means that nothing can be said at all.
func Load(r *record.Record) (c *evidence.Case, notes []string, err error) {
	state, err := r.State()
	if errors.Is(err, record.ErrGone) {
		return nil, nil, err
	}
	c = &evidence.Case{}
	note := func(err error) {
		if err != nil {
			notes = append(notes, err.Error())
		}
	}
	if note(err); err == nil {
		c.State, c.ExitCode, c.Signal = &state, state.ExitCode, state.Signal
	}
	c.Plan, err = r.Plan()
	if note(err); c.State == nil && c.Plan == nil {
		return nil, nil, fmt.Errorf("the record of run %s cannot be read: %s", r.ID, notes[0])
	}
	for name, to := range map[string]any{record.LimitsFile: &c.Limits, record.ReportFile: &c.Report} {
		data, err := r.Get(name)
		if err == nil && data != nil {
			err = json.Unmarshal(data, to)
		}
		if err != nil {
			note(fmt.Errorf("%s cannot be read: %w", name, err))
		}
	}
	if c.State == nil && c.Report != nil {
		// Init knew the end as well.
		c.ExitCode, c.Signal = &c.Report.ExitCode, c.Report.Signal
	}
	c.Events, err = r.Events()
	note(err)
	c.Log, err = logEnd(r)
	note(err)
	return c, notes, nil
}

// logEnd reads the end of what the run printed, both streams together.
func logEnd(r *record.Record) (evidence.Log, error) {
	log := r.ReadLogEnd()
	defer log.Close()
	var tail evidence.Tail
	for {
		frame, err := log.Next()
		if errors.Is(err, io.EOF) {
			return tail.Log(), nil
		}
		if err != nil {
			return tail.Log(), fmt.Errorf("the log cannot be read to its end: %w", err)
		}
		tail.Write(frame.Data)
	}
}
