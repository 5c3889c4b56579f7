package why

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"crun.dev/crun/run/record"
	"crun.dev/crun/run/why/evidence"
)

const oldID = "d25zz0myt5aw"

// oldRecord gives the record of testdata, with files replaced or, where the
// text is "", taken away.
func oldRecord(t *testing.T, files map[string]string) *record.Record {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/old_record.txtar")
	if err != nil {
		t.Fatal(err)
	}
	store, err := record.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(store.Dir(), oldID)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		text := string(f.Data)
		if other, ok := files[f.Name]; ok {
			text = other
		}
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"log.zst", "log"} {
		if text, ok := files[name]; ok {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := store.Open(oldID)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Records of every crun before are read, with a verdict.
func TestOldRecord(t *testing.T) {
	c, notes, err := Load(oldRecord(t, nil))
	if err != nil || len(notes) > 0 {
		t.Fatalf("%v, %v", notes, err)
	}
	v := Draw(c)
	if v.Code != "memory" || v.Sure != evidence.Certain {
		t.Errorf("%s, %s:\n%s", v.Code, v.Sure, strings.Join(v.Lines(false), "\n"))
	}
}

// Whatever is wrong with a record, there is an answer in words: a verdict from
// the rest, with what could not be read, or why there is none.
func TestBrokenRecords(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		code  string // of the verdict
		note  string // in the notes, or in the error where there is no code
	}{
		{"torn events", map[string]string{"events.jsonl": `{"time":"2026-11-30T22:00:00Z","by":"mon`}, "memory", ""},
		{"no report", map[string]string{"report.json": ""}, "memory", ""},
		{"a torn report", map[string]string{"report.json": `{"version":1,"reas`}, "memory", "report.json cannot be read"},
		{"a torn state", map[string]string{"state.json": `{"version":1,`}, "memory", "reading the state"},
		{"a state from the future", map[string]string{"state.json": `{"version":99,"phase":"ended"}`}, "memory", "written by a later crun"},
		{"a plan from the future", map[string]string{"plan.json": `{"version":99}`}, "memory", "written by a later crun"},
		{"neither", map[string]string{"plan.json": "x", "state.json": "y"}, "", "cannot be read"},
		{"a log that is none", map[string]string{"log.zst": "not compressed"}, "memory", "the log cannot be read"},
		{"a clock that jumped", map[string]string{"state.json": `{"version":1,"phase":"ended","created":"2026-11-30T22:00:00Z","started":"2026-11-30T22:00:01Z","finished":"2001-01-01T00:00:00Z","exit_code":3,"complete":true}`,
			"report.json": `{"version":1,"reason":"exited","exit_code":3,"started":"2026-11-30T22:00:01Z","ended":"2001-01-01T00:00:00Z","duration":"-5s"}`, "events.jsonl": ""}, "exited", ""},
		{"a run that never started", map[string]string{"state.json": `{"version":1,"phase":"failed","created":"2026-11-30T22:00:00Z","exit_code":125,"message":"no room","complete":true}`, "report.json": "", "events.jsonl": ""}, "engine-failed", ""},
		{"a run that runs", map[string]string{"state.json": `{"version":1,"phase":"running","created":"2026-11-30T22:00:00Z","started":"2026-11-30T22:00:01Z"}`, "report.json": "", "events.jsonl": ""}, Running, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, notes, err := Load(oldRecord(t, test.files))
			if test.code == "" {
				if err == nil || !strings.Contains(err.Error(), test.note) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if v := Draw(c); v.Code != test.code || v.Cause.Empty() {
				t.Errorf("the verdict is %s, want %s", v.Code, test.code)
			}
			if all := strings.Join(notes, "\n"); test.note == "" && all != "" || !strings.Contains(all, test.note) {
				t.Errorf("the notes are %q, want %q", all, test.note)
			}
		})
	}
}
