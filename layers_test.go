package crun_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "crun.dev/crun/"

type goPackage struct {
	ImportPath string
	Imports    []string
}

// packages lists the project's packages with what each imports directly.
func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module)
		all = append(all, p)
	}
}

// under tells whether path is one of the folders or lies below one.
func under(path string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return path == folder || strings.HasPrefix(path, folder+"/")
	})
}

// TestImportDirections holds the code to docs/design.md: who may import whom.
func TestImportDirections(t *testing.T) {
	leaves := []string{"profiles", "dockerfiles", "build/environment", "build/lock", "build/toolfiles", "run/plan"}
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			ours, isOurs := strings.CutPrefix(imported, module)
			switch {
			case isOurs && slices.Contains(leaves, p.ImportPath) && !under(ours, "internal"):
				t.Errorf("%s is a leaf, but imports %s", p.ImportPath, ours)
			case isOurs && p.ImportPath == "run/record" && !under(ours, "run/plan", "internal"):
				t.Errorf("run/record may import run/plan alone, not %s", ours)
			case isOurs && under(p.ImportPath, "run/why") && !under(ours, "run/why", "run/record", "run/plan", "run/inside", "internal"):
				t.Errorf("%s draws from a record alone, but imports %s", p.ImportPath, ours)
			case isOurs && under(p.ImportPath, "build") && under(ours, "run", "cmd", "profiles"):
				t.Errorf("%s imports %s: build and run meet in the command line", p.ImportPath, ours)
			case isOurs && under(p.ImportPath, "run") && under(ours, "build", "cmd", "profiles"):
				t.Errorf("%s imports %s: build and run meet in the command line", p.ImportPath, ours)
			case isOurs && under(p.ImportPath, "internal") && !under(ours, "internal"):
				t.Errorf("%s imports %s: internal is below everything", p.ImportPath, ours)
			case strings.HasPrefix(imported, "github.com/docker/docker/") && !under(p.ImportPath, "run/engine/docker", "build/buildkit"):
				t.Errorf("%s imports %s: run/engine/docker and build/buildkit alone may", p.ImportPath, imported)
			case strings.HasPrefix(imported, "github.com/moby/buildkit/") && !under(p.ImportPath, "build/buildkit"):
				t.Errorf("%s imports %s: build/buildkit alone may", p.ImportPath, imported)
			}
		}
	}
}

// TestInitStaysSmall keeps what every container is given free of the engines'
// clients.
func TestInitStaysSmall(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./cmd/crun-init").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for path := range strings.Lines(string(out)) {
		if path = strings.TrimSpace(path); strings.HasPrefix(path, "github.com/docker/") || strings.HasPrefix(path, "github.com/moby/") || path == "net/http" {
			t.Errorf("crun-init depends on %s", path)
		}
	}
}
