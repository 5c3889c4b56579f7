package record

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestLink gives two runs one file, which is made once, and makes another one
// for another program.
func TestLink(t *testing.T) {
	r, _ := testRecord(t)
	loads := 0
	load := func() ([]byte, error) { loads++; return []byte("program"), nil }
	first, second, third := filepath.Join(r.Dir(), "1"), filepath.Join(r.Dir(), "2"), filepath.Join(r.Dir(), "3")
	for _, path := range []string{first, second} {
		if err := r.Link("init-a", load, path); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if data, readErr := os.ReadFile(path); string(data) != "program" || err != nil || readErr != nil || info.Mode().Perm() != 0o555 {
			t.Errorf("%s holds %q, mode %v, %v, %v", path, data, info.Mode(), err, readErr)
		}
	}
	if loads != 1 {
		t.Errorf("the file was made %d times", loads)
	}
	if err := r.Link("init-b", load, third); err != nil || loads != 2 {
		t.Errorf("another program: %v, %d loads", err, loads)
	}
	failing := errors.New("not in this crun")
	if err := r.Link("init-c", func() ([]byte, error) { return nil, failing }, filepath.Join(r.Dir(), "4")); !errors.Is(err, failing) {
		t.Errorf("error %v", err)
	}
	if all, err := r.store.List(); err != nil || len(all) != 1 {
		t.Errorf("%d records, %v", len(all), err)
	}
}
