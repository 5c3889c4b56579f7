package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"crun.dev/crun/internal/endpoint"
)

// object is JSON of the engine's API.
type object = map[string]any

// falseEngine stands before the real engine and makes other containers than it
// is asked for.
type falseEngine struct {
	create func(request object) // changes a request for a container
	start  func(id string)      // is called before a container is started
}

// serve gives the address to reach e by. Streams (attach) pass through.
func (e *falseEngine) serve(t *testing.T) string {
	t.Helper()
	real, err := endpoint.Find(endpoint.Options{Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "docker"})
	proxy.Transport = &http.Transport{DialContext: real.DialContext}
	proxy.FlushInterval = -1
	proxy.ErrorLog = nil
	started := regexp.MustCompile(`/containers/([0-9a-f]+)/start$`)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch id := started.FindStringSubmatch(r.URL.Path); {
		case id != nil && e.start != nil:
			e.start(id[1])
		case strings.HasSuffix(r.URL.Path, "/containers/create") && e.create != nil:
			var request object
			data, err := io.ReadAll(r.Body)
			if err == nil {
				err = json.Unmarshal(data, &request)
			}
			if err != nil {
				t.Errorf("the request for a container: %v", err)
			}
			e.create(request)
			data, _ = json.Marshal(request)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
			r.Header.Set("Content-Length", strconv.Itoa(len(data)))
		}
		proxy.ServeHTTP(w, r)
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return "unix://" + socket
}

// limitRun is crun run in a project and a home of its own.
type limitRun struct {
	exec.Cmd
	stdout, stderr bytes.Buffer
}

// newLimitRun makes one on the engine at host, or "" for that of the tests.
func newLimitRun(t *testing.T, host string, args ...string) *limitRun {
	t.Helper()
	dir, err := os.MkdirTemp("", "crun-e2e-limits")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The run's monitor completes the record behind the end.
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			if err = os.RemoveAll(dir); err == nil {
				return
			}
			if time.Now().After(deadline) {
				t.Error(err)
				return
			}
		}
	})
	r := &limitRun{Cmd: *exec.Command(crunBinary(t), append([]string{"run", "-q"}, args...)...)}
	project := filepath.Join(dir, "project")
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "environment.yml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.Dir = project
	if host == "" {
		host = os.Getenv("DOCKER_HOST")
	}
	r.Env = append(os.Environ(), "DOCKER_HOST="+host, "HOME="+dir, "XDG_STATE_HOME="+dir+"/state", "XDG_CACHE_HOME="+dir+"/cache", "DOCKER_CONFIG="+dir+"/.docker", "CRUN_CONFIG=")
	r.Stdout, r.Stderr = &r.stdout, &r.stderr
	return r
}

// needEngine gives the image that runs are made of.
func needEngine(t *testing.T) string {
	t.Helper()
	image := os.Getenv("CRUN_E2E_IMAGE")
	if image == "" {
		image = "crun-local/bookworm:base"
	}
	e, missing := openEngine(image)
	if missing != "" {
		t.Skip("SKIPPED, needs an engine: " + missing)
	}
	e.Close()
	return image
}

