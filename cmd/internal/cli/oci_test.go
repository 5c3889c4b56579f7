package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestMeantForOCIRuntime(t *testing.T) {
	tests := []struct {
		args string
		want bool
	}{
		{"create --bundle /run/b --pid-file /run/p id", true},
		{"--root /run/crun create id", true},
		{"--systemd-cgroup start id", true},
		{"run --bundle=/run/b id", true},
		{"run -b /run/b id", true},
		{"features", true},
		{"state id", true},
		{"kill 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef 9", true},
		{"kill -s USR1 train-7k2q", false},
		{"run train.py --root /data", false},
		{"run train.py create", false},
		{"build environment.yml", false},
		{"-q run true", false},
		{"", false},
	}
	for _, tt := range tests {
		if got := meantForOCIRuntime(strings.Fields(tt.args)); got != tt.want {
			t.Errorf("crun %s: meant for the OCI runtime = %v, want %v", tt.args, got, tt.want)
		}
	}
}

func TestOCIVerbExits125(t *testing.T) {
	var stderr bytes.Buffer
	app := &App{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &stderr, Getenv: func(string) string { return "" }, Dir: t.TempDir()}
	if code := app.Run(context.Background(), []string{"create", "--bundle", "/run/b", "id"}); code != 125 {
		t.Errorf("exit code %d, want 125", code)
	}
	if !strings.Contains(stderr.String(), "not the OCI runtime") {
		t.Errorf("stderr %q does not say whose command it is", stderr.String())
	}
}
