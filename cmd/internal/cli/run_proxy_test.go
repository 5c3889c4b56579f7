package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

func TestReachProxy(t *testing.T) {
	gateway := func() string { return "172.17.0.1" }
	listening := func(address string) bool { return address == "172.17.0.1:7890" }
	deaf := func(string) bool { return false }
	for _, c := range []struct {
		name, proxy string
		place       runPlace
		want, why   string
	}{
		{"elsewhere", "http://u:p@proxy.lab:3128", runPlace{remote: true}, "http://u:p@proxy.lab:3128", ""},
		{"on the gateway too", "http://127.0.0.1:7890", runPlace{gateway: gateway, listens: listening}, "http://172.17.0.1:7890", ""},
		{"without a scheme", "localhost:7890", runPlace{gateway: gateway, listens: listening}, "http://172.17.0.1:7890", ""},
		{"with a password", "socks5h://u:p@[::1]:7890/", runPlace{gateway: gateway, listens: listening}, "socks5h://u:p@172.17.0.1:7890/", ""},
		{"on loopback alone", "http://127.0.0.1:7890", runPlace{gateway: gateway, listens: deaf}, "", "let it listen on 172.17.0.1:7890 too"},
		{"in the host's network", "http://127.0.0.1:7890", runPlace{hostNetwork: true, gateway: gateway, listens: deaf}, "http://127.0.0.1:7890", ""},
		{"rootless", "http://127.0.0.1:7890", runPlace{rootless: true, gateway: gateway, listens: listening}, "", "--network host"},
		{"no bridge", "http://127.0.0.1:7890", runPlace{gateway: func() string { return "" }, listens: listening}, "", "--network host"},
		{"another machine's", "http://127.0.0.1:7890", runPlace{remote: true, hostNetwork: true}, "", "the engine is on another"},
	} {
		got, why := c.place.reach(c.proxy)
		if got != c.want || !strings.Contains(why, c.why) || strings.Contains(why, "u:p") || (why == "") != (c.why == "") {
			t.Errorf("%s: %q, %q", c.name, got, why)
		}
	}
}

// A password in a proxy's address gets into no record.
func TestCarryProxyAsSecret(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	app := &App{Getenv: func(string) string { return "" }}
	cfg := func() *config.Config {
		return &config.Config{Proxy: config.Proxy{HTTPS: "http://u:hunter2@proxy.lab:3128", No: ".lab"}, Origin: map[string]string{}}
	}
	j, request := &job{secrets: map[string]string{}}, &plan.Request{}
	app.carryProxy(j, request, cfg(), engine.Facts{})
	want := map[string]string{
		"HTTPS_PROXY": "http://u:hunter2@proxy.lab:3128", "https_proxy": "http://u:hunter2@proxy.lab:3128", "NO_PROXY": ".lab", "no_proxy": ".lab",
	}
	if diff := cmp.Diff(want, j.secrets); diff != "" {
		t.Error(diff)
	}
	for _, v := range request.Env {
		if v.Value != "" || !v.FromHost {
			t.Errorf("the plan has %+v", v)
		}
	}
	none := plan.NetworkNone
	for name, request := range map[string]*plan.Request{
		"no network":           {Limits: plan.Limits{Network: &none}},
		"one of the caller's":  {Env: []plan.EnvVar{{Name: "https_proxy", Value: ""}}},
		"one of the profile's": {Limits: plan.Limits{Env: []plan.EnvVar{{Name: "HTTP_PROXY", Value: "x"}}}},
	} {
		j, before := &job{secrets: map[string]string{}}, len(request.Env)
		app.carryProxy(j, request, cfg(), engine.Facts{})
		if len(j.secrets) != 0 || len(request.Env) != before {
			t.Errorf("%s: %v", name, j.secrets)
		}
	}
}
