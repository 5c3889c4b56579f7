package lock

import (
	"slices"
	"strings"
	"testing"

	"crun.dev/crun/internal/golden"
)

func address(name string) string {
	switch {
	case name == "pypi":
		return ""
	case strings.Contains(name, "://"):
		return name
	}
	return "https://channels.example.org/" + name
}

func TestExport(t *testing.T) {
	l := example()
	l.Conda[0].MD5 = strings.Repeat("7", 32)
	for i := range l.Conda {
		if l.Conda[i].MD5 == "" {
			l.Conda[i].MD5 = strings.Repeat("8", 32)
		}
	}
	for _, format := range Formats {
		exported, err := l.Export(format, address)
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		golden.Check(t, "export-"+format, string(exported.Data))
		want := map[string][]string{
			"pixi": {"Einops==0.8.0"}, "conda-lock": {"Einops==0.8.0"}, "explicit": {"Einops==0.8.0", "tools"}, "pip": {"tools"},
		}[format]
		if !slices.Equal(exported.Missing, want) {
			t.Errorf("%s misses %q, want %q", format, exported.Missing, want)
		}
	}
	if _, err := l.Export("toml", address); err == nil || !strings.Contains(err.Error(), "pixi, conda-lock, explicit, pip") {
		t.Errorf("the error of another format is %v", err)
	}
	l.Conda[0].MD5 = ""
	if _, err := l.Export("conda-lock", address); err == nil || !strings.Contains(err.Error(), "none of "+l.Conda[0].Name) {
		t.Errorf("the error without an MD5 is %v", err)
	}
}

func TestDiff(t *testing.T) {
	old, now := example(), example()
	if changes := Diff(old, now); len(changes) != 0 {
		t.Errorf("two locks of one content differ: %v", changes)
	}
	for i, p := range now.Conda {
		switch p.Name {
		case "python":
			now.Conda[i].Version = "3.9.19"
		case "einops":
			now.Conda[i].Build = "1"
		}
	}
	now.Pip = slices.DeleteFunc(now.Pip, func(d Distribution) bool { return d.Name == "tools" })
	now.Pip = append(now.Pip, Distribution{Name: "tqdm", Version: "4.66.5"})
	now.Pip[0].Hashes = []string{"sha256:" + strings.Repeat("9", 64)}
	// What decides about an image is told, also where no version does.
	old.Pip = append(old.Pip, Distribution{Name: "apex", Version: "0.1"}, Distribution{Name: "lib", Path: "../lib"}, Distribution{Name: "wheel", Version: "1.0", Path: "w/wheel-1.0.whl"})
	now.Pip = append(now.Pip, Distribution{Name: "apex", Version: "0.1", Against: "torch"}, Distribution{Name: "lib", Path: "../lib2"}, Distribution{Name: "here", Path: ".", Editable: true}, Distribution{Name: "wheel", Version: "1.0", Path: "w/wheel-1.0.whl"})
	old.Toolchain = []Package{{Name: "cuda-nvcc", Version: "12.4.99"}}
	now.Toolchain = []Package{{Name: "cuda-nvcc", Version: "12.4.131"}}
	old.Base.User, now.Base.User = "", "1000"
	now.Base.Digest = ""
	now.Virtual = []string{"__glibc=2.36", "__linux=0"}
	var lines []string
	for _, c := range Diff(old, now) {
		lines = append(lines, strings.Join([]string{c.Action, c.Kind, c.Name, c.Old, c.New}, "|"))
	}
	golden.Check(t, "diff", strings.Join(lines, "\n")+"\n")
	for _, c := range Diff(nil, now) {
		if c.Action != Added {
			t.Errorf("against no lock: %+v", c)
		}
	}
}
