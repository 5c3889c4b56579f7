package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNotify(t *testing.T) {
	for _, c := range []struct {
		system, user, want string
		mode               os.FileMode
	}{
		{user: "notify: {command: [/usr/bin/mail, -s, crun, ann], on: failure}", mode: 0o644},
		{user: "notify: {webhook: \"https://example.org/hook/S3CRET\", body: '{\"text\":{{json .text}}}'}", mode: 0o600},
		{user: "notify: {webhook: \"https://example.org/hook/S3CRET\"}", mode: 0o640, want: "is a secret, and others may read this file: chmod 600"},
		{user: "notify: {webhook: \"example.org/S3CRET\"}", mode: 0o600, want: "notify.webhook is"},
		{user: "notify: {command: mail}", mode: 0o600, want: "must be a list"},
		{user: "notify: {command: [mail, ann]}", mode: 0o600, want: "write the absolute path of a program"},
		{user: "notify: {command: []}", mode: 0o600, want: "is empty"},
		{user: "notify: {on: sometimes}", mode: 0o600, want: "allowed are always and failure"},
		{user: "notify: {body: \"{{.text\"}", mode: 0o600, want: "is no template"},
		{user: "notify: {body: \"{{json .colour}}\"}", mode: 0o600, want: "no entry for key \"colour\""},
		{user: "notify: {body: '{\"text\": \"{{.text}}\"}'}", mode: 0o600, want: "makes no JSON of a sentence that has quotes in it"},
		{user: "notify: {webhook: \"https://example.org/S3CRET\", body: '{{.run}}: {{.signal}} {{.project}}'}", mode: 0o600},
		{user: "notify: {mail: ann}", mode: 0o600, want: "unknown key"},
		{system: "notify: {command: [/bin/true]}", mode: 0o600, want: "is for a user's own"},
	} {
		dir, env, h := machine(t, c.system, c.user, nil)
		if c.user != "" {
			if err := os.Chmod(filepath.Join(dir, "user/crun/config.yaml"), c.mode); err != nil {
				t.Fatal(err)
			}
		}
		got, err := load(env, h)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.user, err)
		case c.want == "" && len(got.Notify.Command) == 0 && got.Notify.Webhook == "":
			t.Errorf("%s: %+v", c.user, got.Notify)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s%s: %v, want %q", c.system, c.user, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "S3CRET") && c.mode != 0o600 {
			t.Errorf("the secret is told: %v", err)
		}
	}
}
