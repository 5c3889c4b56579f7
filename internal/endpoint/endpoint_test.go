package endpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// put adds files to a file system rooted at /.
func put(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, data := range files {
		m[strings.TrimPrefix(name, "/")] = &fstest.MapFile{Data: []byte(data)}
	}
	return m
}

// contextFile is where a context's file of this name lies.
func contextFile(dir, context, name string) string {
	sum := sha256.Sum256([]byte(context))
	id := hex.EncodeToString(sum[:])
	if name == "meta.json" {
		return dir + "/contexts/meta/" + id + "/meta.json"
	}
	return dir + "/contexts/tls/" + id + "/docker/" + name
}

func metaJSON(name, host string, skip bool) string {
	s := "false"
	if skip {
		s = "true"
	}
	return `{"Name":"` + name + `","Metadata":{"Description":"x"},"Endpoints":{"docker":{"Host":"` + host + `","SkipTLSVerify":` + s + `}}}`
}

func TestFind(t *testing.T) {
	const dir = "/home/ann/.docker"
	files := map[string]string{
		contextFile(dir, "lab", "meta.json"):    metaJSON("lab", "ssh://ann@lab1", false),
		contextFile(dir, "tls", "meta.json"):    metaJSON("tls", "tcp://10.0.0.5:2376", false),
		contextFile(dir, "tls", "ca.pem"):       "x",
		contextFile(dir, "tls", "cert.pem"):     "x",
		contextFile(dir, "tls", "key.pem"):      "x",
		contextFile(dir, "skip", "meta.json"):   metaJSON("skip", "tcp://10.0.0.6", true),
		contextFile(dir, "empty", "meta.json"):  `{"Name":"empty","Endpoints":{"kubernetes":{}}}`,
		contextFile(dir, "broken", "meta.json"): `{`,
		"/certs/ca.pem":                         "x",
		"/half/cert.pem":                        "x",
	}
	const system, rootless = "/var/run/docker.sock", "/run/user/1000/docker.sock"

	for _, tc := range []struct {
		name    string
		opts    Options
		env     map[string]string
		files   map[string]string
		blocked []string // sockets the caller may not connect to
		want    Endpoint
		err     string
	}{
		{name: "nothing at all", want: Endpoint{Host: "unix://" + system, Source: "default"}},
		{name: "system socket first", files: map[string]string{system: "", rootless: ""},
			want: Endpoint{Host: "unix://" + system, Source: "default"}},
		{name: "rootless socket alone", files: map[string]string{rootless: ""},
			want: Endpoint{Host: "unix://" + rootless, Source: "default"}},
		{name: "system socket not permitted", files: map[string]string{system: "", rootless: ""}, blocked: []string{system},
			want: Endpoint{Host: "unix://" + rootless, Source: "default"}},
		{name: "neither permitted", files: map[string]string{system: "", rootless: ""}, blocked: []string{system, rootless},
			want: Endpoint{Host: "unix://" + system, Source: "default"}},

		{name: "flag over everything", opts: Options{Host: "unix:///a.sock"},
			env:  map[string]string{"DOCKER_HOST": "unix:///b.sock", "DOCKER_CONTEXT": "lab"},
			want: Endpoint{Host: "unix:///a.sock", Source: "--host"}},
		{name: "context flag over DOCKER_HOST", opts: Options{Context: "lab"}, env: map[string]string{"DOCKER_HOST": "unix:///b.sock"},
			want: Endpoint{Host: "ssh://ann@lab1", Source: "--context lab", Context: "lab", Remote: true}},
		{name: "both flags", opts: Options{Context: "lab", Host: "unix:///a"}, err: "--host and --context name two engines"},
		{name: "DOCKER_HOST over DOCKER_CONTEXT", env: map[string]string{"DOCKER_HOST": "unix:///b.sock", "DOCKER_CONTEXT": "lab"},
			want: Endpoint{Host: "unix:///b.sock", Source: "DOCKER_HOST"}},
		{name: "DOCKER_CONTEXT over config", env: map[string]string{"DOCKER_CONTEXT": "lab"},
			files: map[string]string{dir + "/config.json": `{"currentContext":"tls"}`},
			want:  Endpoint{Host: "ssh://ann@lab1", Source: "DOCKER_CONTEXT lab", Context: "lab", Remote: true}},
		{name: "current context, with TLS", files: map[string]string{dir + "/config.json": `{"currentContext":"tls"}`},
			want: Endpoint{Host: "tcp://10.0.0.5:2376", Source: "context tls of " + dir + "/config.json", Context: "tls", Remote: true,
				TLS: &TLS{CA: contextFile(dir, "tls", "ca.pem"), Cert: contextFile(dir, "tls", "cert.pem"), Key: contextFile(dir, "tls", "key.pem")}}},
		{name: "context that skips verification", opts: Options{Context: "skip"},
			want: Endpoint{Host: "tcp://10.0.0.6:2376", Source: "--context skip", Context: "skip", Remote: true, TLS: &TLS{SkipVerify: true}}},
		{name: "current context default", files: map[string]string{dir + "/config.json": `{"currentContext":"default"}`},
			want: Endpoint{Host: "unix://" + system, Source: "default"}},
		{name: "context default is DOCKER_HOST", opts: Options{Context: "default"}, env: map[string]string{"DOCKER_HOST": "tcp://127.0.0.1:99"},
			want: Endpoint{Host: "tcp://127.0.0.1:99", Source: "DOCKER_HOST"}},
		{name: "context default overrides the current one", opts: Options{Context: "default"}, files: map[string]string{dir + "/config.json": `{"currentContext":"lab"}`},
			want: Endpoint{Host: "unix://" + system, Source: "default"}},
		{name: "DOCKER_CONFIG", env: map[string]string{"DOCKER_CONFIG": "/cfg"},
			files: map[string]string{"/cfg/config.json": `{"currentContext":"x"}`, contextFile("/cfg", "x", "meta.json"): metaJSON("x", "unix:///x.sock", false)},
			want:  Endpoint{Host: "unix:///x.sock", Source: "context x of /cfg/config.json", Context: "x"}},
		{name: "empty config.json", files: map[string]string{dir + "/config.json": " \n"}, want: Endpoint{Host: "unix://" + system, Source: "default"}},
		{name: "broken config.json", files: map[string]string{dir + "/config.json": "{"}, err: dir + "/config.json is not the JSON"},
		{name: "unknown context", opts: Options{Context: "labb"}, err: `there is no Docker context "labb"; there are default, empty, lab, skip, tls (from --context labb)`},
		{name: "context without an engine", opts: Options{Context: "empty"}, err: `"empty" names no engine: give it one`},
		{name: "context with a broken file", opts: Options{Context: "broken"}, err: "is not the JSON that it must be"},

		{name: "port", opts: Options{Host: "tcp://gpu1"}, want: Endpoint{Host: "tcp://gpu1:2375", Source: "--host", Remote: true}},
		{name: "no scheme", opts: Options{Host: "gpu1:4000"}, want: Endpoint{Host: "tcp://gpu1:4000", Source: "--host", Remote: true}},
		{name: "IPv6 loopback", opts: Options{Host: "tcp://[::1]:4000"}, want: Endpoint{Host: "tcp://[::1]:4000", Source: "--host"}},
		{name: "no host", opts: Options{Host: "tcp://:4000"}, want: Endpoint{Host: "tcp://localhost:4000", Source: "--host"}},
		{name: "http", opts: Options{Host: "http://127.0.0.1:1"}, want: Endpoint{Host: "tcp://127.0.0.1:1", Source: "--host"}},
		{name: "https", opts: Options{Host: "https://gpu1"}, want: Endpoint{Host: "tcp://gpu1:2376", Source: "--host", Remote: true, TLS: &TLS{}}},
		{name: "verified TLS", env: map[string]string{"DOCKER_HOST": "tcp://gpu1", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": "/certs"},
			want: Endpoint{Host: "tcp://gpu1:2376", Source: "DOCKER_HOST", Remote: true, TLS: &TLS{CA: "/certs/ca.pem"}}},
		{name: "TLS not verified", env: map[string]string{"DOCKER_HOST": "tcp://gpu1", "DOCKER_CERT_PATH": "/certs"},
			want: Endpoint{Host: "tcp://gpu1:2376", Source: "DOCKER_HOST", Remote: true, TLS: &TLS{CA: "/certs/ca.pem", SkipVerify: true}}},
		{name: "TLS means nothing to a socket", env: map[string]string{"DOCKER_HOST": "unix:///b", "DOCKER_TLS_VERIFY": "1"},
			want: Endpoint{Host: "unix:///b", Source: "DOCKER_HOST"}},
		{name: "missing certificates", env: map[string]string{"DOCKER_HOST": "tcp://gpu1", "DOCKER_CERT_PATH": "/none"}, err: `DOCKER_CERT_PATH is "/none", and there is no such folder`},
		{name: "half a certificate", env: map[string]string{"DOCKER_HOST": "tcp://gpu1", "DOCKER_CERT_PATH": "/half"}, err: "holds one of cert.pem and key.pem"},
		{name: "API version", env: map[string]string{"DOCKER_API_VERSION": "v1.40"}, want: Endpoint{Host: "unix://" + system, Source: "default", APIVersion: "1.40"}},

		{name: "path alone", env: map[string]string{"DOCKER_HOST": "/var/run/docker.sock"}, err: `"/var/run/docker.sock" (from DOCKER_HOST) has no unix:// before its path`},
		{name: "relative socket", opts: Options{Host: "unix://a.sock"}, err: "has no absolute path"},
		{name: "long socket", opts: Options{Host: "unix:///" + strings.Repeat("a", 107)}, err: "108 bytes"},
		{name: "ssh without host", opts: Options{Host: "ssh://"}, err: "names no host"},
		{name: "ssh option", opts: Options{Host: "ssh://-oProxyCommand=x"}, err: "would read as an option"},
		{name: "ssh password", opts: Options{Host: "ssh://ann:secret@lab1"}, err: "holds a password"},
		{name: "ssh password that is no URL's", opts: Options{Host: "ssh://ann:sec%ret/secret@lab1"}, err: `"ssh://***@lab1" (from --host) names no host`},
		{name: "tcp password", opts: Options{Host: "tcp://ann:secret@a:1/b"}, err: `"tcp://***@a:1/b" (from --host) has a path "/b"`},
		{name: "password without a scheme", opts: Options{Host: "ann:secret@a:1/b"}, err: `"***@a:1/b" (from --host) has a path "/b"`},
		{name: "password of another scheme", opts: Options{Host: "ftp://secret@a"}, err: `begins with "ftp://"`},
		{name: "tcp path", opts: Options{Host: "tcp://a:1/b"}, err: `has a path "/b"`},
		{name: "pipe", opts: Options{Host: "npipe:////./pipe/x"}, err: "Windows pipe"},
		{name: "other scheme", opts: Options{Host: "fd://3"}, err: `begins with "fd://": allowed are`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all := put(files)
			for name, file := range put(tc.files) {
				all[name] = file
			}
			env := map[string]string{"HOME": "/home/ann", "XDG_RUNTIME_DIR": "/run/user/1000"}
			for k, v := range tc.env {
				env[k] = v
			}
			tc.opts.Getenv = func(k string) string { return env[k] }
			tc.opts.Files = all
			tc.opts.MayConnect = func(socket string) bool {
				for _, b := range tc.blocked {
					if b == socket {
						return false
					}
				}
				return true
			}
			got, err := Find(tc.opts)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v, want one with %q", err, tc.err)
				}
				if strings.Contains(err.Error(), "secret") {
					t.Errorf("the error repeats a password: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Services have a home that is no folder.
func TestFindWithoutHome(t *testing.T) {
	for _, home := range []string{"", "/dev/null", "/nonexistent"} {
		got, err := Find(Options{
			Getenv:     func(name string) string { return map[string]string{"HOME": home}[name] },
			Files:      os.DirFS("/"),
			MayConnect: func(string) bool { return true },
		})
		if err != nil || got.Host == "" {
			t.Errorf("%q: %+v, %v", home, got, err)
		}
	}
}
