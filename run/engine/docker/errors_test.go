package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/containerd/errdefs"

	"crun.dev/crun/internal/endpoint"
	"crun.dev/crun/run/engine"
)

// TestRules has what engines say, word for word: [R] seen on 20.10.24, else
// from their sources or reports.
func TestRules(t *testing.T) {
	const oci = "failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "
	full := fullPlan()
	for _, tc := range []struct {
		text string
		kind error
		want []string
	}{
		{"No such image: nosuch:x", engine.ErrNotFound, []string{"has no image crun/demo:0123456789ab", `"crun build"`, "docker pull"}}, // [R]
		{"invalid reference format: repository name (Lab) must be lowercase", nil, []string{"is no name of an image"}},
		{"Could not find the file /.crun/report.json in container 0123", engine.ErrNotFound, []string{"container 0123456789ab has no file /f"}}, // [R]
		{"No such container: crun-x", engine.ErrNotFound, []string{"is gone from the engine"}},
		{`Conflict. The container name "/crun-0123456789ab" is already in use by container "5e0c". You have to remove (or rename) that container to be able to reuse that name.`, nil,
			[]string{"has a container named crun-0123456789ab already", `"docker rm -f crun-0123456789ab"`}}, // [R]
		{"Cannot kill container: 9f: Container 9f2b is not running", engine.ErrNotRunning, []string{"does not run"}}, // [R]
		{"cannot resize a stopped container: unknown", engine.ErrNotRunning, []string{"does not run"}},
		{`invalid mount config for type "bind": bind source path does not exist: /nosuch dir`, nil, []string{"finds no /nosuch dir on its own machine"}}, // [R]
		{`invalid mount config for type "bind": stat /home/ann/proj: permission denied`, nil, []string{"may not look into /home/ann/proj", "NFS"}},
		{"error while creating mount source path '/nfs/x': mkdir /nfs/x: permission denied", nil, []string{"may not look into /nfs/x"}},
		{"driver failed programming external connectivity on endpoint crun-1 (8e1): Bind for 127.0.0.1:8888 failed: port is already allocated", nil, []string{"port 127.0.0.1:8888 is taken"}},
		{"driver failed programming external connectivity on endpoint crun-1 (8e1): Error starting userland proxy: listen tcp4 127.0.0.1:8888: bind: address already in use", nil, []string{"port 127.0.0.1:8888 is taken"}},
		{"failed to set up container networking: driver failed programming external connectivity on endpoint crun-1 (8e1): failed to bind host port for 127.0.0.1:8888:172.17.0.2:80/tcp: address already in use", nil, []string{"port 127.0.0.1:8888 is taken"}},
		{"driver failed programming external connectivity on endpoint crun-1 (8e1): Error starting userland proxy: listen tcp4 0.0.0.0:80: bind: permission denied", nil, []string{"port 0.0.0.0:80 is one of root's"}},
		{"network bridge not found", nil, []string{"has no network bridge", "--network none"}},
		{"failed to register layer: write /usr/lib/x: no space left on device", nil, []string{"is full", "docker system prune", "write /usr/lib/x"}},

		{`could not select device driver "" with capabilities: [[gpu]]`, nil, []string{"can give no GPU", "nvidia-ctk runtime configure", "--gpus none"}}, // [R]
		{`could not select device driver "nvidia" with capabilities: [[gpu]]`, nil, []string{"can give no GPU", "install nvidia-container-toolkit"}},      // [R]
		{`could not select device driver "cdi" with capabilities: []`, nil, []string{"does not know CDI", "features.cdi"}},                                // [R]
		{"CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=5", nil, []string{"has no GPU nvidia.com/gpu=5:", "nvidia-ctk cdi generate"}},
		{oci + `error during container init: error running prestart hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy' nvidia-container-cli: device error: 9: unknown device: unknown`, nil, []string{"has no GPU 9:", "nvidia-smi -L"}},
		{oci + `error during container init: error running hook #0: error running hook: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'
nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update your driver to a newer version, or use an earlier cuda container: unknown`, nil, []string{"too old for image crun/demo:0123456789ab", "cuda>=12.4"}},
		{oci + `error during container init: error running hook #0: error running hook: exit status 1, stdout: , stderr: nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown`, nil, []string{"driver of the engine's host does not work", "driver not loaded", "nvidia-smi"}},
		{"Unknown runtime specified nvidia", nil, []string{"has no runtime nvidia"}}, // [R]
		{"unknown or invalid runtime name: nvidia", nil, []string{"has no runtime nvidia"}},

		{oci + "error during container init: error setting rlimits for ready process: error setting rlimit type 7: operation not permitted: unknown", nil,
			[]string{"nofile is 65536, more than the engine may give", "(--nofile)", "LimitNOFILE="}}, // [R]
		{oci + "error during container init: error setting rlimits for ready process: error setting rlimit type 8: operation not permitted: unknown", nil, []string{"memlock is unlimited, more than"}},
		{oci + "error during container init: error setting rlimits for ready process: error setting rlimit type 9: operation not permitted: unknown", nil, []string{"address_space is 8 GiB, more than", "(--address-space)"}},
		{oci + "error setting rlimit type 6: operation not permitted: unknown", nil, []string{"(type 6)"}},
		{"OCI runtime error: crun: setrlimit `RLIMIT_NOFILE`: Operation not permitted", nil, []string{"nofile is 65536"}},
		{"Minimum memory limit allowed is 6MB", nil, []string{"memory is 4 GiB, less than the 6MB"}}, // [R]
		{"Minimum memoryswap limit should be larger than memory limit, see usage", nil, []string{"--memory-swap"}},
		{"Range of CPUs is from 0.01 to 2.00, as there are only 2 CPUs available", nil, []string{"allowed are 0.01 to 2.00"}},                     // [R]
		{"Requested CPUs are not available - requested 5, available: 0-1", nil, []string{"cpuset is 5, and the engine's host has the CPUs 0-1:"}}, // [R]
		{oci + "container init was OOM-killed (memory limit too low?): unable to set memory limit to 1048576 (current usage: 2, peak usage: 3): unknown", nil, []string{"too little for the container's own start"}},
		{oci + "error adding seccomp filter rule for syscall ftruncate64: cannot allocate memory: unknown", nil, []string{"address_space is 8 GiB, too little for the container's own start"}}, // [R]

		{oci + `exec: "nosuch": executable file not found in $PATH: unknown`, engine.ErrNoCommand, []string{"there is no command nosuch in image"}}, // [R]
		{oci + `exec: "/nosuch": stat /nosuch: no such file or directory: unknown`, engine.ErrNoCommand, []string{"there is no /nosuch in image"}},  // [R]
		{"OCI runtime attempted to invoke a command that was not found: crun: executable file `nosuch` not found in $PATH: No such file or directory", engine.ErrNoCommand, []string{"there is no command nosuch"}},
		{oci + `exec: "/etc/passwd": permission denied: unknown`, engine.ErrNotExec, []string{"/etc/passwd cannot be executed", "chmod +x"}}, // [R]
		{oci + `exec: "/tmp": is a directory: unknown`, engine.ErrNotExec, []string{"/tmp cannot be executed"}},
		{oci + "error during container init: exec /bin/true: exec format error: unknown", engine.ErrNotExec, []string{"another kind of processor"}},
		{oci + `error during container init: chdir to cwd ("/root/x") set in config.json failed: permission denied: unknown`, nil, []string{"cannot begin in the folder /root/x (permission denied)"}},

		{"client version 1.51 is too new. Maximum supported API version is 1.41", nil, []string{"speaks API 1.41 at most, and DOCKER_API_VERSION asks for 1.51: unset it"}},
		{"client version 1.41 is too old. Minimum supported API version is 1.44, please upgrade your client to a newer version", nil, []string{"speaks API 1.44 at least"}},
		{"authorization denied by plugin guard: no mounts", nil, []string{"does not permit this (guard: no mounts)"}},

		{"something never heard of", nil, []string{"the engine says: something never heard of"}},
	} {
		e := &Engine{ep: endpoint.Endpoint{Host: "unix:///var/run/docker.sock", Source: "default"}}
		cause := errors.New(daemonPrefix + tc.text)
		err := e.explain(cause, subject{plan: full, container: "0123456789abcdef", file: "/f"})
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s\n got %v\nlacks %q", tc.text, err, want)
			}
		}
		if strings.Contains(err.Error(), daemonPrefix) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%s\n got %v", tc.text, err)
		}
		for _, kind := range []error{engine.ErrNotFound, engine.ErrUnreachable, engine.ErrNotExec, engine.ErrNoCommand, engine.ErrNotRunning} {
			if got, want := errors.Is(err, kind), kind == tc.kind; got != want {
				t.Errorf("%s\n is %v: %t, want %t", tc.text, kind, got, want)
			}
		}
		if !errors.Is(err, cause) {
			t.Errorf("%s\n the cause is cut off", tc.text)
		}
		if again := e.explain(err, subject{}); again != err {
			t.Errorf("explained twice: %v", again)
		}
		// Nothing that a sentence names may be needed for it.
		if got := e.explain(cause, subject{}).Error(); strings.Contains(got, "%!") {
			t.Errorf("without a plan: %s", got)
		}
	}
}

