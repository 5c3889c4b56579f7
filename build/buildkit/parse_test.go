package buildkit

import (
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"

	"crun.dev/crun/dockerfiles"
)

// What dockerfiles quotes is what BuildKit reads.
func TestQuotedValues(t *testing.T) {
	values := []string{"", "plain", "a b", `"`, `'`, `\`, `\\`, `$HOME`, `${HOME:-x}`, `a\$b`, "`", "#", "<<EOF", `trailing\`, "ä→", "a=b", " lead", "tail "}
	image := dockerfiles.Image{Base: "debian", ToolboxBase: "debian", EnvDir: "/opt/conda", EnvName: "base", Labels: []dockerfiles.Pair{{Name: "a", Value: `$x"\`}}}
	for i, value := range values {
		image.Variables = append(image.Variables, dockerfiles.Pair{Name: "V" + strings.Repeat("x", i), Value: value})
	}
	context, err := dockerfiles.RenderImage(image)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(strings.NewReader(context.Dockerfile))
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	lex := shell.NewLex('\\')
	for _, stage := range stages {
		for _, command := range stage.Commands {
			env, ok := command.(*instructions.EnvCommand)
			if !ok {
				continue
			}
			for _, pair := range env.Env {
				value, _, err := lex.ProcessWord(pair.Value, shell.EnvsFromSlice([]string{"HOME=/root", "PATH=/bin"}))
				if err != nil {
					t.Errorf("%s=%s: %v", pair.Key, pair.Value, err)
				}
				got[pair.Key] = value
			}
		}
	}
	for i, value := range values {
		if name := "V" + strings.Repeat("x", i); got[name] != value {
			t.Errorf("%q is read as %q", value, got[name])
		}
	}
	if want := "/opt/conda/bin:/bin"; got["PATH"] != want {
		t.Errorf("PATH is %q, want %q", got["PATH"], want)
	}
	if _, ok := got["CONDA_PREFIX"]; !ok {
		t.Error("CONDA_PREFIX is not set")
	}
}
