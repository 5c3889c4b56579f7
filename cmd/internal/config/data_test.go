package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDataOfBothFiles(t *testing.T) {
	dir, env, h := machine(t, "data: [/data:ro, /scratch/, '/a:b:rw']\n", "data: [/data, '/mit leer:ro']\n", nil)
	got, err := load(env, h)
	if err != nil {
		t.Fatal(err)
	}
	want := []Data{{Path: "/scratch"}, {Path: "/a:b"}, {Path: "/data"}, {Path: "/mit leer", ReadOnly: true}}
	if diff := cmp.Diff(want, got.Data); diff != "" {
		t.Error(diff)
	}
	if got, want := got.Origin["data./data"], filepath.Join(dir, "user/crun/config.yaml:1:7"); got != want {
		t.Errorf("/data comes from %s, want %s", got, want)
	}
}

func TestDataRefuses(t *testing.T) {
	for _, text := range []string{"data", ":ro", "/", "/x/..", "~/data"} {
		_, env, h := machine(t, "data: ['"+text+"']\n", "", nil)
		if _, err := load(env, h); err == nil || !strings.Contains(err.Error(), "is not the absolute path of a folder") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
