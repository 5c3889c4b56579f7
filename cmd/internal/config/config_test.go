package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// machine makes a system's and a user's file, where not "", and gives the
// folder they lie in, an environment and a host.
func machine(t *testing.T, system, user string, env map[string]string) (string, func(string) string, host) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"etc/config.yaml": system, "user/crun/config.yaml": user} {
		if text == "" {
			continue
		}
		write(t, filepath.Join(dir, name), text)
	}
	getenv := func(name string) string {
		if name == "XDG_CONFIG_HOME" {
			return filepath.Join(dir, "user")
		}
		return strings.ReplaceAll(env[name], "DIR", dir)
	}
	return dir, getenv, host{systemDir: filepath.Join(dir, "etc"), bundles: []string{filepath.Join(dir, "none.pem"), filepath.Join(dir, "system.pem")}}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestLoadMergesKeyByKey(t *testing.T) {
	dir, env, h := machine(t, `version: 1
base: debian:bookworm-slim
toolbox_base: registry.example.org/toolbox@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
mirrors:
  conda: {conda-forge: https://mirror.example.org/conda-forge, pkgs/main: https://mirror.example.org/main}
  pip:
    index_url: https://u:secret@pypi.example.org/simple
    extra_index_urls: [https://one.example.org/simple]
  apt: {debian: "http://deb.example.org/debian"}
proxy: {http: "http://proxy:3128", no: [localhost, .example.org]}
scratch: /scratch
engine: unix:///run/docker.sock
`, `base: python:3.12
mirrors:
  conda: {conda-forge: https://near.example.org/cf}
  apt:
`, map[string]string{"HTTP_PROXY": "http://other:1", "https_proxy": "http://fromenv:2"})
	write(t, filepath.Join(dir, "system.pem"), "x")
	got, err := load(env, h)
	if err != nil {
		t.Fatal(err)
	}
	etc, user := filepath.Join(dir, "etc/config.yaml"), filepath.Join(dir, "user/crun/config.yaml")
	want := &Config{
		Base:        "python:3.12",
		ToolboxBase: "registry.example.org/toolbox@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		Mirrors: Mirrors{
			Conda: map[string]string{"conda-forge": "https://near.example.org/cf", "pkgs/main": "https://mirror.example.org/main"},
			Pip:   Pip{IndexURL: "https://u:secret@pypi.example.org/simple", ExtraIndexURLs: []string{"https://one.example.org/simple"}},
			Apt:   map[string]string{"debian": "http://deb.example.org/debian"},
		},
		Proxy:   Proxy{HTTP: "http://proxy:3128", HTTPS: "http://fromenv:2", No: "localhost,.example.org"},
		CA:      filepath.Join(dir, "system.pem"),
		Scratch: "/scratch",
		Engine:  "unix:///run/docker.sock",
		Origin: map[string]string{
			"base":                         user + ":1:7",
			"toolbox_base":                 etc + ":3:15",
			"mirrors.conda.conda-forge":    user + ":3:24",
			"mirrors.conda.pkgs/main":      etc + ":5:75",
			"mirrors.pip.index_url":        etc + ":7:16",
			"mirrors.pip.extra_index_urls": etc + ":8:23",
			"mirrors.apt.debian":           etc + ":9:17",
			"proxy.http":                   etc + ":10:15",
			"proxy.https":                  "https_proxy",
			"proxy.no":                     etc + ":10:40",
			"ca":                           "the system's bundle",
			"scratch":                      etc + ":11:10",
			"engine":                       etc + ":12:9",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config differs (-want +got):\n%s", diff)
	}
}

func TestLoadWithoutFiles(t *testing.T) {
	_, env, h := machine(t, "", "", nil)
	got, err := load(env, h)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Config{Origin: map[string]string{}}, got); diff != "" {
		t.Errorf("config differs (-want +got):\n%s", diff)
	}
}

