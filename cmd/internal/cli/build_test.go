package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/internal/endpoint"
)

// buildApp is an app in a folder with an environment file, without an engine.
func buildApp(t *testing.T) (*App, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	text := "name: cli\nchannels: [conda-forge]\ndependencies:\n  - python=3.9\n"
	if err := os.WriteFile(filepath.Join(dir, "environment.yml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, errs := &bytes.Buffer{}, &bytes.Buffer{}
	env := map[string]string{"DOCKER_HOST": "unix://" + filepath.Join(dir, "none.sock"), "HOME": dir}
	return &App{In: strings.NewReader(""), Out: out, Err: errs, Dir: dir, Getenv: func(name string) string { return env[name] }}, out, errs
}

func TestBuildCommandLine(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		want string // in stderr
	}{
		{[]string{"a", "b"}, exitUsage, "takes one environment file or folder, not 2"},
		{[]string{"a", "-f", "b"}, exitUsage, `"a" and --file "b" both name an environment file`},
		{[]string{"--progress", "pretty"}, exitUsage, `--progress is "pretty"; allowed are auto, tty, plain, rawjson, quiet`},
		{[]string{"--python", "three"}, exitUsage, `--python is "three"; allowed is a version such as "3.9"`},
		{[]string{"--base", "Debian:12"}, exitUsage, `--base is "Debian:12", which is no name of an image`},
		{[]string{"-t", "a b"}, exitUsage, `--tag is "a b", which is no name for an image`},
		{[]string{"-t", "a@sha256:" + strings.Repeat("a", 64)}, exitUsage, "a name with a digest cannot be given"},
		{[]string{"-o", "xml"}, exitUsage, "xml"},
		{[]string{"--skip-check", "dsik"}, exitUsage, `--skip-check is "dsik"; there are disk,`},
		{[]string{"none.yml"}, exitFailure, "none.yml: there is no such file"},
		{[]string{}, exitFailure, "none.sock"},
		{[]string{"--python", "3.10", "--dry-run"}, exitFailure, "environment.yml:4:5: the file asks for python=3.9, the command line for --python 3.10"},
	} {
		app, out, errs := buildApp(t)
		code := app.Run(context.Background(), append([]string{"build"}, test.args...))
		if code != test.code || !strings.Contains(errs.String(), test.want) {
			t.Errorf("crun build %q ends with %d and says\n%s\nwant %d and %q", test.args, code, errs, test.code, test.want)
		}
		if out.Len() > 0 {
			t.Errorf("crun build %q prints %q", test.args, out)
		}
	}
}

func TestBuildDryRun(t *testing.T) {
	app, out, errs := buildApp(t)
	if code := app.Run(context.Background(), []string{"build", "--dry-run", "--base", "ubuntu:24.04"}); code != 0 {
		t.Fatalf("it ends with %d: %s", code, errs)
	}
	for _, want := range []string{"FROM ubuntu:24.04 AS solve\n", "\n# Files of the build context:\n", "\n#   request.json\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it prints\n%s\nwithout %q", out, want)
		}
	}
	if !strings.Contains(errs.String(), "there is no ") {
		t.Errorf("it says %q", errs)
	}
	entries, _ := os.ReadDir(app.Dir)
	if len(entries) != 1 {
		t.Errorf("it leaves %v", entries)
	}
}

// The section build of the repository of the environment file counts, wherever
// crun is called from.
func TestBuildSectionOfTheRepository(t *testing.T) {
	app, out, errs := buildApp(t)
	sub := filepath.Join(app.Dir, "sub")
	for name, text := range map[string]string{"profiles.yaml": "version: 1\nbuild:\n  base: debian:12\n", "sub/profiles.yaml": "version: 1\nbuild: {apt: [x y]}\n"} {
		if err := os.MkdirAll(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(app.Dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code := app.Run(context.Background(), []string{"build", "--dry-run"}); code != 0 || !strings.Contains(out.String(), "FROM debian:12 AS ") {
		t.Errorf("it ends with %d: %s\n%s", code, errs, out)
	}
	if err := os.Rename(filepath.Join(app.Dir, "environment.yml"), filepath.Join(sub, "environment.yml")); err != nil {
		t.Fatal(err)
	}
	want := `sub/profiles.yaml:2:15: an entry of build.apt is "x y", which is not the name of a Debian package`
	if code := app.Run(context.Background(), []string{"build", "--dry-run", "sub"}); code != exitFailure || !strings.Contains(errs.String(), want) {
		t.Errorf("it ends with %d: %s", code, errs)
	}
	out.Reset()
	if code := app.Run(context.Background(), []string{"build", "--dry-run", "sub", "--profiles", "profiles.yaml"}); code != 0 || !strings.Contains(out.String(), "FROM debian:12 AS ") {
		t.Errorf("with --profiles it ends with %d: %s", code, errs)
	}
}

func TestBuildHelp(t *testing.T) {
	app, out, _ := buildApp(t)
	if code := app.Run(context.Background(), []string{"build", "--help"}); code != 0 || !strings.Contains(out.String(), "crun build --dry-run") {
		t.Errorf("the help ends with %d and is\n%s", code, out)
	}
}

// TestBuildPlatform: an image is made for the engine's architecture, not for
// that of whoever asks.
func TestBuildPlatform(t *testing.T) {
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"Arch": "arm64"}`)
	}))
	host := strings.Replace(daemon.URL, "http", "tcp", 1)
	own := map[string]string{"amd64": "linux-64", "arm64": "linux-aarch64"}[runtime.GOARCH]
	check := func(remote, dryRun bool, want string) {
		t.Helper()
		engine, err := buildkit.NewEngine(endpoint.Endpoint{Host: host, Remote: remote})
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()
		app, _, _ := buildApp(t)
		got, err := app.platform(t.Context(), engine, "", dryRun)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("remote %v, dry run %v: %q, %v, want %q", remote, dryRun, got, err, want)
		}
	}
	check(false, false, own)
	check(true, false, "linux-aarch64")
	daemon.Close()
	check(true, false, "")
	check(true, true, own)
}

// Names, locks and labels may be anybody's, and hold what a terminal obeys.
func TestMessagesHoldNoCommandsOfTerminals(t *testing.T) {
	var errs bytes.Buffer
	app := &App{Err: &errs}
	app.exitCode(errors.New("one\x1b]0;title\x07\n\ttwo\u009b31m"))
	app.note("%s", "three\x1b[2J\r")
	app.warn("four\x08")
	errs.WriteString(dash("five\x1b[31m\n"))
	if want := "crun: one\\x1b]0;title\\a\n\ttwo\\u009b31m\ncrun: three\\x1b[2J\\r\ncrun: warning: four\\b\nfive\\x1b[31m\\n"; errs.String() != want {
		t.Errorf("got  %q\nwant %q", errs.String(), want)
	}
}

func TestRoomIsSkipped(t *testing.T) {
	for _, skip := range [][]string{{"disk"}, {"runs", "all"}} {
		if roomOf(nil, skip) != nil {
			t.Errorf("%q: the disk is looked at", skip)
		}
	}
	if roomOf(nil, []string{"runs"}) == nil {
		t.Error("the disk is not looked at")
	}
}
