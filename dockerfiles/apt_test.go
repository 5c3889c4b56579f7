package dockerfiles

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The script is sed's to run, so sed runs it.
func TestAptMirrors(t *testing.T) {
	script := filepath.Join(t.TempDir(), "apt.sed")
	text := AptMirrors(map[string]string{
		"debian": "http://m.example.org/debian/", "debian-security": `http://user:a&b,c\1@m.example.org/sec`, "ubuntu": "https://m.example.org/u",
	})
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sed := exec.Command("sed", "-E", "-f", script)
	sed.Stdin = strings.NewReader(`deb http://archive.example.com/debian bookworm main
deb [signed-by=/usr/share/x.gpg] https://security.example.com:8080/debian-security/ bookworm-security main
# deb http://archive.example.com/debian sid main
URIs: http://archive.example.com/some/ubuntu/
URIs: http://archive.example.com/debian
deb http://archive.example.com/debian-backports bookworm main
deb http://other.example.com/tools stable main
`)
	out, err := sed.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, text)
	}
	if want := `deb http://m.example.org/debian bookworm main
deb [signed-by=/usr/share/x.gpg] http://user:a&b,c\1@m.example.org/sec bookworm-security main
# deb http://archive.example.com/debian sid main
URIs: https://m.example.org/u
URIs: http://m.example.org/debian
deb http://archive.example.com/debian-backports bookworm main
deb http://other.example.com/tools stable main
`; string(out) != want {
		t.Errorf("sed gives\n%s", out)
	}
}
