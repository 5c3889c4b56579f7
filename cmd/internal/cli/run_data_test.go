package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

func TestDataMounts(t *testing.T) {
	app := runApp(t, nil)
	for _, dir := range []string{"a b,c", "x:ro", "colon:", "two", "two:", "data"} {
		if err := os.MkdirAll(filepath.Join(app.Dir, dir, "y"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(app.Dir, name) }
	for _, c := range []struct {
		data, volume string
		want         plan.Mount
		err          string
	}{
		{data: "data", want: plan.Mount{Source: at("data"), Target: at("data")}},
		{data: "data:ro", want: plan.Mount{Source: at("data"), Target: at("data"), ReadOnly: true}},
		{data: "a b,c/y:rw", want: plan.Mount{Source: at("a b,c/y"), Target: at("a b,c/y")}},
		{data: "x:ro", want: plan.Mount{Source: at("x:ro"), Target: at("x:ro")}},
		{data: "x:ro:ro", want: plan.Mount{Source: at("x:ro"), Target: at("x:ro"), ReadOnly: true}},
		{data: "/数据", want: plan.Mount{Source: "/数据", Target: "/数据"}},
		{data: ":ro", err: `--data ":ro" names no folder`},
		{data: "", err: `--data "" names no folder`},
		{volume: "data:/mnt/x", want: plan.Mount{Source: at("data"), Target: "/mnt/x"}},
		{volume: "data:/mnt/x:ro", want: plan.Mount{Source: at("data"), Target: "/mnt/x", ReadOnly: true}},
		{volume: "x:ro:/mnt/a:b", want: plan.Mount{Source: at("x:ro"), Target: "/mnt/a:b"}},
		{volume: "/nowhere:/mnt/x", want: plan.Mount{Source: "/nowhere", Target: "/mnt/x"}},
		{volume: "data", err: "write SOURCE:TARGET"},
		{volume: "data:mnt", err: "write SOURCE:TARGET"},
		{volume: ":/mnt", err: "write SOURCE:TARGET"},
		{volume: "two:/y:/z", err: "can be read in two ways"},
	} {
		o := &runOptions{}
		if c.volume != "" {
			o.volumes, c.want.Origin = []string{c.volume}, "flag -v"
		} else {
			o.data, c.want.Origin = []string{c.data}, "flag --data"
		}
		if c.volume == "two:/y:/z" {
			os.MkdirAll(at("two:/y"), 0o755)
		}
		got, err := app.dataMounts(o)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if diff := cmp.Diff([]plan.Mount{c.want}, got); err != nil || diff != "" {
			t.Errorf("%s%s: %v %s", c.data, c.volume, err, diff)
		}
	}
}

// What the caller names counts before the machine's folders, and what is not
// there is said.
func TestRoots(t *testing.T) {
	dir := t.TempDir()
	machine := &config.Config{
		Data:   []config.Data{{Path: dir, ReadOnly: true}, {Path: "/nowhere"}, {Path: "/usr"}, {Path: "/etc"}},
		Origin: map[string]string{"data." + dir: "config.yaml:1:7", "data./nowhere": "config.yaml:1:7", "data./usr": "config.yaml:1:7"},
	}
	request := &plan.Request{Project: "/usr", Mounts: []plan.Mount{{Source: "/x", Target: "/etc"}}}
	warnings := addRoots(request, machine, engine.Facts{})
	want := []plan.Mount{{Source: "/x", Target: "/etc"}, {Source: dir, Target: dir, ReadOnly: true, Origin: "config.yaml:1:7"}}
	if diff := cmp.Diff(want, request.Mounts); diff != "" {
		t.Error(diff)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "config.yaml:1:7: data: there is no /nowhere on this machine; runs do without it") {
		t.Errorf("warnings %q", warnings)
	}
	request = &plan.Request{}
	if warnings := addRoots(request, machine, engine.Facts{Remote: true}); len(warnings) != 1 || len(request.Mounts) > 0 {
		t.Errorf("of a remote engine: %q, %v", warnings, request.Mounts)
	}
}

func TestCheckData(t *testing.T) {
	app := runApp(t, nil)
	outside := t.TempDir()
	os.WriteFile(filepath.Join(outside, "set.bin"), nil, 0o644)
	project := filepath.Join(app.Dir, "project")
	os.MkdirAll(project, 0o755)
	os.Symlink(outside, filepath.Join(project, "data"))
	app.Dir = project
	check := func(data string, command ...string) ([]string, error) {
		o := &runOptions{}
		request := &plan.Request{Project: project, Command: append([]string{"train.py"}, command...)}
		if data == noData {
			o.data = []string{noData}
		} else if data != "" {
			request.Mounts = []plan.Mount{{Source: data, Target: data, Origin: "flag --data"}}
		}
		return app.checkData(o, request, engine.Facts{})
	}
	warnings, err := check("")
	if want := "data leads out of the project to " + outside + ", which the run does not see: mount it with --data " + outside; err != nil || len(warnings) != 1 || !strings.HasPrefix(warnings[0], want) {
		t.Errorf("warnings %q, %v, want %q", warnings, err, want)
	}
	elsewhere := t.TempDir()
	os.Mkdir(filepath.Join(elsewhere, "sets"), 0o755)
	for _, word := range []string{elsewhere, "--data-dir=" + elsewhere, elsewhere + "/sets"} {
		if _, err := check("", word); err == nil || !strings.Contains(err.Error(), "is on this machine and not in the run's sight: mount it with --data "+elsewhere) {
			t.Errorf("%s: %v", word, err)
		}
		if _, err := check(elsewhere, word); err != nil {
			t.Errorf("%s, mounted: %v", word, err)
		}
		if warnings, err := check(noData, word); err != nil || len(warnings) > 0 {
			t.Errorf("%s, with --data none: %q, %v", word, warnings, err)
		}
	}
	for _, word := range []string{"/tmp", "/etc/passwd", "/nowhere/x", "/", "lr=1e-3", "-x", "--a=", "x/y", "s/a/b/\x00"} {
		if _, err := check("", word); err != nil {
			t.Errorf("%q: %v", word, err)
		}
	}
	// A word is a path of the folder that the run starts in.
	app.Dir = outside
	if _, err := check("", "set.bin"); err != nil {
		t.Errorf("a file of the caller's folder, which the run does not start in: %v", err)
	}
	app.Dir = project
	if _, err := check("", "data"); err == nil || !strings.HasSuffix(err.Error(), "or leave all as it is with --data none") {
		t.Errorf("a link: %v", err)
	}
	if _, err := check("/nowhere"); err == nil || err.Error() != "--data: there is no /nowhere on this machine" {
		t.Errorf("a folder that is not there: %v", err)
	}
}
