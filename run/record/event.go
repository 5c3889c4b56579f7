package record

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// Event is something that happened to a run.
type Event struct {
	Time time.Time `json:"time"`
	// By is who saw or did it: monitor, engine, or the command ("crun stop").
	By string `json:"by"`
	// What is what happened: "created", "started", "oom", "signal", ...
	What  string            `json:"what"`
	Attrs map[string]string `json:"attrs,omitempty"`
}

// AddEvent appends e, which is given the time when it has none. Any process
// may do so, without the lock.
func (r *Record) AddEvent(e Event) error {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return r.store.files.append(filepath.Join(r.dir, "events.jsonl"), append(line, '\n'))
}

// Events reads the events, oldest first. Lines that are torn or are no events
// are left out.
func (r *Record) Events() ([]Event, error) {
	data, err := os.ReadFile(filepath.Join(r.dir, "events.jsonl"))
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var events []Event
	for {
		line, rest, complete := bytes.Cut(data, []byte("\n"))
		if !complete {
			return events, nil
		}
		var e Event
		if json.Unmarshal(line, &e) == nil && e.What != "" {
			events = append(events, e)
		}
		data = rest
	}
}
