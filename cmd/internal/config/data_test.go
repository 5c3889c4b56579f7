package config

import (
	"fmt"
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

func TestPassAndCaches(t *testing.T) {
	for text, want := range map[string]string{"": "[] false", "pass: []\ncaches: false\n": "[] true", "pass: [HF_TOKEN, WANDB_*]\ncaches: true\n": "[HF_TOKEN WANDB_*] false"} {
		_, env, h := machine(t, text, "", nil)
		got, err := load(env, h)
		if err != nil || fmt.Sprint(got.Pass, got.NoCaches) != want || (got.Pass == nil) != (text == "") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{"pass: ['*']": "is no name of a variable", "pass: [A=b]": "is no name of a variable", "pass: HF_TOKEN": "must be a list", "caches: maybe": "is neither true nor false"} {
		_, env, h := machine(t, text+"\n", "", nil)
		if _, err := load(env, h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
