package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/internal/endpoint"
)

const buildBase = "crun-local/bookworm:base"

// buildEngine gives the engine, where it has the base image.
func buildEngine(t *testing.T) *buildkit.Engine {
	t.Helper()
	ep, err := endpoint.Find(endpoint.Options{Getenv: os.Getenv})
	if err != nil {
		t.Skip(err)
	}
	engine, err := buildkit.NewEngine(ep)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { engine.Close() })
	if _, err := engine.Image(t.Context(), buildBase); err != nil {
		t.Skip(err)
	}
	return engine
}

// buildJob builds a Dockerfile on the engine, or on the buildkitd at address.
func buildJob(t *testing.T, address, dockerfile string) (progress string, err error) {
	t.Helper()
	var out bytes.Buffer
	builder := buildkit.New(buildEngine(t), buildkit.Options{Address: address, Progress: "plain", Out: &out})
	defer builder.Close()
	_, err = builder.File(t.Context(), buildkit.Job{
		Title: "building a test", Dockerfile: "FROM " + buildBase + " AS test\nARG " + buildkit.ArgAnew + "\n" + dockerfile, Target: "test", Local: []string{buildBase},
		Anew: true,
	}, "/etc/debian_version", "")
	return out.String(), err
}

// Failures as the oldest engine and the newest BuildKit tell of them.
func TestFailedSteps(t *testing.T) {
	targets := map[string]string{"engine": ""}
	if address := os.Getenv("CRUN_E2E_BUILDKITD"); address != "" {
		targets["buildkitd"] = address
	}
	for target, address := range targets {
		t.Run(target, func(t *testing.T) {
			_, err := buildJob(t, address, "RUN : 'be killed' && echo at work && sh -c 'kill -9 $$'\n")
			var step *buildkit.StepError
			if !errors.As(err, &step) || step.ExitCode != 137 || step.Step != "be killed" {
				t.Fatalf("the error is %v, %+v", err, step)
			}
			if want := `building a test: the step "be killed" failed with exit code 137: it was killed, most likely because the engine's host ran out of memory`; !strings.HasPrefix(err.Error(), want) {
				t.Errorf("the error is %v", err)
			}

			progress, err := buildJob(t, address, "RUN : 'fill a disk' && dd if=/dev/zero of=/dev/full bs=1M count=9\n")
			if err == nil || !strings.Contains(err.Error(), "crun prune frees") {
				t.Errorf("a full disk gives %v\n%s", err, progress)
			}

			progress, err = buildJob(t, address, "RUN : 'say much' && seq 1000 && echo 'crun: that was all' && exit 3\n")
			if !errors.As(err, &step) || step.ExitCode != 3 || len(step.Output) != 20 || step.Output[18] != "1000" {
				t.Errorf("the error is %v, %+v", err, step)
			}
			if want := `building a test: the step "say much" failed with exit code 3: that was all`; err == nil || err.Error() != want {
				t.Errorf("the error is %v", err)
			}
			if !strings.Contains(progress, "] say much\n") || strings.Contains(progress, "--mount") {
				t.Errorf("the progress shows the step as\n%s", progress)
			}
		})
	}
}

// A build that is canceled must not spoil the same build for the next one: see
// buildkit's cancelGently.
func TestCanceledBuildCanBeRepeated(t *testing.T) {
	engine := buildEngine(t)
	job := buildkit.Job{
		Title: "building a test", Target: "test",
		Dockerfile: "FROM " + buildBase + " AS test\nRUN --mount=type=bind,source=list.json,target=/list.json --mount=type=secret,id=crun-ca,target=/run/ca.pem sleep 3\n",
		Files:      map[string][]byte{"list.json": []byte(strings.Repeat(" ", os.Getpid()%1000) + t.TempDir())},
		Secrets:    map[string][]byte{"crun-ca": []byte("x")},
	}
	for i := range 6 {
		ctx, cancel := context.WithCancel(t.Context())
		watch := &canceler{after: i, cancel: cancel}
		builder := buildkit.New(engine, buildkit.Options{Progress: "plain", Out: watch})
		_, err := builder.File(ctx, job, "/etc/debian_version", "")
		if !errors.Is(err, context.Canceled) && err != nil {
			t.Errorf("canceled at line %d the error is %v", i, err)
		}
		builder.Close()
		cancel()
	}
	var out bytes.Buffer
	builder := buildkit.New(engine, buildkit.Options{Progress: "plain", Out: &out})
	defer builder.Close()
	if _, err := builder.File(t.Context(), job, "/etc/debian_version", ""); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if strings.Contains(out.String(), "no active sessions") {
		t.Errorf("the engine has kept the error of a canceled build:\n%s", out.String())
	}
}

// canceler cancels when progress has had some writes.
type canceler struct {
	after  int
	writes int
	cancel func()
}

func (c *canceler) Write(p []byte) (int, error) {
	if c.writes++; c.writes > c.after*3 {
		c.cancel()
	}
	return len(p), nil
}
