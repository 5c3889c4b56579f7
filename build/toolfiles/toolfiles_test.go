package toolfiles

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(files, variables map[string]string) Files {
	return Read(Options{
		Getenv: func(name string) string {
			if name == "HOME" {
				return "/home/ada"
			}
			return variables[name]
		},
		ReadFile: func(path string) ([]byte, error) {
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		},
		List: func(folder string) []string {
			var names []string
			for path := range files {
				if name, ok := strings.CutPrefix(path, folder+"/"); ok {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			return names
		},
	})
}

func TestCondarcsNearOverFar(t *testing.T) {
	got := read(map[string]string{
		"/etc/conda/.condarc":                     "channel_alias: https://far\ncustom_channels: {a: https://far/a, b: https://far/b}\nssl_verify: /far.pem\n",
		"/opt/conda/.condarc":                     "default_channels: [https://root/pkgs/main]\n",
		"/home/ada/.config/conda/condarc.d/1.yml": "proxy_servers: {http: 'http://p:1', https: 'http://p:2'}\n",
		"/home/ada/.config/conda/condarc.d/x.txt": "channel_alias: https://not-read\n",
		"/home/ada/.condarc":                      "channel_alias: https://${WHERE}/conda/\ncustom_channels: {b: https://near/b/}\nssl_verify: ~/near.pem\n",
		"/srv/rc":                                 "custom_multichannels:\n  lab: [https://lab/x, conda-forge]\n",
	}, map[string]string{"CONDA_EXE": "/opt/conda/bin/conda", "CONDARC": "/srv/rc", "WHERE": "near"}).Conda
	want := Conda{
		Alias:    "https://near/conda",
		Channels: map[string]string{"a": "https://far/a", "b": "https://near/b"},
		Multi:    map[string][]string{"defaults": {"https://root/pkgs/main"}, "lab": {"https://lab/x", "conda-forge"}},
		Bundle:   "/home/ada/near.pem", HTTP: "http://p:1", HTTPS: "http://p:2",
		From: []string{"/etc/conda/.condarc", "/opt/conda/.condarc", "/home/ada/.condarc", "/srv/rc"}, ProxyFrom: "/home/ada/.config/conda/condarc.d/1.yml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNotFollowedIsSaidWithoutSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"ssl_verify: false\n":                               "turns certificates off",
		"channel_alias: ftp://u:hunter2@h\n":                "channel_alias is no address",
		"channel_alias: 'https://u:hunter2@h /x'\n":         "channel_alias is no address",
		"custom_channels: {a: u:hunter2@h}\n":               "custom_channels.a is no address",
		"custom_channels: [: hunter2\n":                     "is no YAML mapping",
		"- hunter2\n":                                       "is no YAML mapping",
		"custom_channels: [hunter2]\nchannel_alias: [x]\n":  "",
		"default_channels: hunter2\nproxy_servers: false\n": "",
		"": "",
	} {
		got := read(map[string]string{"/home/ada/.condarc": text}, nil)
		said := strings.Join(got.Warnings, "\n")
		if !strings.Contains(said, want) || strings.Contains(said, "hunter2") || want == "" && said != "" {
			t.Errorf("%q: %q", text, said)
		}
	}
}

func TestPipConfs(t *testing.T) {
	files := map[string]string{
		"/etc/pip.conf":                  "[global]\nindex-url: https://far/simple\ntrusted-host = far\n\tfar2\ncert = relative.pem\n",
		"/home/ada/.config/pip/pip.conf": "# x\n[global]\nindex_url = https://near/simple?a=1\nextra-index-url =\n    https://u:p%20x@one/simple\n    ; no\n    https://two/simple\n[list]\nindex-url = https://list\n[install]\nfind-links = /opt/wheels https://links/page\n",
		"/venv/pip.conf":                 "[global]\ncert = /venv/ca.pem\n",
	}
	got := read(files, map[string]string{"VIRTUAL_ENV": "/venv", "PIP_PROXY": "http://p:1"}).Pip
	want := Pip{
		Index: "https://near/simple?a=1", Extra: []string{"https://u:p%20x@one/simple", "https://two/simple"},
		FindLinks: []string{"https://links/page"}, TrustedHosts: []string{"far", "far2"}, TrustedFrom: "/etc/pip.conf", Bundle: "/venv/ca.pem", Proxy: "http://p:1",
		From: []string{"/home/ada/.config/pip/pip.conf", "/etc/pip.conf"}, ProxyFrom: "PIP_PROXY",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := read(files, map[string]string{"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": "https://v/simple"}).Pip; got.Index != "https://v/simple" || got.Extra != nil {
		t.Errorf("without files it is %+v", got)
	}
}

func TestNetrc(t *testing.T) {
	got := ParseNetrc(`# machine no login x password x
machine One.lab login ada password p#ss account x
machine two.lab
  login "a b"
  password "q\"uo te"
macdef init
machine macro.lab login x password x

default login anonymous password mail
machine login login login password password
machine three.lab password only
`)
	want := []Login{{"one.lab", "ada", "p#ss"}, {"two.lab", "a b", `q"uo te`}, {"login", "login", "password"}, {"three.lab", "", "only"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGivenFilesAreReadAlone(t *testing.T) {
	got := Read(Options{
		Getenv:   func(string) string { return "https://variable/simple" },
		ReadFile: func(path string) ([]byte, error) { return []byte("[global]\nindex-url = https://found\n"), nil },
		Given: map[string][]byte{
			PipConf: []byte("[global]\nindex-url = https://given/simple\n"), Condarc: []byte("channel_alias: https://alias"), Netrc: []byte("machine h login a password b"),
		},
	})
	if got.Pip.Index != "https://given/simple" || got.Conda.Alias != "https://alias" || len(got.Logins) != 1 || len(got.Warnings) != 0 {
		t.Errorf("%+v", got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("machine a login b password c\n", "[global]\nindex-url = x\n", "channel_alias: x\n")
	f.Add("machine \"a\\", "[", "custom_channels: {a: {b: c}}")
	f.Fuzz(func(t *testing.T, netrc, pipConf, condarc string) {
		Read(Options{Given: map[string][]byte{Netrc: []byte(netrc), PipConf: []byte(pipConf), Condarc: []byte(condarc)}})
	})
}

func TestTrustedHosts(t *testing.T) {
	got := read(map[string]string{"/etc/pip.conf": "[global]\ntrusted-host = one.lab two.lab:8443 * [::1]:80 https://three.lab\n"}, nil)
	if len(got.Warnings) != 3 || !strings.Contains(got.Warnings[0], "trusted-host in /etc/pip.conf is no server's name") {
		t.Errorf("said is %q", got.Warnings)
	}
	for address, want := range map[string]bool{
		"https://one.lab/simple": true, "https://u:p@One.lab:99/simple": true, "https://two.lab/": false, "https://two.lab:8443/": true,
		"http://one.lab/": false, "https://three.lab/": false, "https://x.one.lab/": false,
	} {
		if got.Pip.Trusts(address) != want {
			t.Errorf("%s: %v, want %v", address, !want, want)
		}
	}
}
