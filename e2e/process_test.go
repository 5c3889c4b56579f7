package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

type processesKey struct{}

// processes are those that a script has begun.
type processes struct {
	mu  sync.Mutex
	all map[string]*process
}

type process struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	done  chan struct{} // the process has ended
	shown chan struct{} // its terminal has been read to the end; nil without one
	extra []io.Closer
}

// end kills what a script has left running.
func (ps *processes) end() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.all {
		select {
		case <-p.done:
		default:
			p.cmd.Process.Kill()
			<-p.done
		}
		p.input.Close()
		for _, c := range p.extra {
			c.Close()
		}
	}
}

func code(s *os.ProcessState) int {
	if status := s.Sys().(syscall.WaitStatus); status.Signaled() {
		return 128 + int(status.Signal())
	}
	return s.ExitCode()
}

func find(ts *testscript.TestScript, name string) *process {
	ps := ts.Value(processesKey{}).(*processes)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.all[name]
	if p == nil {
		ts.Fatalf("nothing called %s was begun", name)
	}
	return p
}

func start(ts *testscript.TestScript, name string, p *process) {
	p.cmd.Dir = ts.Getenv("PWD")
	if p.cmd.Dir == "" {
		p.cmd.Dir = ts.MkAbs(".")
	}
	for _, variable := range []string{"PATH", "HOME", "XDG_STATE_HOME", "DOCKER_CONFIG", "DOCKER_HOST", "CRUN_CONFIG", "BUILDKIT_HOST", "TMPDIR"} {
		if value := ts.Getenv(variable); value != "" {
			p.cmd.Env = append(p.cmd.Env, variable+"="+value)
		}
	}
	p.cmd.Env = append(p.cmd.Env, "TERM=xterm", "PWD="+p.cmd.Dir)
	ts.Check(p.cmd.Start())
	p.done = make(chan struct{})
	go func() {
		p.cmd.Wait()
		close(p.done)
	}()
	ps := ts.Value(processesKey{}).(*processes)
	ps.mu.Lock()
	ps.all[name] = p
	ps.mu.Unlock()
}

func program(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, name); unix.Access(path, unix.X_OK) == nil {
			return path
		}
	}
	ts.Fatalf("no program %s", name)
	return ""
}

// openTerminal makes a terminal of 100 by 30 characters.
func openTerminal() (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	if err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: 100, Row: 30}); err != nil {
		return nil, nil, err
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	return master, slave, err
}

func showOutput(ts *testscript.TestScript, name string) {
	for _, file := range []string{name + ".out", name + ".err"} {
		if data, err := os.ReadFile(ts.MkAbs(file)); err == nil && len(data) > 0 {
			ts.Logf("[%s]\n%s", file, data)
		}
	}
}
