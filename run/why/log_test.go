package why

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"crun.dev/crun/run/why/evidence"
)

// Public reports of deaths, by their logs alone. Nothing is certain of a log.
func TestFromLog(t *testing.T) {
	deaths, err := txtar.ParseFile("testdata/deaths.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, death := range deaths.Files {
		t.Run(death.Name, func(t *testing.T) {
			first, log, _ := strings.Cut(string(death.Data), "\n")
			var exit int
			var want string
			if _, err := fmt.Sscan(first, &exit, &want); err != nil {
				t.Fatal(err)
			}
			v := Draw(&evidence.Case{Log: evidence.ParseLog([]byte(log)), ExitCode: &exit})
			if v.Code != want {
				t.Errorf("the verdict is %s, want %s:\n%s", v.Code, want, strings.Join(v.Lines(false), "\n"))
			}
			if v.Sure == evidence.Certain && v.Code != Clean {
				t.Errorf("certain of a log: %s", v.Code)
			}
		})
	}
}

// Every rule explains itself, has both languages and evidence.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.Code] || r.Code == "" || r.Title == "" || !strings.Contains(r.Mechanism, "Source: ") || r.Find == nil {
			t.Errorf("%+v", r)
		}
		seen[r.Code] = true
		if _, err := os.Stat(filepath.Join("rules", strings.ReplaceAll(r.Code, "-", "_")+".go")); err != nil {
			t.Errorf("a rule lies in a file of its code: %v", err)
		}
		if _, ok := Explain(r.Code); !ok {
			t.Errorf("%s is not explained", r.Code)
		}
	}
}
