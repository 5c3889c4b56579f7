package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckCommandLine(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		want string // in stderr
	}{
		{[]string{"check"}, exitUsage, "takes one image, not 0"},
		{[]string{"check", "a", "b"}, exitUsage, "takes one image, not 2"},
		{[]string{"check", "A b"}, exitUsage, `"A b" is no name of an image`},
		{[]string{"check", "a", "--check", "off"}, exitUsage, `--check is "off"; allowed are import, full`},
		{[]string{"check", "a", "--progress", "x"}, exitUsage, `--progress is "x"; allowed are auto`},
		{[]string{"check", "a", "-o", "xml"}, exitUsage, "xml"},
		{[]string{"check", "a"}, exitFailure, "none.sock"},
		{[]string{"build", "--check", "some"}, exitUsage, `--check is "some"; allowed are off, import, full`},
	} {
		app, out, errs := buildApp(t)
		code := app.Run(context.Background(), test.args)
		if code != test.code || !strings.Contains(errs.String(), test.want) || out.Len() > 0 {
			t.Errorf("crun %q ends with %d and says\n%s%s\nwant %d and %q", test.args, code, errs, out, test.code, test.want)
		}
	}
}

// A file with a warning is not built where warnings are errors.
func TestWarningsAsErrors(t *testing.T) {
	app, _, errs := buildApp(t)
	text := "name: cli\nchannels: [conda-forge]\ndependencies: [python=3.9, scipy, scipy]\n"
	if err := os.WriteFile(filepath.Join(app.Dir, "environment.yml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := app.Run(context.Background(), []string{"build", "--dry-run"}); code != 0 {
		t.Fatalf("it ends with %d: %s", code, errs)
	}
	errs.Reset()
	code := app.Run(context.Background(), []string{"build", "--dry-run", "--warnings-as-errors"})
	if want := "warnings count as errors here (--warnings-as-errors), and the environment file has 1"; code != exitFailure || !strings.Contains(errs.String(), want) {
		t.Errorf("it ends with %d: %s", code, errs)
	}
}
