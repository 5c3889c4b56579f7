package record

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestComplete has a second command know what a first one has read, and nothing
// that is not so.
func TestComplete(t *testing.T) {
	store := testStore(t)
	make := func(complete bool) *Record {
		r, lock, err := store.Create(testPlan(newID(time.Now())), NewState(time.Now(), nil))
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Unlock()
		state, err := r.State()
		if err != nil {
			t.Fatal(err)
		}
		if state.Phase, state.Complete = Ended, complete; complete {
			err = r.SetState(state)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for range enoughComplete {
		make(true)
	}
	open := make(false)
	command := func() (*Store, []*Record) {
		s, err := OpenStore(store.Dir())
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.List()
		if err != nil || len(all) != enoughComplete+1 {
			t.Fatalf("%d records, %v", len(all), err)
		}
		return s, all
	}
	first, all := command()
	for _, r := range all {
		if r.Complete() {
			t.Errorf("%s is complete before anybody has read it", r.ID)
		}
		if _, err := r.State(); err != nil {
			t.Fatal(err)
		}
	}
	first.NoteComplete(all)
	second, all := command()
	for _, r := range all {
		if r.Complete() != (r.ID != open.ID) {
			t.Errorf("%s is complete: %v", r.ID, r.Complete())
		}
	}
	if reads := second.files.reads.Load(); reads != 0 {
		t.Errorf("%d records were read", reads)
	}
	// A torn note names nobody.
	note := filepath.Join(store.Dir(), completeName)
	if err := os.WriteFile(note, []byte("\x00\x00\n"+open.ID[:5]+"\n"+open.ID), 0o600); err != nil {
		t.Fatal(err)
	}
	_, all = command()
	for _, r := range all {
		if r.Complete() {
			t.Errorf("%s is complete by a torn note", r.ID)
		}
	}
	if halves, _ := filepath.Glob(filepath.Join(store.Dir(), ".new-*")); len(halves) > 0 {
		t.Errorf("%v are left behind", halves)
	}
}
