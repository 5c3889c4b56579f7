package profiles

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// file makes a profiles file that holds profiles from its second line on.
func file(layer Layer, name, profiles string) File {
	return File{Name: name, Layer: layer, Data: []byte("version: 1\n" + profiles)}
}

func mustLoad(t *testing.T, files ...File) *Set {
	t.Helper()
	set, warnings, err := Load(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range warnings {
		t.Log("warning:", w)
	}
	return set
}

// values gives "field=text@source" for each field of a profile.
func values(t *testing.T, set *Set, name string) []string {
	t.Helper()
	p, err := set.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range p.Fields() {
		all = append(all, f.Name+"="+f.Text+"@"+f.Source.String())
	}
	return all
}

func wantValues(t *testing.T, set *Set, name string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, values(t, set, name)); diff != "" {
		t.Errorf("profile %s differs (-want +got):\n%s", name, diff)
	}
}

func TestNearestFileHasANameWhole(t *testing.T) {
	set := mustLoad(t,
		file(Project, "near.yaml", "profiles: {a: {memory: 1g}}"),
		file(System, "far.yaml", "default: b\nprofiles: {a: {memory: 2g, cpus: 2}, b: {cpus: 1}}"))
	wantValues(t, set, "a", "memory=1g@near.yaml:2:24")
	wantValues(t, set, "b", "cpus=1@far.yaml:3:48")
	if diff := cmp.Diff([]string{"a", "b"}, set.Names()); diff != "" {
		t.Error(diff)
	}
	if name, at := set.Default(); name != "b" || at.String() != "far.yaml:2:10" {
		t.Errorf("the default is %q of %v", name, at)
	}
}

func TestExtendsAcrossFiles(t *testing.T) {
	set := mustLoad(t,
		file(Project, "near.yaml", `profiles:
  big: {memory: 100g}
  medium: {extends: medium, cpus: 3, env: {B: near}, tmpdir: {size: 2g}}
`),
		file(BuiltIn, "far.yaml", `profiles:
  big: {memory: 8g}
  medium: {extends: big, cpus: 1, env: {A: far, B: far, C: }, tmpdir: {size: 20g, kind: disk}, final: true}
`))
	wantValues(t, set, "medium",
		"memory=8g@far.yaml:3:17", // the far file's big, whatever the near file calls so
		"cpus=3@near.yaml:4:35",
		"tmpdir.size=2g@near.yaml:4:69",
		"tmpdir.kind=disk@far.yaml:4:89",
		"env.A=far@far.yaml:4:41", "env.B=near@near.yaml:4:44", "env.C=@far.yaml:4:57")
	p, _ := set.Resolve("medium")
	if diff := cmp.Diff([]string{"medium", "big"}, p.Extends); diff != "" {
		t.Error(diff)
	}
	if want := []EnvVar{{Name: "A", Value: "far"}, {Name: "B", Value: "near"}, {Name: "C", FromHost: true}}; !cmp.Equal(want, p.Env) {
		t.Errorf("env is %v, want %v", p.Env, want)
	}
	if p.Final != nil {
		t.Error("final was inherited")
	}
}

func TestExtendsLiftsWhatItInherits(t *testing.T) {
	set := mustLoad(t, file(Given, "p.yaml", `profiles:
  a: {gpus: 2, time_limit: 1h, memlock: 8m}
  b: {extends: a, gpus: none, time_limit: none, memlock: unlimited}
`))
	p, _ := set.Resolve("b")
	if p.TimeLimit != nil || !p.GPUs.None || *p.MemLock != Unlimited {
		t.Errorf("time limit %v, gpus %v, memlock %d", p.TimeLimit, p.GPUs, *p.MemLock)
	}
	wantValues(t, set, "b", "gpus=none@p.yaml:4:25", "memlock=unlimited@p.yaml:4:58", "time_limit=none@p.yaml:4:43")
}

func TestTmpDirIsTmpFSUnlessSaid(t *testing.T) {
	set := mustLoad(t, file(Given, "p.yaml", "profiles: {a: {tmpdir: 1g}, b: {tmpdir: {size: 1g}}, c: {tmpdir: '20g,disk'}}"))
	for name, want := range map[string]TmpDir{"a": {giB, TmpFS}, "b": {giB, TmpFS}, "c": {20 * giB, Disk}} {
		if p, _ := set.Resolve(name); *p.TmpDir != want {
			t.Errorf("tmpdir of %s is %v, want %v", name, *p.TmpDir, want)
		}
	}
}

