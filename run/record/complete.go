package record

import (
	"os"
	"path/filepath"
	"strings"

	"crun.dev/crun/run/plan"
)

// completeName is a store's list of records that are complete, an id a line: a
// command that asks which runs go on need not read a thousand states. It is a
// note, and may be torn, old or gone.
const completeName = ".complete"

// enoughComplete is how many records the list may lack before it is written
// anew.
const enoughComplete = 16

// Complete tells whether the record is known to be complete, and stays so. It
// reads no record: what it does not know is false.
func (r *Record) Complete() bool {
	if _, ok := r.Known(); ok {
		return true
	}
	r.store.listOnce.Do(r.store.readComplete)
	return r.store.listed[r.ID]
}

func (s *Store) readComplete() {
	s.listed = make(map[string]bool)
	data, err := os.ReadFile(filepath.Join(s.dir, completeName))
	if err != nil {
		return // all are read
	}
	for line := range strings.Lines(string(data)) {
		if id := strings.TrimSuffix(line, "\n"); id != line && plan.ValidID(id) {
			s.listed[id] = true
		}
	}
}

// NoteComplete writes down which of all the store's records are complete, where
// many have become so. Without the note every record is read.
func (s *Store) NoteComplete(all []*Record) {
	var ids strings.Builder
	fresh := 0
	for _, r := range all {
		if !r.Complete() {
			continue
		}
		ids.WriteString(r.ID + "\n")
		if !s.listed[r.ID] {
			fresh++
		}
	}
	if fresh < enoughComplete {
		return
	}
	file, err := os.CreateTemp(s.dir, ".new-complete-*")
	if err != nil {
		return
	}
	_, err = file.WriteString(ids.String())
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(s.dir, completeName))
	}
	if err != nil {
		os.Remove(file.Name())
	}
}