func TestExplainLeaves(t *testing.T) {
	e := &Engine{ep: endpoint.Endpoint{Host: "unix:///var/run/docker.sock"}}
	own := errors.New("packing /x: too large")
	for _, err := range []error{nil, context.Canceled, context.DeadlineExceeded, fmt.Errorf("x: %w", context.Canceled), own} {
		if got := e.explain(err, subject{}); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	if err := e.explain(fmt.Errorf("gone: %w", errdefs.ErrNotFound), subject{}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// What a remote engine lacks can be brought there by what is pasted.
func TestMissingOverSSH(t *testing.T) {
	for host, want := range map[string]string{
		"ssh://ann@lab:2222": `copy it there (ssh -p 2222 ann@lab 'mkdir -p '\''/a b'\'''; rsync -a -s -e 'ssh -p 2222' '/a b'/ 'ann@lab:/a b'/), or run crun over there`,
		"ssh://lab":          `copy it there (ssh lab 'mkdir -p '\''/a b'\'''; rsync -a -s -e ssh '/a b'/ 'lab:/a b'/), or run crun over there`,
	} {
		e := &Engine{ep: endpoint.Endpoint{Host: host, Source: "--host"}}
		err := e.explain(errors.New(daemonPrefix+`invalid mount config for type "bind": bind source path does not exist: /a b`), subject{})
		if !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}