func TestResolvedProfilesAreApart(t *testing.T) {
	set := mustLoad(t, file(Given, "p.yaml", "profiles: {a: {memory: 1g, env: {A: 1}}}"))
	p, _ := set.Resolve("a")
	for _, o := range [][2]string{{"memory", "2g"}, {"env.A", "2"}, {"env.B", "2"}, {"tmpdir", "1g"}} {
		if err := p.Override(o[0], o[1], Flag("--x")); err != nil {
			t.Fatal(err)
		}
	}
	wantValues(t, set, "a", "memory=1g@p.yaml:2:24", "env.A=1@p.yaml:2:34")
}

func TestLoadRefuses(t *testing.T) {
	etc := func(text string) File { return file(System, "/etc/crun/profiles.yaml", text) }
	for _, test := range []struct {
		name  string
		files []File
		want  []string
	}{
		{"a final name in a nearer file", []File{
			file(Project, "profiles.yaml", "profiles: {gpu: {memory: 900g}, mine: {extends: gpu}}"),
			etc("profiles: {gpu: {memory: 8g, final: true}}"),
		}, []string{`profiles.yaml:2:12: profile "gpu" is final at /etc/crun/profiles.yaml:2:12 and cannot be redefined; give yours another name, with extends: gpu if it is to build on it`}},
		{"an extends of a nearer file's profile", []File{
			file(Project, "profiles.yaml", "profiles: {mine: {memory: 9g}}"),
			etc("profiles: {gpu: {extends: mine}, small: {cpus: 1}}"),
		}, []string{`/etc/crun/profiles.yaml:2:27: extends is "mine", which is no profile in this file or a farther one; there are gpu, small`}},
		{"a default that a farther file cannot see", []File{
			file(User, "user.yaml", "profiles: {mine: {memory: 9g}}"),
			etc("default: mine\nprofiles: {small: {cpus: 1}}"),
		}, []string{`/etc/crun/profiles.yaml:2:10: default is "mine", which is no profile here; there are small`}},
		{"the profile that brings two values together", []File{
			file(Project, "profiles.yaml", "profiles: {mine: {extends: small, memory: 100m}}"),
			etc("profiles: {small: {memory: 4g, shm_size: 1g}}"),
		}, []string{`profiles.yaml:2:43: shm_size, 1g, counts as memory and would fill more than memory, 100m; lower it or raise memory`}},
		{"a mistake once, however many inherit it", []File{
			file(Project, "profiles.yaml", "profiles: {a: {memory: 1g, shm_size: 2g}, b: {extends: a}, c: {extends: b}}"),
		}, []string{`profiles.yaml:2:38: shm_size, 2g, counts as memory and would fill more than memory, 1g; lower it or raise memory`}},
		{"a zero byte, which no variable can hold", []File{
			file(Project, "profiles.yaml", `profiles: {a: {env: {A: "x\0y"}}}`),
		}, []string{`profiles.yaml:2:25: the value of env.A holds a zero byte, which no variable can`}},
		{"a terminal's commands in a name", []File{
			file(Project, "profiles.yaml", `profiles: {a: {tmpdir: {size: 1g, "\e[2J": 1}, env: {A: {"\e[2J": 1}}}, "x\ny": {memory: []}}`),
		}, []string{
			`profiles.yaml:2:35: unknown field "\x1b[2J" in tmpdir; it has size and kind`,
			`profiles.yaml:2:57: env.A must be a single value, not a mapping`,
			`profiles.yaml:2:73: "x\ny" is not a name for a profile; write at most 63 of a-z, 0-9, '.', '_' and '-', the first a letter or digit`,
			`profiles.yaml:2:90: memory must be a single value, not a list`,
		}},
		{"a file without a version", []File{
			{Name: "profiles.yaml", Layer: Project, Data: []byte("profiles: {a: {memory: 1g}}")},
		}, []string{`profiles.yaml: has no version; write "version: 1" on top (if it is another program's file, read yours with --profiles FILE)`}},
		{"a named file of another program", []File{
			{Name: "x.yaml", Layer: Given, Data: []byte("target: dev\n")},
		}, []string{
			`x.yaml: has no version; write "version: 1" on top (if it is another program's file, read yours with --profiles FILE)`,
			`x.yaml: has no profiles; write them below the key "profiles"`,
			`x.yaml:1:1: unknown key "target"; a profiles file has version, default, build or profiles`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := Load(test.files)
			if err == nil {
				t.Fatal("loaded")
			}
			if diff := cmp.Diff(test.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("errors differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBrokenFileOfOursIsAnError(t *testing.T) {
	_, _, err := Load([]File{{Name: "profiles.yaml", Layer: Project, Data: []byte("version: 1\nprofiles:\n\ta: {memory: 1g}\n")}})
	if err == nil || !strings.HasPrefix(err.Error(), "profiles.yaml:3:1: ") {
		t.Errorf("error is %v, want one about line 3", err)
	}
}

func TestForeignFilesAreLeftOut(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"dbt's", "jaffle:\n  target: dev\n", "is left out: it has neither"},
		{"a template", "{{ if .Values.x }}\na: [\n", "is left out: it has neither"},
		{"a list", "- a\n- b\n", "is left out: it has neither"},
		{"an empty one", "# nothing\n", "is empty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, warnings, err := Load([]File{
				{Name: "profiles.yaml", Layer: Project, Data: []byte(test.text)},
				file(BuiltIn, "far.yaml", "profiles: {small: {cpus: 1}}"),
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(warnings) != 1 || !strings.HasPrefix(warnings[0].String(), "profiles.yaml: "+test.want) {
				t.Errorf("warnings are %v, want one with %q", warnings, test.want)
			}
			wantValues(t, set, "small", "cpus=1@far.yaml:2:26")
		})
	}
}

func TestResolveUnknown(t *testing.T) {
	set := mustLoad(t, file(Given, "p.yaml", "profiles: {small: {cpus: 1}, large: {cpus: 2}}"))
	_, err := set.Resolve("smal")
	if want := `no profile is called "smal" (did you mean "small"?); there are large, small`; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestCheckNamesTheFlag(t *testing.T) {
	set := mustLoad(t, file(Given, "p.yaml", "profiles: {small: {memory: 4g, shm_size: 1g}}"))
	p, _ := set.Resolve("small")
	if err := p.Override("memory", "512m", Flag("--memory")); err != nil {
		t.Fatal(err)
	}
	_, err := p.Check()
	if want := "flag --memory: shm_size, 1g, counts as memory and would fill more than memory, 512m; lower it or raise memory"; err == nil || err.Error() != want {
		t.Errorf("error is %v\nwant %s", err, want)
	}
}

func TestDescriptionIsPrintable(t *testing.T) {
	set := mustLoad(t, file(Project, "p.yaml", `profiles: {a: {memory: 1g, description: "one\n two\e[2J"}}`))
	if p, _ := set.Resolve("a"); p.Description != `one two\x1b[2J` {
		t.Errorf("%q", p.Description)
	}
}

func TestOnHost(t *testing.T) {
	set := mustLoad(t, file(Given, "p.yaml", "profiles: {a: {memory: 1/4, cpus: 1/3, shm_size: 1g}}"))
	p, _ := set.Resolve("a")
	host := p.onHost(16<<30, 2*nanoCPU)
	if memory, cpus := host.Memory.Value, host.CPUs.Value; memory != 4*giB || cpus != 666_666_666 {
		t.Errorf("memory is %d, want a quarter; cpus is %d, want a third", memory, cpus)
	}
	if !p.Memory.IsShare() {
		t.Error("the profile itself was changed")
	}
	_, err := p.onHost(2<<30, nanoCPU).Check()
	if want := "p.yaml:2:50: shm_size, 1g, counts as memory and would fill more than memory, 512m; lower it or raise memory"; err == nil || err.Error() != want {
		t.Errorf("error on a small host is %v\nwant %s", err, want)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("version: 1\nprofiles: {a: {memory: 1/2, gpus: [0], env: {A: }, extends: a}}"))
	f.Add([]byte("version: 1\nprofiles: {? [a] : b, ~: {}, *x : &x y}"))
	f.Add([]byte("&a {version: 1, profiles: {b: {tmpdir: {size: 0}, time_limit: 1d}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, _, err := Load([]File{{Name: "p.yaml", Layer: Given, Data: data}})
		if err != nil {
			return
		}
		for _, name := range set.Names() {
			p, err := set.Resolve(name)
			if err != nil {
				t.Fatal(err)
			}
			p.Fields()
			p.onHost(1<<34, 2*nanoCPU).Check()
		}
	})
}
