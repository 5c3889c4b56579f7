package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// Commands of the scripts about a BuildKit that fails, on a buildkitd of the
// script's own, whose binary lies beside the socket of CRUN_E2E_BUILDKITD:
//
//	builder start SIZE      start it on an empty disk of SIZE ("300m"); BUILDKIT_HOST names it
//	builder grow SIZE       give its disk another size
//	builder kill            kill -9 it, and what runs in it
//	builder again           start it on the disk that it had
func init() { commands["builder"] = cmdBuilder }

// builder is a buildkitd of a script.
type builder struct {
	dir, binary string
	cmd         *exec.Cmd
}

var builders sync.Map // by the script's folder

func cmdBuilder(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "builder start SIZE | grow SIZE | kill | again")
	if args[0] == "start" {
		binaries, _ := filepath.Glob(filepath.Join(filepath.Dir(strings.TrimPrefix(ts.Getenv("CRUN_E2E_BUILDKITD"), "unix://")), "buildkitd-v*"))
		if len(binaries) == 0 {
			ts.Fatalf("there is no buildkitd beside %s", ts.Getenv("CRUN_E2E_BUILDKITD"))
		}
		// A socket's path may have 107 bytes.
		dir, err := os.MkdirTemp("/tmp", "crun-builder-")
		ts.Check(err)
		b := &builder{dir: dir, binary: binaries[len(binaries)-1]}
		ts.Defer(func() {
			b.kill()
			for range 100 {
				if err := unix.Unmount(b.dir, 0); err == nil {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			_ = unix.Unmount(b.dir, unix.MNT_DETACH)
			_ = os.Remove(b.dir)
		})
		ts.Check(unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+args[1]))
		builders.Store(ts.Getenv("WORK"), b)
		ts.Setenv("BUILDKIT_HOST", "unix://"+b.dir+"/sock")
		b.start(ts)
		return
	}
	found, ok := builders.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("no builder was started")
	}
	b := found.(*builder)
	switch args[0] {
	case "grow":
		ts.Check(unix.Mount("tmpfs", b.dir, "tmpfs", unix.MS_REMOUNT, "size="+args[1]))
	case "kill":
		b.kill()
	case "again":
		b.start(ts)
	}
}

func (b *builder) start(ts *testscript.TestScript) {
	_ = os.Remove(b.dir + "/sock")
	log, err := os.OpenFile(b.dir+"/log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	ts.Check(err)
	defer log.Close()
	b.cmd = exec.Command(b.binary, "--addr", "unix://"+b.dir+"/sock", "--root", b.dir+"/root", "--oci-worker-net", "host", "--containerd-worker=false",
		"--allow-insecure-entitlement", "network.host")
	b.cmd.Stdout, b.cmd.Stderr = log, log
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ts.Check(b.cmd.Start())
	for range 200 {
		if _, err := os.Stat(b.dir + "/sock"); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("buildkitd did not start; see %s/log", b.dir)
}

// kill ends buildkitd, and the steps that it leaves behind.
func (b *builder) kill() {
	if b.cmd == nil {
		return
	}
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
	b.cmd = nil
	paths, _ := filepath.Glob("/proc/[0-9]*/root")
	for _, path := range paths {
		// A step's root is a folder of its builder's.
		if root, err := os.Readlink(path); err == nil && strings.HasPrefix(root, b.dir+"/") {
			pid := 0
			for _, digit := range filepath.Base(filepath.Dir(path)) {
				pid = pid*10 + int(digit-'0')
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
