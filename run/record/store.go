package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"crun.dev/crun/run/plan"
)

// ErrGone says that a record is not, or no longer, there.
var ErrGone = errors.New("no such run")

// ErrAmbiguous says that what was asked for names several runs.
var ErrAmbiguous = errors.New("more than one run")

// Store is a folder of records. Several processes may use it at once.
type Store struct {
	dir   string
	files files
	// complete has the states of the records that were seen complete, by id:
	// they stay so.
	complete sync.Map

	listOnce sync.Once
	listed   map[string]bool // see readComplete
}

// OpenStore opens the store in dir, made when it is not there with access for
// the caller alone.
func OpenStore(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of run records: %w", err)
	}
	return &Store{dir: dir}, nil
}

// Dir is the store's folder.
func (s *Store) Dir() string { return s.dir }

// NewState is what Create writes as the state of a run that is about to start.
func NewState(now time.Time, engine json.RawMessage) State {
	return State{Version: StateVersion, Phase: Creating, Engine: engine, Created: now.UTC()}
}

// Reserve makes the place of a record and locks it for the caller. It is no
// record until Commit.
func (s *Store) Reserve(id string) (*Record, *Lock, error) {
	if !plan.ValidID(id) {
		return nil, nil, fmt.Errorf("making a record: %q is not a run's id", id)
	}
	r := s.record(id)
	r.dir = s.reserved(id)
	if err := s.files.mkdir(r.dir); err != nil {
		return nil, nil, fmt.Errorf("making the record of a run: %w", err)
	}
	lock, err := r.TryLock()
	if err != nil {
		os.RemoveAll(r.dir)
		return nil, nil, fmt.Errorf("making the record of a run: %w", err)
	}
	return r, lock, nil
}

func (s *Store) reserved(id string) string { return filepath.Join(s.dir, ".new-"+id) }

// Commit makes the reserved place of p's id its record, as a whole or not at
// all: after an error the place is gone too. A name that a run has which is
// not over is refused.
func (s *Store) Commit(p *plan.Plan, state State) (*Record, error) {
	r, err := s.commit(p, state)
	if err != nil {
		s.Discard(p.ID)
		return nil, err
	}
	return r, nil
}

func (s *Store) commit(p *plan.Plan, state State) (*Record, error) {
	fail := func(err error) (*Record, error) { return nil, fmt.Errorf("making the record of a run: %w", err) }
	state.Run = Summarize(p)
	planJSON, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fail(err)
	}
	stateJSON, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fail(err)
	}
	dir := s.reserved(p.ID)
	if err := s.files.writeBoth(filepath.Join(dir, "plan.json"), append(planJSON, '\n'), filepath.Join(dir, "state.json"), append(stateJSON, '\n')); err != nil {
		return fail(err)
	}
	if err := s.files.makeSpares(dir); err != nil {
		return fail(err)
	}
	// Two commands at once must not both find the name free.
	turn, err := os.OpenFile(filepath.Join(s.dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fail(err)
	}
	defer turn.Close()
	if err := syscall.Flock(int(turn.Fd()), syscall.LOCK_EX); err != nil {
		return fail(err)
	}
	if other, err := s.active(p.Name); err != nil {
		return fail(err)
	} else if other != nil {
		return nil, fmt.Errorf("a run named %s is still there: choose another --name, or end it with crun stop %s", p.Name, p.Name)
	}
	if err := s.files.rename(dir, filepath.Join(s.dir, p.ID)); err != nil {
		return fail(err)
	}
	return s.record(p.ID), nil
}

// Sync puts on the disk what Commit has made: until then a power cut may take
// it back, as a whole. Nothing is to be made for a run before.
func (s *Store) Sync() error {
	if err := s.files.syncDir(s.dir); err != nil {
		return fmt.Errorf("making the record of a run: %w", err)
	}
	return nil
}

