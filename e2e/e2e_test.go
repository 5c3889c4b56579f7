// Package e2e runs crun, the real binary, against a real engine: one script in
// testdata/script for each behaviour.
//
// CRUN_BINARY names the binary; without it one is built. It is not run inside
// the test's process, since crun starts itself again as a monitor. CRUN_E2E_IMAGE
// names an image with a shell for the scripts of runs (crun-local/bookworm:base
// otherwise, which e2e/setup makes), and CRUN_CONFIG the machine's config for
// those that build. CRUN_E2E_DIR is another folder of scripts, for an engine that is
// unlike others.
package e2e

import (
	"cmp"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"crun.dev/crun/internal/endpoint"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/engine/docker"
)

var update = flag.Bool("update", false, "write what scripts compare with")

func TestScripts(t *testing.T) {
	binary := crunBinary(t)
	image := os.Getenv("CRUN_E2E_IMAGE")
	if image == "" {
		image = "crun-local/bookworm:base"
	}
	e, missing := openEngine(image)
	if e != nil {
		defer e.Close()
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(binary, filepath.Join(bin, "crun")); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 cmp.Or(os.Getenv("CRUN_E2E_DIR"), "testdata/script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("IMAGE", image)
			env.Setenv("ROOT", root)
			// Makes an environment one that no earlier test has left in a
			// build cache.
			env.Setenv("NONCE", strconv.FormatInt(time.Now().UnixNano(), 36))
			if config, err := os.ReadFile(os.Getenv("CRUN_CONFIG")); err == nil {
				// The channel's host, which no image may hold.
				if found := regexp.MustCompile(`conda-forge: https?://([^/\s]+)`).FindSubmatch(config); found != nil {
					env.Setenv("CHANNEL", string(found[1]))
				}
			}
			env.Setenv("DOCKER_CONFIG", filepath.Join(env.WorkDir, "home", ".docker"))
			for _, name := range []string{"DOCKER_HOST", "CRUN_CONFIG", "CRUN_E2E_BUILDKITD", "CRUN_E2E_REGISTRY", "CRUN_E2E_PYPI", "CRUN_E2E_CDI"} {
				if value := os.Getenv(name); value != "" {
					env.Setenv(name, value)
				}
			}
			env.Values[processesKey{}] = &processes{all: make(map[string]*process)}
			env.Defer(func() {
				env.Values[processesKey{}].(*processes).end()
				if e != nil {
					checkGone(env.T(), e, env.WorkDir)
				}
			})
			return os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o700)
		},
		Condition: func(condition string) (bool, error) {
			switch condition {
			case "root":
				return os.Getuid() == 0, nil
			case "engine":
				return missing == "", nil
			case "slow":
				return patience > time.Minute, nil
			case "config":
				return os.Getenv("CRUN_CONFIG") != "", nil
			case "buildkitd":
				return os.Getenv("CRUN_E2E_BUILDKITD") != "", nil
			case "registry":
				return os.Getenv("CRUN_E2E_REGISTRY") != "", nil
			case "pypi":
				return os.Getenv("CRUN_E2E_PYPI") != "", nil
			}
			return false, errUnknownCondition(condition)
		},
		Cmds: commands,
	})
	if missing != "" {
		t.Logf("SKIPPED what needs an engine: %s", missing)
	}
}

type errUnknownCondition string

func (e errUnknownCondition) Error() string { return "unknown condition " + string(e) }

// crunBinary gives the binary under test.
func crunBinary(t *testing.T) string {
	if binary := os.Getenv("CRUN_BINARY"); binary != "" {
		return binary
	}
	binary := filepath.Join(t.TempDir(), "crun")
	if out, err := exec.Command("go", "build", "-o", binary, "crun.dev/crun/cmd/crun").CombinedOutput(); err != nil {
		t.Fatalf("building crun: %v\n%s", err, out)
	}
	return binary
}

// openEngine opens the engine that scripts use, or says what is missing.
func openEngine(image string) (engine.Engine, string) {
	ep, err := endpoint.Find(endpoint.Options{Getenv: os.Getenv})
	if err != nil {
		return nil, err.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	e, err := docker.Open(ctx, ep, docker.Options{})
	if err != nil {
		return nil, err.Error()
	}
	if _, err := e.Image(ctx, image); err != nil {
		e.Close()
		return nil, err.Error()
	}
	return e, ""
}

// checkGone fails a script that left containers of its projects behind, and
// removes them. A monitor may still be about to.
func checkGone(t testscript.T, e engine.Engine, workDir string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	var left []engine.Container
	for deadline := time.Now().Add(patience / 6); ; time.Sleep(200 * time.Millisecond) {
		left = nil
		all, err := e.List(ctx)
		if err != nil {
			t.Fatal("looking for containers that were left behind: " + err.Error())
		}
		for _, c := range all {
			if strings.HasPrefix(c.Labels["dev.crun.project"], workDir+"/") {
				left = append(left, c)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	text := "containers are left behind:"
	for _, c := range left {
		text += "\n" + c.Labels["dev.crun.name"] + " " + c.Status
		e.Remove(ctx, c.ID)
	}
	t.Fatal(text)
}
