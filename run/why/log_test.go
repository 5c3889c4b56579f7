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
			for _, text := range []evidence.Text{v.Cause, v.Fix} {
				if !text.Empty() && (text.Chinese == "" || strings.Contains(text.In(true)+text.In(false), "%!")) {
					t.Errorf("%q in Chinese is %q", text.In(false), text.In(true))
				}
			}
			if len(v.Signs) == 0 && v.Code != Clean {
				t.Errorf("%s has no evidence", v.Code)
			}
			if v.Sure == evidence.Certain && v.Code != Clean {
				t.Errorf("certain of a log: %s", v.Code)
			}
		})
	}
}

// Every rule explains itself and names its source.
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
