package build

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/build/toolfiles"
)

func toolsOf(condarc, pipConf, netrc string) toolfiles.Files {
	return toolfiles.Read(toolfiles.Options{Given: map[string][]byte{
		toolfiles.Condarc: []byte(condarc), toolfiles.PipConf: []byte(pipConf), toolfiles.Netrc: []byte(netrc),
	}})
}

// Where channels are fetched from, by the rules of conda's own configuration,
// with config.yaml before it.
func TestChannelsOfCondarc(t *testing.T) {
	s := Sources{
		Conda: map[string]string{"bioconda": "https://config.lab/bio/"},
		URLs:  map[string]string{"https://conda.anaconda.org/nv": "https://urls.lab/nv"},
		Tools: toolsOf(`
channel_alias: https://alias.lab/t/TOKENTOKEN
custom_channels: {pytorch: https://custom.lab/cloud/, bioconda: https://not.lab, pkgs/r: https://r.lab}
default_channels: [https://default.lab/pkgs/main, https://default.lab/pkgs/r]
custom_multichannels: {one: [https://one.lab/x], lab: [https://u:p4ssw0rd@lab.lab/a, conda-forge]}
`, "", "machine custom.lab login me password p@ss"),
	}
	for name, want := range map[string]string{
		"conda-forge":             "https://alias.lab/t/TOKENTOKEN/conda-forge",
		"pytorch":                 "https://me:p%40ss@custom.lab/cloud/pytorch",
		"pytorch/label/test":      "https://me:p%40ss@custom.lab/cloud/pytorch/label/test",
		"bioconda":                "https://config.lab/bio",
		"bioconda/label/x":        "https://config.lab/bio/label/x",
		"nvidia":                  "https://urls.lab/nvidia",
		"pkgs/main":               "https://default.lab/pkgs/main",
		"pkgs/r":                  "https://r.lab/pkgs/r",
		"one":                     "https://one.lab/x",
		"https://custom.lab/chan": "https://me:p%40ss@custom.lab/chan",
		"https://other.lab/chan":  "https://other.lab/chan",
	} {
		if got := s.channel(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	p := open(t, write(t, "channels: [lab, pytorch]\ndependencies: [python=3.9]\n"))
	file := s.file(p.Environment)
	want := map[string][][2]string{"lab": {{"https://lab.lab/a", "https://lab.lab/a"}, {"conda-forge", "https://conda.anaconda.org/conda-forge"}}}
	if diff := cmp.Diff(want, file.Expand); diff != "" {
		t.Error(diff)
	}
	if got := file.Channels["https://lab.lab/a"]; len(got) != 1 || got[0] != "https://u:p4ssw0rd@lab.lab/a" {
		t.Errorf("the part with a password is fetched from %v", got)
	}
	for _, secret := range []string{"TOKENTOKEN", "p4ssw0rd", "p@ss", "p%40ss"} {
		if !strings.Contains(strings.Join(file.Hidden, " "), secret) {
			t.Errorf("%s may be shown; hidden are %q", secret, file.Hidden)
		}
	}
	if notes := s.taken(p.Environment); len(notes) != 1 ||
		notes[0] != "taking the place of lab, pytorch from --secret id=condarc; the login at custom.lab from --secret id=netrc" {
		t.Errorf("it says %q", notes)
	}
}

// A package's own program gets to see no login but those of the build's servers.
func TestLoginsOfTheBuildAlone(t *testing.T) {
	s := Sources{Tools: toolsOf("", "[global]\nindex-url = https://pip.lab/simple\n[install]\nextra_index_url =\n  https://extra.lab/one\n  https://extra.lab/two\n",
		"machine pip.lab login a password aaaa machine bank.lab login b password bbbb default login c password cccc machine git.lab login d password dddd\nmachine extra.lab login e password eeee")}
	p := open(t, write(t, "dependencies: [python=3.9, pip, pip: ['x @ git+https://git.lab/x.git']]\n"))
	file := s.file(p.Environment)
	var machines []string
	for _, login := range file.Logins {
		machines = append(machines, login.Machine)
	}
	if diff := cmp.Diff([]string{"pip.lab", "git.lab", "extra.lab"}, machines); diff != "" {
		t.Error(diff)
	}
	if file.Indexes[pypi] != "https://a:aaaa@pip.lab/simple" || len(file.ExtraIndexes) != 2 {
		t.Errorf("%+v", file)
	}
	if conf := s.pipConf(); conf != "[global]\nindex-url = https://a:aaaa@pip.lab/simple\nextra-index-url =\n    https://e:eeee@extra.lab/one\n    https://e:eeee@extra.lab/two\n" {
		t.Errorf("the toolbox's pip.conf is\n%s", conf)
	}
	s.PipIndex, s.PipExtra = "https://config.lab/simple", []string{}
	if file := s.file(p.Environment); file.Indexes[pypi] != s.PipIndex || file.ExtraIndexes != nil {
		t.Errorf("config.yaml does not come first: %+v", file)
	}
}

// git shows the address of a repository in the list of processes.
func TestRepositoriesByHeader(t *testing.T) {
	p := open(t, write(t, "dependencies: [python=3.9, pip, pip: ['git+https://me:t0ken@git.lab/x.git@v1#egg=x']]\n"))
	file := Sources{}.file(p.Environment)
	if diff := cmp.Diff(map[string]string{"https://git.lab/x.git": "Authorization: Basic bWU6dDBrZW4="}, file.Git); diff != "" {
		t.Error(diff)
	}
	if len(file.Indexes) != 0 || !strings.Contains(strings.Join(file.Hidden, " "), "bWU6dDBrZW4=") {
		t.Errorf("%+v", file)
	}
}

func TestMirrorOf(t *testing.T) {
	s := Sources{Registries: map[string]string{DockerHub: "mirror.lab:5000", "registry.lab/team": "near.lab/cache/"}}
	digest := "@sha256:" + strings.Repeat("a", 64)
	for name, want := range map[string]string{
		"debian:12":                     "mirror.lab:5000/library/debian:12",
		"lab/base":                      "mirror.lab:5000/lab/base:latest",
		"debian" + digest:               "mirror.lab:5000/library/debian" + digest,
		"registry.lab/team/x:1":         "near.lab/cache/x:1",
		"registry.lab/teamwork/x:1":     "",
		"registry.lab/team/deep/er:1.2": "near.lab/cache/deep/er:1.2",
		"other.lab/x":                   "",
	} {
		if got := s.MirrorOf(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
