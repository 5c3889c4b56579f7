package inside

import (
	"bufio"
	"io"
	"os/exec"
	"testing"
	"time"
)

// The fullest process is found, with the limit that it has.
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
	s := NewSampler()
	now := time.Now()
	s.Counts(now)
	p := s.Peaks()
	// Another process of this machine may have more open.
	if p.Files == nil || p.Files.Value < 300 || p.FilesOf == "" || p.FilesLimit == 0 {
		t.Errorf("%+v", p)
	}
	if p.HostAvailable == nil || p.HostAvailable.Value <= 0 {
		t.Errorf("memory of the host: %+v", p.HostAvailable)
	}
	io.WriteString(stdin, "\n")
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
