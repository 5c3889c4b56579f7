package profiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crun.dev/crun/internal/golden"
)

// Each testdata/NAME.yaml, loaded as a project's file, says what NAME.golden
// has: first the mistakes, then the warnings.
func TestMessages(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("found %d inputs (%v)", len(inputs), err)
	}
	for _, input := range inputs {
		t.Run(filepath.Base(input), func(t *testing.T) {
			data, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			_, warnings, err := Load([]File{{Name: "profiles.yaml", Layer: Project, Data: data}})
			var lines []string
			if err != nil {
				lines = strings.Split(err.Error(), "\n")
			}
			for _, w := range warnings {
				lines = append(lines, "warning: "+w.String())
			}
			got := strings.Join(lines, "\n") + "\n"
			golden.Check(t, strings.TrimSuffix(filepath.Base(input), ".yaml")+".golden", got)
		})
	}
}
