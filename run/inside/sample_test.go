package inside

import (
	"bufio"
	"io"
	"os/exec"
	"testing"
	"time"
)

// The process that is nearest to its limit is found, though others have more open.
func TestSampleFiles(t *testing.T) {
	cmd := exec.Command("bash", "-c", "ulimit -Sn 400; for i in $(seq 300); do exec {fd}</dev/null; done; echo open; read")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "open\n" {
		t.Fatalf("%q, %v", line, err)
	}
	s := NewSampler(Limits{})
	s.Files(time.Now())
	p := s.Peaks()
	// Another process of this machine may be nearer to its own.
	if p.Files == nil || p.Files.Value*4 < p.FilesLimit*3 || p.FilesOf == "" {
		t.Errorf("%+v", p)
	}
	io.WriteString(stdin, "\n")
}

// Places that are no tmpfs are not asked again: a server may not answer.
func TestSamplePlaces(t *testing.T) {
	tmpfs, nfs := &Filesystem{Type: "tmpfs"}, &Filesystem{Type: "nfs"}
	if s := NewSampler(Limits{Shm: tmpfs, Tmp: nfs}); len(s.places) != 1 || s.places["/dev/shm"] == nil {
		t.Errorf("it looks at %v", s.places)
	}
}

// What sinks leaves the peak as it was.
func TestRaise(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var peak *Level
	for i, value := range []int64{3, 7, 5, 7} {
		raise(&peak, value, start.Add(time.Duration(i)*time.Second))
	}
	if peak.Value != 7 || !peak.Time.Equal(start.Add(time.Second)) {
		t.Errorf("%+v", peak)
	}
}