// Discard removes a reserved place, or a record that a Commit made in this
// moment, without asking for its lock.
func (s *Store) Discard(id string) {
	if plan.ValidID(id) {
		os.RemoveAll(s.reserved(id))
		os.RemoveAll(filepath.Join(s.dir, id))
	}
}

// Create is Reserve, Commit and Sync.
func (s *Store) Create(p *plan.Plan, state State) (*Record, *Lock, error) {
	_, lock, err := s.Reserve(p.ID)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.Commit(p, state)
	if err == nil {
		if err = s.Sync(); err != nil {
			s.Discard(p.ID)
		}
	}
	if err != nil {
		lock.Unlock()
		return nil, nil, err
	}
	return r, lock, nil
}

// active finds a run of this name that is not over, or nil.
func (s *Store) active(name string) (*Record, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		// Most runs are over, which their state alone tells, or was told before.
		if r.Complete() {
			continue
		}
		state, err := r.State()
		if err != nil || state.Phase.Over() {
			continue
		}
		if summary, err := r.Summary(&state); err == nil && summary.Name == name {
			return r, nil
		}
	}
	return nil, nil
}

func (s *Store) record(id string) *Record {
	return &Record{ID: id, dir: filepath.Join(s.dir, id), store: s}
}

// Open opens the record of the run with this id; ErrGone where there is none.
func (s *Store) Open(id string) (*Record, error) {
	r := s.record(id)
	if !plan.ValidID(id) || !exists(r.dir) {
		return nil, fmt.Errorf("%w: %s", ErrGone, id)
	}
	return r, nil
}

// List gives the records, oldest first.
func (s *Store) List() ([]*Record, error) {
	entries, err := os.ReadDir(s.dir)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the runs: %w", err)
	}
	var all []*Record
	for _, entry := range entries { // sorted, and ids sort by time
		if entry.IsDir() && plan.ValidID(entry.Name()) {
			all = append(all, s.record(entry.Name()))
		}
	}
	return all, nil
}

// Find gives the run with this id, else the newest one of this name, else the
// one whose id starts so. ErrGone and ErrAmbiguous are told apart.
func (s *Store) Find(name string) (*Record, error) {
	if plan.ValidID(name) {
		if r, err := s.Open(name); err == nil {
			return r, nil
		}
	}
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(all) {
		if r.name() == name && name != "" {
			return r, nil
		}
	}
	var found []string
	for _, r := range all {
		if name != "" && strings.HasPrefix(r.ID, name) {
			found = append(found, r.ID)
		}
	}
	switch len(found) {
	case 1:
		return s.Open(found[0])
	case 0:
		return nil, fmt.Errorf("%w: %q (crun ps -a lists them)", ErrGone, name)
	}
	return nil, fmt.Errorf("%w has an id that starts with %s: %s", ErrAmbiguous, name, strings.Join(found, ", "))
}

// Remove removes a record whose lock the caller holds, as a whole.
func (s *Store) Remove(r *Record, lock *Lock) error {
	defer lock.Unlock()
	going := filepath.Join(s.dir, ".gone-"+r.ID)
	if err := s.files.rename(r.dir, going); err != nil {
		return fmt.Errorf("removing the record of run %s: %w", r.ID, err)
	}
	if err := os.RemoveAll(going); err != nil {
		return fmt.Errorf("removing the record of run %s: %w", r.ID, err)
	}
	return nil
}

// Clean removes what crashed commands left half made or half removed.
func (s *Store) Clean(now time.Time) {
	entries, _ := os.ReadDir(s.dir)
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, ".new-") && !strings.HasPrefix(name, ".gone-") {
			continue
		}
		// One made just now may not have its lock yet.
		info, err := entry.Info()
		if err != nil || now.Sub(info.ModTime()) < time.Minute {
			continue
		}
		if !entry.IsDir() {
			os.Remove(filepath.Join(s.dir, name))
			continue
		}
		half := &Record{dir: filepath.Join(s.dir, name), store: s}
		if lock, err := half.TryLock(); err == nil {
			os.RemoveAll(half.dir)
			lock.Unlock()
		}
	}
}
