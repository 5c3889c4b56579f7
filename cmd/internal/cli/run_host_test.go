package cli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/view"
)

func TestPassHost(t *testing.T) {
	app := runApp(t, nil)
	app.Getenv = os.Getenv
	for name, value := range map[string]string{
		"WANDB_API_KEY": "a", "WANDB_DIR": "/x", "HF_TOKEN": "b", "AWS_SECRET_ACCESS_KEY": "c", "KAGGLE_KEY": "d", "MLFLOW_TRACKING_URI": "", "MY_KEY": "e", "XWANDB_A": "f",
	} {
		t.Setenv(name, value)
	}
	for _, c := range []struct {
		pass []string
		want []string
	}{
		{nil, []string{"HF_TOKEN", "WANDB_API_KEY"}},
		{[]string{}, nil},
		{[]string{"MY_*", "AWS_SECRET_ACCESS_KEY"}, []string{"AWS_SECRET_ACCESS_KEY", "MY_KEY"}},
	} {
		j := &job{secrets: map[string]string{}}
		request := &plan.Request{Env: []plan.EnvVar{{Name: "KAGGLE_KEY", Value: "own"}}}
		app.passHost(j, request, &config.Config{Pass: c.pass})
		var got []string
		for _, v := range request.HostEnv {
			if got = append(got, v.Name); !v.FromHost || v.Value != "" || j.secrets[v.Name] != os.Getenv(v.Name) {
				t.Errorf("%+v", v)
			}
		}
		slices.Sort(got)
		if secrets := slices.Sorted(maps.Keys(j.secrets)); !slices.Equal(got, c.want) || !slices.Equal(secrets, c.want) {
			t.Errorf("of %q: %q, secrets %q, want %q", c.pass, got, secrets, c.want)
		}
	}
}

func TestShowCaches(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{".cache/huggingface/hub", ".cache/torch", "nltk_data", "more nltk"} {
		os.MkdirAll(filepath.Join(home, dir), 0o755)
	}
	os.WriteFile(filepath.Join(home, "file"), nil, 0o644)
	at := func(name string) string { return filepath.Join(home, name) }
	for _, c := range []struct {
		name         string
		env          map[string]string
		request      plan.Request
		mounts, vars []string
	}{
		{name: "by default", mounts: []string{at(".cache/huggingface"), at(".cache/torch"), at("nltk_data")},
			vars: []string{"HF_HOME=" + at(".cache/huggingface"), "TORCH_HOME=" + at(".cache/torch"), "NLTK_DATA=" + at("nltk_data")}},
		{name: "named", env: map[string]string{"HF_HOME": "~/.cache/huggingface", "HF_HUB_CACHE": at(".cache/huggingface/hub"), "TORCH_HOME": at("nowhere"), "NLTK_DATA": at("more nltk") + ":/nowhere"},
			mounts: []string{at(".cache/huggingface"), at("more nltk")},
			vars:   []string{"HF_HOME=" + at(".cache/huggingface"), "HF_HUB_CACHE=" + at(".cache/huggingface/hub"), "NLTK_DATA=" + at("more nltk") + ":/nowhere"}},
		{name: "elsewhere", env: map[string]string{"XDG_CACHE_HOME": "/nowhere", "NLTK_DATA": at("file"), "HF_HOME": "relative", "TORCH_HOME": "/"}},
		{name: "within the home", request: plan.Request{Account: plan.Account{Home: home}}, vars: []string{"HF_HOME=" + at(".cache/huggingface"), "TORCH_HOME=" + at(".cache/torch"), "NLTK_DATA=" + at("nltk_data")}},
	} {
		app := runApp(t, nil)
		app.Getenv = func(name string) string {
			if name == "HOME" {
				return home
			}
			return c.env[name]
		}
		request := c.request
		warnings := app.showCaches(&request, view.Daemon{})
		var mounts, vars []string
		for _, m := range request.Mounts {
			mounts = append(mounts, m.Source)
		}
		for _, v := range request.HostEnv {
			vars = append(vars, v.Name+"="+v.Value)
		}
		if len(warnings) > 0 || !slices.Equal(mounts, c.mounts) || !slices.Equal(vars, c.vars) {
			t.Errorf("%s: %q, mounts %q, variables %q, want %q and %q", c.name, warnings, mounts, vars, c.mounts, c.vars)
		}
	}
}

func TestShowZone(t *testing.T) {
	for zone, source := range map[string]string{"Europe/Berlin": zoneinfo + "/Europe/Berlin", ":Europe/Berlin": zoneinfo + "/Europe/Berlin", "CET-1CEST": "", "../../../etc/passwd": "", "/etc/passwd": "", "Europe": ""} {
		if _, err := os.Stat(source); source != "" && err != nil {
			source = "" // a machine without time zones
		}
		request := &plan.Request{}
		runApp(t, map[string]string{"TZ": zone}).showZone(request, engine.Facts{})
		got := ""
		for _, m := range request.Mounts {
			if got = m.Source; m.Target != got || !m.ReadOnly {
				t.Errorf("%s: %+v", zone, m)
			}
		}
		if len(request.HostEnv) != 1 || request.HostEnv[0].Value != zone || got != source {
			t.Errorf("%s: %q, %+v", zone, got, request.HostEnv)
		}
	}
	request := &plan.Request{}
	runApp(t, map[string]string{"TZ": "Europe/Berlin"}).showZone(request, engine.Facts{Remote: true})
	if len(request.Mounts) > 0 || len(request.HostEnv) != 1 || strings.Contains(request.HostEnv[0].Value, "/usr") {
		t.Errorf("of a remote engine: %+v", request)
	}
}
