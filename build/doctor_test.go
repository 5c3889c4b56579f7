package build

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/probe"
	"crun.dev/crun/dockerfiles"
)

const probeText = `try 100 5012
Hit:1 http://archive.example.org/debian bookworm InRelease
Err:2 http://security.example.org/debian-security bookworm-security InRelease
  Could not resolve 'security.example.org'
W: Failed to fetch
try 0 120
Get:1 http://a [10 B]
try 100 20
Err:1 http://b
  401  Unauthorized [IP: 127.0.0.1 80]
E: Failed to fetch
try 100 1000
Err:1 http://c
  Could not connect to c:80 (127.0.0.1). - connect (111: Connection refused)

sources
deb http://archive.example.org/debian bookworm main
deb [signed-by=/x] http://security.example.org/debian-security bookworm-security main
`

// probing is a BuildKit that has run the probe.
type probing struct{ jobs []buildkit.Job }

func (p *probing) File(_ context.Context, job buildkit.Job, path, _ string) (buildkit.Answer, error) {
	p.jobs = append(p.jobs, job)
	if path == dockerfiles.ProbeFile {
		return buildkit.Answer{Data: []byte(probeText)}, nil
	}
	return buildkit.Answer{}, errors.New("not to be asked")
}

func (p *probing) Image(context.Context, buildkit.Job, []string) (string, error) {
	return "", errors.New("not to be asked")
}

func TestDoctorNetwork(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		switch {
		case strings.HasPrefix(r.URL.Path, "/private/") && password != "s3cr3t":
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasPrefix(r.URL.Path, "/gone/"):
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	p := open(t, write(t, "channels: [conda-forge, lab, "+server.URL+"/private/chan]\ndependencies: [python=3.9, pip, pip: [six]]\n"))
	e, solver := newEngine(t), &probing{}
	d := &Doctor{
		Solver: solver, Images: e, Environment: p.Environment, Base: "registry.lab/base:1", ToolboxBase: baseName, Limit: 5 * time.Second,
		Reach: func(_ context.Context, name string) error {
			return errors.New("Get \"https://registry.lab/v2/\": dial tcp: lookup registry.lab: no such host")
		},
		Sources: Sources{
			Conda:    map[string]string{"conda-forge": server.URL + "/cf", "lab": server.URL + "/gone"},
			PipIndex: strings.Replace(server.URL, "http://", "http://me:s3cr3t@", 1) + "/private/simple",
		},
	}
	var got []string
	if err := d.Network(t.Context(), func(tried Tried) {
		ok := "fails"
		if tried.OK {
			ok = "works"
		}
		got = append(got, strings.Join([]string{tried.From, tried.Kind, tried.Name, ok, tried.Reason, strings.Join(tried.Key, ".")}, "|"))
		if strings.Contains(tried.Address+tried.Reason, "s3cr3t") {
			t.Errorf("%+v shows a password", tried)
		}
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"engine|image|registry.lab/base:1|fails|no such host (DNS)|mirrors.registry.registry.lab",
		"engine|image|lab/base:1|works|the engine has it|",
		"host|conda|conda-forge|works|200 OK|",
		"host|conda|lab|fails|404 Not Found|mirrors.conda.lab",
		"host|conda|" + server.URL + "/private/chan|fails|401 Unauthorized|mirrors.conda." + server.URL + "/private/chan",
		"host|pip|pypi|works|200 OK|",
		"build|apt|debian|works|reached|",
		"build|apt|debian-security|fails|no such host (DNS)|mirrors.apt.debian-security",
		"build|conda|conda-forge|works|reached|",
		"build|conda|lab|works|reached|",
		"build|conda|" + server.URL + "/private/chan|fails|connection refused|mirrors.conda." + server.URL + "/private/chan",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if addresses := string(solver.jobs[0].Secrets[dockerfiles.SecretProbe]); strings.Contains(addresses, "s3cr3t") || !strings.Contains(addresses, "/private/simple/pip/\n") {
		t.Errorf("the build is told to try\n%s", addresses)
	}
}

// A certificate that pip is told not to check is no failure of an index, and is
// one of a channel.
func TestUncheckedCertificate(t *testing.T) {
	d := &Doctor{
		Environment: &environment.Environment{Channels: []string{"https://lab.example.org/chan"}},
		Sources:     Sources{Tools: toolsOf("", "[global]\nextra-index-url = https://lab.example.org/simple\ntrusted-host = lab.example.org\n", "")},
	}
	ok := map[string]bool{}
	for _, s := range d.sources() {
		ok[s.kind] = s.tried("host", probe.Outcome{Kind: probe.Certificate}).OK
	}
	if !ok["pip"] || ok["conda"] {
		t.Errorf("%v", ok)
	}
}
