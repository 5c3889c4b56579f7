package record

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"crun.dev/crun/run/plan"
)

// Record is what is kept of one run. Reading needs no lock; what writes, but
// for AddEvent, is for the holder of the lock alone.
type Record struct {
	ID    string
	dir   string
	store *Store
}

// Dir is the record's folder.
func (r *Record) Dir() string { return r.dir }

// Plan reads the run's plan.
func (r *Record) Plan() (*plan.Plan, error) {
	var p plan.Plan
	data, err := r.store.files.read(filepath.Join(r.dir, "plan.json"))
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if gone(err) {
		return nil, fmt.Errorf("%w: %s", ErrGone, r.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the plan of run %s: %w", r.ID, err)
	}
	if p.Version > plan.Version {
		return nil, fmt.Errorf("reading the plan of run %s: written by a later crun (format %d, this one reads up to %d): update crun", r.ID, p.Version, plan.Version)
	}
	return &p, nil
}

// Known gives the state of a run that this process has seen complete, without
// reading it again: it stays so. It does not tell whether the record is there
// still.
func (r *Record) Known() (State, bool) {
	s, ok := r.store.complete.Load(r.ID)
	if !ok {
		return State{}, false
	}
	return s.(State), true
}

// Summary gives what a list shows of the run whose state s is.
func (r *Record) Summary(s *State) (*Summary, error) {
	if s.Run != nil {
		return s.Run, nil
	}
	p, err := r.Plan()
	if err != nil {
		return nil, err
	}
	return Summarize(p), nil
}

// name is the run's, or "" where its record cannot be read.
func (r *Record) name() string {
	state, known := r.Known()
	if !known {
		var err error
		if state, err = r.State(); err != nil {
			return ""
		}
	}
	if summary, err := r.Summary(&state); err == nil {
		return summary.Name
	}
	return ""
}

// State reads how the run stands.
func (r *Record) State() (State, error) {
	data, err := r.store.files.read(filepath.Join(r.dir, "state.json"))
	if gone(err) {
		return State{}, fmt.Errorf("%w: %s", ErrGone, r.ID)
	}
	var s State
	if err == nil {
		s, err = parseState(data)
	}
	if err == nil && s.Complete {
		r.store.complete.Store(r.ID, s)
	}
	if err != nil {
		return State{}, fmt.Errorf("reading the state of run %s: %w", r.ID, err)
	}
	return s, nil
}

// SetState replaces the state. That of a run which is over is on the disk
// when SetState returns. A full disk has room for it all the same, and the
// state then has FullWarning.
func (r *Record) SetState(s State) error {
	s.Version = StateVersion
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	err = r.store.files.replace(filepath.Join(r.dir, "state.json"), append(data, '\n'), s.Phase.Over())
	if full(err) {
		err = r.setStateFull(s)
	}
	if err != nil {
		return fmt.Errorf("writing the state of run %s: %w", r.ID, err)
	}
	if s.Complete {
		removeSpares(r.dir)
	}
	return nil
}

// Names of what init wrote in the container and the record keeps.
const (
	LimitsFile = "limits.json"
	ReportFile = "report.json"
)

// Put keeps a file of the run as it is.
func (r *Record) Put(name string, data []byte) error {
	if err := r.store.files.replace(filepath.Join(r.dir, name), data, false); err != nil {
		return fmt.Errorf("keeping %s of run %s: %w", name, r.ID, err)
	}
	return nil
}

// Get reads a file that Put kept; nil where there is none.
func (r *Record) Get(name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if gone(err) {
		return nil, nil
	}
	return data, err
}
