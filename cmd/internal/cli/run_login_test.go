package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crun.dev/crun/run/engine"
)

// A run that ends with its user's login says so before it starts.
func TestLoginWarning(t *testing.T) {
	for _, test := range []struct {
		name  string
		there []string
		facts engine.Facts
		warns bool
	}{
		{"rootless", []string{"run/systemd/system"}, engine.Facts{Rootless: true}, true},
		{"of a user who lingers", []string{"run/systemd/system", "var/lib/systemd/linger/ann"}, engine.Facts{Rootless: true}, false},
		{"without systemd", nil, engine.Facts{Rootless: true}, false},
		{"on another machine", []string{"run/systemd/system"}, engine.Facts{Rootless: true, Remote: true}, false},
		{"the machine's own", []string{"run/systemd/system"}, engine.Facts{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			for _, path := range test.there {
				if err := os.MkdirAll(filepath.Join(root, path), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			got := loginWarning(root, "ann", test.facts)
			if test.warns != strings.Contains(got, "loginctl enable-linger ann") || !test.warns && got != "" {
				t.Errorf("%q", got)
			}
		})
	}
}
