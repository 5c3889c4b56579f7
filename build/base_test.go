package build

import (
	"strings"
	"testing"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/lock"
)

func (p *Project) newBase() lock.Base { return lock.Base{Reference: p.Options.Base} }

// failed is the answer of a step that has none.
func failed(kind, text string) solution {
	return solution{Failure: &failure{Kind: kind, Text: text}}
}

func TestWrongBases(t *testing.T) {
	file, e := write(t, environmentFile), newEngine(t)
	e.images = []buildkit.Image{{ID: baseID, Tags: []string{baseName}, Platform: "linux/arm64"}}
	_, err := Build(t.Context(), noSolver{t}, e, Request{Project: open(t, file)})
	want := baseName + ": the base image is for linux/arm64, and the image is built for linux/amd64"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

// The steps run as root, whoever the base's user is; the image keeps it.
func TestUserOfTheBase(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*engine)
		want   string
	}{
		"the engine's":   {func(e *engine) { e.images[0].User = "jovyan" }, "jovyan"},
		"a registry's":   {func(e *engine) { e.images = nil; e.user = "1000:100" }, "1000:100"},
		"root by number": {func(e *engine) { e.images[0].User = "0:0" }, ""},
		"root by name":   {func(e *engine) { e.images[0].User = "root" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file, e := write(t, environmentFile), newEngine(t)
			test.change(e)
			p := open(t, file)
			if _, err := Build(t.Context(), solver{e}, e, Request{Project: p}); err != nil {
				t.Fatal(err)
			}
			text, _, _ := strings.Cut(e.builds[0].Dockerfile, "# Nothing of this stage")
			first, last := strings.Index(text, "\nUSER 0\n"), strings.LastIndex(text, "\nUSER "+test.want+"\n")
			if p.Lock.Base.User != test.want || test.want == "" && strings.Contains(text, "\nUSER ") || test.want != "" && (first < 0 || last < first) {
				t.Errorf("the lock has %q, the Dockerfile is\n%s", p.Lock.Base.User, text)
			}
		})
	}
}