// Each limit that an engine does not hold is caught before the command starts.
func TestFalseLimits(t *testing.T) {
	image := needEngine(t)
	drop := func(fields ...string) func(object) {
		return func(host object) {
			for _, field := range fields {
				delete(host, field)
			}
		}
	}
	// ulimit gives a limit other numbers, or drops it where they are "".
	ulimit := func(name string, value any) func(object) {
		return func(host object) {
			var kept []any
			all, _ := host["Ulimits"].([]any)
			for _, u := range all {
				limit := u.(object)
				if limit["Name"] == name {
					if value == nil {
						continue
					}
					limit["Soft"], limit["Hard"] = value, value
				}
				kept = append(kept, limit)
			}
			host["Ulimits"] = kept
		}
	}
	variable := func(name, value string) func(object) {
		return func(config object) {
			env, _ := config["Env"].([]any)
			for i, v := range env {
				if strings.HasPrefix(v.(string), name+"=") {
					env[i] = name + "=" + value
				}
			}
		}
	}
	for _, test := range []struct {
		name, flags  string
		host, config func(object)
		want         string // an expression behind "crun: "
		goes         bool   // the run starts all the same: less is held than asked
	}{
		{name: "memory", flags: "--memory 64m --shm-size 16m --tmpdir 16m", host: drop("Memory", "MemorySwap"), want: `the kernel does not hold what the plan asks: memory is .*, not 64 MiB`},
		{name: "memory_swap", flags: "--memory 64m --shm-size 16m --tmpdir 16m", host: func(h object) { h["MemorySwap"] = -1 }, want: `the kernel does not hold what the plan asks: memory_swap is unlimited, not 64 MiB`},
		{name: "memory_reservation", flags: "--memory-reservation 1g", host: drop("MemoryReservation"), want: `the kernel does not hold what the plan asks: memory_reservation is none, not 1 GiB`},
		{name: "oom_score_adj", flags: "--oom-score-adj 300", host: drop("OomScoreAdj"), want: `the kernel does not hold what the plan asks: oom_score_adj is -?\d+, not 300`},
		{name: "cpus", flags: "--cpus 1", host: drop("NanoCpus"), want: `the kernel does not hold what the plan asks: cpus is .*, not 1`},
		{name: "cpuset", flags: "--cpuset 0", host: drop("CpusetCpus"), want: `the kernel does not hold what the plan asks: cpuset is .*, not 0`},
		{name: "pids", flags: "--pids 100", host: drop("PidsLimit"), want: `the kernel does not hold what the plan asks: pids is .*, not 100`},
		{name: "nofile", flags: "--nofile 100", host: ulimit("nofile", 50), want: `the kernel gives less than the plan asks: nofile is 50, not 100`, goes: true},
		{name: "nofile, strict", flags: "--nofile 100 --strict", host: ulimit("nofile", 50), want: `the kernel does not hold what the plan asks: nofile is 50, not 100`},
		{name: "memlock", flags: "--memlock 64k", host: ulimit("memlock", 32<<10), want: `the kernel gives less than the plan asks: memlock is 32 KiB, not 64 KiB`, goes: true},
		{name: "stack", flags: "--stack 4m", host: ulimit("stack", 1<<20), want: `the kernel gives less than the plan asks: stack is 1 MiB, not 4 MiB`, goes: true},
		{name: "core", flags: "--core 0", host: ulimit("core", 1<<20), want: `the kernel does not hold what the plan asks: core is 1 MiB, not 0 bytes`},
		{name: "address_space", flags: "--address-space 16g", host: ulimit("as", nil), want: `the kernel does not hold what the plan asks: address_space is .*, not 16 GiB`},
		{name: "shm_size", flags: "--shm-size 16m", host: drop("ShmSize"), want: `the kernel does not hold what the plan asks: shm_size is 64 MiB, not 16 MiB`},
		{name: "tmpdir", flags: "--tmpdir 16m", host: drop("Tmpfs"), want: `the kernel does not hold what the plan asks: tmpdir.size is .* of \w+, not 16 MiB of tmpfs`},
		{name: "gpus", flags: "--gpus none", host: func(h object) {
			h["Devices"] = []object{{"PathOnHost": "/dev/null", "PathInContainer": "/dev/nvidia0", "CgroupPermissions": "rw"}}
		}, want: `the kernel does not hold what the plan asks: gpus is 1, not 0`},
		{name: "network", flags: "--network none", host: func(h object) { h["NetworkMode"] = "default" }, want: `the kernel does not hold what the plan asks: network is reached by \w+, not none`},
		{name: "user", config: func(c object) { c["User"] = "12345:12345" }, want: `the kernel does not hold what the plan asks: uid is 12345, not \d+`},
		{name: "threads", flags: "--cpus 1", config: variable("OMP_NUM_THREADS", "64"), want: `the kernel does not hold what the plan asks: env.OMP_NUM_THREADS is "64", not "1"`},
		{name: "GPUs of an nvidia runtime", config: variable("NVIDIA_VISIBLE_DEVICES", "all"), want: `the kernel does not hold what the plan asks: env.NVIDIA_VISIBLE_DEVICES is "all", not "void"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			reached := false
			e := &falseEngine{create: func(request object) {
				reached = true
				if test.config != nil {
					test.config(request)
				}
				if test.host != nil {
					test.host(request["HostConfig"].(object))
				}
			}}
			args := append([]string{"--image", image, "--profile", "small"}, strings.Fields(test.flags)...)
			r := newLimitRun(t, e.serve(t), append(args, "echo", "started")...)
			err := r.Run()
			if !regexp.MustCompile(`(?m)^crun: ` + test.want + `$`).Match(r.stderr.Bytes()) {
				t.Errorf("stderr %q, want %q", &r.stderr, test.want)
			}
			if code := r.ProcessState.ExitCode(); !reached || test.goes != (code == 0) || !test.goes && code != 125 || test.goes != (r.stdout.String() == "started\n") {
				t.Errorf("reached %v, exit code %d, %v, stdout %q", reached, code, err, &r.stdout)
			}
		})
	}
}

// A cgroup that is written behind crun's back is caught: before the command is
// started, and while it runs.
func TestLimitsBehindTheBack(t *testing.T) {
	image := needEngine(t)
	update := func(id string) {
		if out, err := exec.Command("docker", "update", "--memory", "96m", "--memory-swap", "96m", id).CombinedOutput(); err != nil {
			t.Errorf("docker update: %v\n%s", err, out)
		}
	}
	small := []string{"--image", image, "--profile", "small", "--memory", "64m", "--shm-size", "16m", "--tmpdir", "16m"}
	t.Run("before the start", func(t *testing.T) {
		r := newLimitRun(t, (&falseEngine{start: update}).serve(t), append(small, "echo", "started")...)
		_ = r.Run()
		if want := "crun: the kernel does not hold what the plan asks: memory is 96 MiB, not 64 MiB\n"; !strings.Contains(r.stderr.String(), want) || r.ProcessState.ExitCode() != 125 || r.stdout.Len() > 0 {
			t.Errorf("exit code %d, stdout %q, stderr %q", r.ProcessState.ExitCode(), &r.stdout, &r.stderr)
		}
	})
	t.Run("while it runs", func(t *testing.T) {
		container := ""
		e := &falseEngine{start: func(id string) { container = id }}
		// It ends once it sees the other limit.
		script := `file=/sys/fs/cgroup/memory.max; [ -e $file ] || file=/sys/fs/cgroup/memory/memory.limit_in_bytes
echo ready >ready; i=0; while [ $i -lt 1200 ] && [ "$(cat $file)" = 67108864 ]; do sleep 0.1; i=$((i+1)); done`
		r := newLimitRun(t, e.serve(t), append(small, "sh", "-c", script)...)
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
			if _, err := os.Stat(filepath.Join(r.Dir, "ready")); err == nil {
				update(container)
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if err := r.Wait(); err != nil {
			t.Errorf("%v: %s", err, &r.stderr)
		}
		if want := "memory was 64 MiB at the start and is 96 MiB at the end: it was changed from outside while the run lasted"; !strings.Contains(r.stderr.String(), want) {
			t.Errorf("stderr %q", &r.stderr)
		}
	})
}

// What an image sets by ENV is kept and said; what its ENTRYPOINT changes is
// seen in the command behind it.
func TestImageOverridesLimits(t *testing.T) {
	base := needEngine(t)
	image := fmt.Sprintf("crun-e2e-limits:%d", os.Getpid())
	run := func(args ...string) string {
		out, err := exec.Command("docker", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("docker %s: %v\n%s", args[0], err, out)
		}
		return strings.TrimSpace(string(out))
	}
	id := run("create", base, "true")
	t.Cleanup(func() { run("rm", id) })
	run("commit", "--change", "ENV MKL_NUM_THREADS=32", "--change",
		`ENTRYPOINT ["/bin/sh","-c","export OMP_NUM_THREADS=64; ulimit -n 50; exec \"$@\"","entry"]`, id, image)
	t.Cleanup(func() { run("rmi", image) })

	r := newLimitRun(t, "", "--image", image, "--profile", "small", "--nofile", "100", "sleep", "2")
	if err := r.Run(); err != nil {
		t.Errorf("%v: %s", err, &r.stderr)
	}
	for _, want := range []string{
		"crun: warning: the image's own MKL_NUM_THREADS=32 is kept, where threads says 2 (change it with -e)\n",
		"crun: the image's entrypoint has changed what the plan asks: nofile is 50, not 100\n",
		"crun: the image's entrypoint has changed what the plan asks: env.OMP_NUM_THREADS is \"64\", not \"2\"\n",
	} {
		if !strings.Contains(r.stderr.String(), want) {
			t.Errorf("stderr %q, want %q", &r.stderr, want)
		}
	}
}
