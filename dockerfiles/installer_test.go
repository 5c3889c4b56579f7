package dockerfiles

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestInstaller runs the installer's own tests, which are written in its
// language: testdata/installer.
func TestInstaller(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("the installer is tested with python3: install it (apt-get install python3 python3-pip)")
	}
	installer, err := filepath.Abs("installer")
	if err != nil {
		t.Fatal(err)
	}
	// The toolbox brings packaging; pip has a copy of it.
	vendored, _ := exec.Command(python, "-c", "import pip._vendor; print(pip._vendor.__path__[0])").Output()
	for _, file := range []string{"test_known.py", "test_check.py", "test_directurl.py", "test_main.py", "test_apt.py", "test_waiting.py", "test_trickle.py", "test_condafile.py"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(python, "-B", filepath.Join("testdata", "installer", file))
			cmd.Env = append(os.Environ(), "PYTHONPATH="+installer+":"+string(bytes.TrimSpace(vendored)))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