// Services have a home that is no folder.
func TestLoadWithoutHome(t *testing.T) {
	_, _, h := machine(t, "", "", nil)
	for _, home := range []string{"", "/dev/null", "/nonexistent"} {
		got, err := load(func(name string) string { return map[string]string{"HOME": home}[name] }, h)
		if err != nil || len(got.Origin) > 0 {
			t.Errorf("%q: %+v, %v", home, got, err)
		}
	}
}

func TestNamedFileIsReadAlone(t *testing.T) {
	dir, env, h := machine(t, "base: debian:12\n", "scratch: /a\n", map[string]string{"CRUN_CONFIG": "DIR/alone.yaml", "SSL_CERT_FILE": "DIR/own.pem"})
	if _, err := load(env, h); err == nil || !strings.HasPrefix(err.Error(), "CRUN_CONFIG: ") || !strings.Contains(err.Error(), "alone.yaml") {
		t.Errorf("a missing file gives %v", err)
	}
	write(t, filepath.Join(dir, "alone.yaml"), "# nothing\n")
	write(t, filepath.Join(dir, "own.pem"), "x")
	write(t, filepath.Join(dir, "system.pem"), "x")
	h.scratch = dir
	got, err := load(env, h)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		CA:      filepath.Join(dir, "own.pem"),
		Scratch: dir,
		Origin:  map[string]string{"ca": "SSL_CERT_FILE", "scratch": "the system's folder for large temporary files"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config differs (-want +got):\n%s", diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"every mistake at once", `bass: x
base: Debian 12
mirrors:
  conda: {conda-forge: mirror.example.org, " x": "https://h"}
  pip: {index_url: [a], extra_index_urls: https://h/simple, index: x}
  npm: https://h
proxy: {http: "ftp://h", https: "http://"}
ca: certs.pem
scratch: scratch
engine: /run/docker.sock
engine: unix:///x
`, []string{
			`:1:1: unknown key "bass" (did you mean "base"?)`,
			`:2:7: base is "Debian 12", which is not the name of an image; write one such as debian:bookworm-slim or registry.example.org/base@sha256:DIGEST`,
			`:4:24: mirrors.conda.conda-forge is "mirror.example.org", which does not start with http:// or https://; write it whole, such as https://HOST/PATH`,
			`:4:44: mirrors.conda has " x", which is not a name; write one such as conda-forge, and the URL behind it`,
			`:5:20: mirrors.pip.index_url must be a single value, not a list`,
			`:5:43: mirrors.pip.extra_index_urls must be a list, not text; write [https://h/simple]`,
			`:5:61: unknown key "mirrors.pip.index"; there are extra_index_urls, index_url`,
			`:6:3: unknown key "mirrors.npm" (did you mean "apt"?)`,
			`:7:15: proxy.http is "ftp://h", which does not start with http:// or https:// or socks5:// or socks5h://; write it whole, such as https://HOST/PATH`,
			`:7:33: proxy.https is "http://", which names no host; write it whole, such as http://HOST/PATH`,
			`:8:5: ca is "certs.pem", which is not an absolute path; write one such as /etc/ssl/certs/ca-certificates.crt`,
			`:9:10: scratch is "scratch", which is not the absolute path of a folder; write one such as /scratch`,
			`:10:9: engine is "/run/docker.sock", which is not the address of an engine; write unix:///PATH, tcp://HOST:PORT or ssh://USER@HOST`,
			`:11:1: key "engine" is here a second time (first on line 10); keep one of them`,
		}},
		{"a missing bundle", "ca: /nowhere/ca.pem\n", []string{`:1:5: ca is "/nowhere/ca.pem", which cannot be read (stat /nowhere/ca.pem: no such file or directory); name a bundle of certificates in PEM`}},
		{"what would end a line or a word elsewhere", `proxy: {no: "a\nNO=b", http: "http://h/\x01"}
mirrors: {apt: {debian: "https://h/a b [trusted=yes]"}, conda: {a/../b: https://h}}
scratch: "/a\nb"
`, []string{
			`:1:13: proxy.no is "a\nNO=b", which holds a line break or another control character; write one line of text`,
			`:1:30: proxy.http is "http://h/\x01", which holds a line break or another control character; write one line of text`,
			`:2:25: mirrors.apt.debian is "https://h/a b [trusted=yes]", which holds a blank; write it as %20`,
			`:2:65: mirrors.conda has "a/../b", which is not a name; write one such as conda-forge, and the URL behind it`,
			`:3:10: scratch is "/a\nb", which holds a line break or another control character; write one line of text`,
		}},
		{"a newer version", "version: 2\n", []string{`:1:10: version is "2", which this crun does not read; it reads version 1`}},
		{"no mapping", "- a\n", []string{`:1:1: the file must be a mapping of keys to values, not a list`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, env, h := machine(t, "", test.text, nil)
			_, err := load(env, h)
			if err == nil {
				t.Fatal("loaded")
			}
			got := strings.Split(strings.ReplaceAll(err.Error(), filepath.Join(dir, "user/crun/config.yaml"), ""), "\n")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("errors differ (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever is wrong with a URL, its password stays out of the message.
func TestErrorsKeepSecrets(t *testing.T) {
	for _, url := range []string{
		"ftp://user:secret@host/x", "https://secret@", "https://user:sec%ret@host", "https://user:secret/secret@host:port",
		"user:secret@proxy:3128", "https://host:x/t/secret/channel", "ftp://host/?token=secret", "ftp://user:secret@secret@host",
	} {
		for _, text := range []string{
			"mirrors: {pip: {index_url: '%'}}", "mirrors: {pip: {extra_index_urls: '%'}}", "mirrors: {pip: {extra_index_urls: ['%']}}",
			"mirrors: {conda: {cf: '%'}}", "mirrors: {conda: {'%': x}}", "proxy: {http: '%'}", "engine: 'x%'", "base: '%'", "ca: '%'", "'%': x",
		} {
			_, env, h := machine(t, strings.ReplaceAll(text, "%", url), "", nil)
			if _, err := load(env, h); err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%s with %s tells the secret: %v", text, url, err)
			}
		}
	}
}

func TestRedact(t *testing.T) {
	for url, want := range map[string]string{
		"https://host/simple":            "https://host/simple",
		"https://user:pass@host/simple":  "https://***@host/simple",
		"https://token@host/simple":      "https://***@host/simple",
		"https://u:p@ss/word@host:8080/": "https://***@host:8080/",
		"https://host/t/tk-123/channel":  "https://host/t/***/channel",
		"https://host/x?token=1#a":       "https://host/x?***",
		"user:pass@proxy:3128":           "***@proxy:3128",
		"https://u:p\nw@host/x?a\nb":     "https://***@host/x?***",
		"not a URL":                      "not a URL",
	} {
		if got := Redact(url); got != want {
			t.Errorf("Redact(%q) is %q, want %q", url, got, want)
		}
	}
}

func TestUserDir(t *testing.T) {
	for _, test := range []struct {
		xdg, home, want string
	}{
		{"/x", "/home/a", "/x/crun"},
		{"", "/home/a", "/home/a/.config/crun"},
		{"relative", "/home/a", "/home/a/.config/crun"},
		{"", "", ""},
	} {
		env := map[string]string{"XDG_CONFIG_HOME": test.xdg, "HOME": test.home}
		if got := UserDir(func(name string) string { return env[name] }); got != test.want {
			t.Errorf("with %v the folder is %q, want %q", env, got, test.want)
		}
	}
}

func TestCacheDomain(t *testing.T) {
	for text, want := range map[string]string{"cache_domain: vision-lab\n": "vision-lab", "cache_domain: user\n": fmt.Sprintf("uid-%d", os.Getuid()), "scratch:\n": ""} {
		_, env, h := machine(t, strings.ReplaceAll(text, "scratch:\n", ""), "", nil)
		config, err := load(env, h)
		if err != nil || config.CacheDomain != want {
			t.Errorf("%q gives %+v, %v", text, config, err)
		}
	}
	_, env, h := machine(t, "cache_domain: 'a,uid=0'\n", "", nil)
	if _, err := load(env, h); err == nil || !strings.Contains(err.Error(), `config.yaml:1:15: cache_domain is "a,uid=0"`) {
		t.Errorf("the error is %v", err)
	}
}

func TestMirrorsOfRegistriesAndAddresses(t *testing.T) {
	_, env, h := machine(t, `mirrors:
  registry: {docker-hub: "mirror.lab:5000", registry.lab/team: near.lab/cache}
  urls: {"https://wheels.lab/whl/": "https://u:p@near.lab/whl/"}
`, "", nil)
	got, err := load(env, h)
	if err != nil {
		t.Fatal(err)
	}
	want := Mirrors{
		Registry: map[string]string{"docker-hub": "mirror.lab:5000", "registry.lab/team": "near.lab/cache"},
		URLs:     map[string]string{"https://wheels.lab/whl/": "https://u:p@near.lab/whl/"},
	}
	if diff := cmp.Diff(want, got.Mirrors); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"registry: {docker-hub: 'https://mirror.lab'}":         "is not the beginning of an image's name",
		"registry: {'https://x': mirror.lab}":                  "is not a registry",
		"urls: {wheels: 'https://near.lab'}":                   "is not the beginning of an address",
		"urls: {'https://u:secret@h/': 'https://near.lab'}":    "is not the beginning of an address",
		"urls: {'https://h/': 'near.lab'}":                     "does not start with",
		"registry: {docker-hub: 'user:secret@mirror.lab/x:y'}": "is not the beginning of an image's name",
	} {
		_, env, h := machine(t, "mirrors:\n  "+text+"\n", "", nil)
		if _, err := load(env, h); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestPatience(t *testing.T) {
	for text, want := range map[string]int{"2m": 120, "1s": 1, "0s": 0, "1.5s": 0, "60": 0, "2h": 0} {
		_, env, h := machine(t, "patience: "+text+"\n", "", nil)
		config, err := load(env, h)
		if want == 0 && (err == nil || !strings.Contains(err.Error(), "no time from 1s to 1h")) || want != 0 && (err != nil || config.Patience != want) {
			t.Errorf("%s gives %+v, %v", text, config, err)
		}
	}
}

func TestChecks(t *testing.T) {
	_, env, h := machine(t, "checks: {free: 50g, used: 95%, memory: 0, gpu_free: 8g, refuse: [runs], skip: [shm, gpus]}\n", "checks: {free: 2g}\n", nil)
	got, err := load(env, h)
	if err != nil {
		t.Fatal(err)
	}
	want := Checks{Free: 2 << 30, Used: 95, Available: 1, GPUFree: 8 << 30, Refuse: []string{"runs"}, Skip: []string{"shm", "gpus"}}
	if diff := cmp.Diff(want, got.Checks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if th := got.Checks.Thresholds(); th.Free != 2<<30 || th.Used != 95 || th.Available != 1 {
		t.Errorf("%+v", th)
	}
	if th := (Checks{}).Thresholds(); th.Free != 10<<30 || th.Used != 90 || th.Available != 2<<30 {
		t.Errorf("%+v", th)
	}
	for text, want := range map[string]string{
		"checks: {free: lots}":   `checks.free is "lots", which is not a size; write one such as 10g`,
		"checks: {used: 101}":    `is no percentage from 1 to 100`,
		"checks: {used: 0}":      `is no percentage from 1 to 100`,
		"checks: {memory: -1}":   `is not a size`,
		"checks: {skip: [dsik]}": `is no check; there are disk, memory, runs, shm, gpus, and all`,
		"checks: {refuse: disk}": `must be a list`,
		"checks: {fre: 1g}":      `did you mean`,
	} {
		_, env, h := machine(t, text+"\n", "", nil)
		if _, err := load(env, h); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "config.yaml:1:") {
			t.Errorf("%s: %v, want %q with its place", text, err, want)
		}
	}
}
