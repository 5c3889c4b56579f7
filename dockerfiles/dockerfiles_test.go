package dockerfiles

import (
	"strings"
	"testing"

	"crun.dev/crun/internal/golden"
)

func image() Image {
	return Image{
		Base: "nvidia/cuda:12.4.1-base-ubuntu22.04@sha256:" + strings.Repeat("0123456789abcdef", 4), ToolboxBase: "debian:bookworm-slim",
		EnvDir: "/opt/conda/envs/Train-1", EnvName: "Train-1", CondaCommand: true,
		Layers: []Layer{
			{Kind: KindApt, Title: "install the apt packages", File: "apt.json", Content: []byte("{}")},
			{Kind: KindConda, Title: "install Miniconda", File: "miniconda.json", Content: []byte("{}")},
			{Kind: KindConda, Title: "install the large conda packages", File: "heavy.json", Content: []byte("{}")},
			{Kind: KindPip, Title: "install the pip packages", File: "pip.json", Content: []byte("{}")},
		},
		Variables: []Pair{{"DATA", `/data/$USER "a\b" 'c' #d`}, {"EMPTY", ""}, {"TOKENIZERS_PARALLELISM", "false"}},
		Labels:    []Pair{{"dev.crun.schema", "1"}, {"dev.crun.env", "Train $1"}},
		Check:     []byte("{}"),

		CacheDomain: "lab-1",
	}
}

func TestRenderImage(t *testing.T) {
	context, err := RenderImage(image())
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "image.Dockerfile", context.Dockerfile)
	again, _ := RenderImage(image())
	if again.Dockerfile != context.Dockerfile {
		t.Error("the same input gives another Dockerfile")
	}
	for _, name := range []string{"heavy.json", "miniconda.json", "pip.json", "check.json", "toolbox.txt", "installer/start", "installer/main.py"} {
		if _, ok := context.Files[name]; !ok {
			t.Errorf("the context lacks %s; it has %v", name, context.FileNames())
		}
	}
}

func TestRenderImageOfNothing(t *testing.T) {
	context, err := RenderImage(Image{Base: "debian", ToolboxBase: "debian", EnvDir: "/opt/conda", EnvName: "base", Labels: []Pair{{"a", "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "empty.Dockerfile", context.Dockerfile)
}

func TestRenderSolve(t *testing.T) {
	context, err := RenderSolve(Solve{Base: "crun-local/bookworm:base", ToolboxBase: "debian:bookworm-slim", Request: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "solve.Dockerfile", context.Dockerfile)
	if string(context.Files[RequestFile]) != "{}" {
		t.Errorf("%s is %q", RequestFile, context.Files[RequestFile])
	}
}

// Git comes to the steps that fetch a repository, and to no other.
func TestGitIsForWhoNeedsIt(t *testing.T) {
	const mount = "from=git,"
	i := image()
	i.Layers[3].Content = []byte(`{"packages":[{"name":"tools","url":"git+https://git.example.org/tools@0123"}]}`)
	context, err := RenderImage(i)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(context.Dockerfile, mount); n != 1 || !strings.Contains(context.Dockerfile, " AS git\n") {
		t.Errorf("%d steps take git, not the one that fetches a repository:\n%s", n, context.Dockerfile)
	}
	for _, c := range []struct {
		name, request, local string
		want                 bool
	}{
		{"a requirement", `{"pip":["git+https://git.example.org/tools"]}`, "", true},
		{"what a folder needs", `{"pip":[]}`, "dependencies = ['tools @ git+https://git.example.org/tools']", true},
		{"no repository", `{"pip":["tqdm"]}`, "dependencies = ['tqdm']", false},
	} {
		i := image()
		i.Local = map[string][]byte{LocalFolder + "/0/pyproject.toml": []byte(c.local)}
		context, err := RenderSolvePip(i, []byte(c.request))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(context.Dockerfile, mount); got != c.want || got != strings.Contains(context.Dockerfile, " AS git\n") {
			t.Errorf("%s: git is there: %v, not %v:\n%s", c.name, got, c.want, context.Dockerfile)
		}
	}
}

// What comes from files of a repository must not become instructions.
func TestValuesAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Image){
		"a line break in a variable":  func(i *Image) { i.Variables = []Pair{{"A", "b\nRUN evil"}} },
		"an escape in a variable":     func(i *Image) { i.Variables = []Pair{{"A", "\x1b[2J"}} },
		"a variable's name":           func(i *Image) { i.Variables = []Pair{{"A B", "c"}} },
		"a variable's name with =":    func(i *Image) { i.Variables = []Pair{{"A=B", "c"}} },
		"a blank in the base":         func(i *Image) { i.Base = "debian AS image" },
		"a line break in the base":    func(i *Image) { i.Base = "debian\nRUN evil" },
		"a variable in the base":      func(i *Image) { i.Base = "$BASE" },
		"a folder with a blank":       func(i *Image) { i.EnvDir = "/opt/conda/envs/a b" },
		"a folder with a semicolon":   func(i *Image) { i.EnvDir = "/opt/conda/envs/a;b" },
		"a relative folder":           func(i *Image) { i.EnvDir = "opt" },
		"a quote in a title":          func(i *Image) { i.Layers[0].Title = "it's" },
		"a file's name":               func(i *Image) { i.Layers[0].File = "../a,target=/etc" },
		"a kind":                      func(i *Image) { i.Layers[0].Kind = "rpm" },
		"a cache domain":              func(i *Image) { i.CacheDomain = "a,uid=0" },
		"a line break in a label":     func(i *Image) { i.Labels = []Pair{{"a", "b\nc"}} },
		"a line separator in a label": func(i *Image) { i.Labels = []Pair{{"a", "b\u0085c"}} },
	} {
		i := image()
		change(&i)
		if context, err := RenderImage(i); err == nil {
			t.Errorf("%s is taken:\n%s", name, context.Dockerfile)
		} else if strings.Contains(err.Error(), "template") {
			t.Errorf("%s: the error shows the template: %v", name, err)
		}
	}
}

func TestRenderCheck(t *testing.T) {
	context, err := RenderCheck(Check{Image: "lab/train:v1", ToolboxBase: "debian:bookworm-slim", Request: []byte(`{"mode":"full"}`)})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "check.Dockerfile", context.Dockerfile)
	if string(context.Files[CheckFile]) != `{"mode":"full"}` {
		t.Errorf("%s is %q", CheckFile, context.Files[CheckFile])
	}
	if context, err := RenderCheck(Check{Image: "a b", ToolboxBase: "debian"}); err == nil {
		t.Errorf("a name with a blank is taken:\n%s", context.Dockerfile)
	}
}
