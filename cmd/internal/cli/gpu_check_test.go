package cli

import (
	"context"
	"strings"
	"testing"

	"crun.dev/crun/internal/cuda"
	"crun.dev/crun/internal/nvidia"
	"crun.dev/crun/run/plan"
)

// What was tried counts for this image, this driver and these GPUs alone.
func TestGPUMark(t *testing.T) {
	app := runApp(t, map[string]string{"XDG_STATE_HOME": t.TempDir()})
	make := func(image, driver, model string) string {
		v, _ := cuda.ParseDriver(driver)
		return app.gpuMark(&plan.Plan{Image: plan.Image{ID: image}, GPUs: &plan.GPUs{Count: 1}}, &nvidia.Host{Driver: v, GPUs: []nvidia.GPU{{Name: model}}})
	}
	first := make("sha256:a", "550.54.14", "A100")
	if first == "" || first != make("sha256:a", "550.54.14", "A100") {
		t.Errorf("%q", first)
	}
	for _, other := range []string{make("sha256:b", "550.54.14", "A100"), make("sha256:a", "560.1", "A100"), make("sha256:a", "550.54.14", "H200")} {
		if other == first {
			t.Errorf("%q stands for two", other)
		}
	}
}

func TestGPUsFlag(t *testing.T) {
	for want, g := range map[string]plan.GPUs{"2": {Count: 2}, "all": {All: true}, "device=0,GPU-a": {IDs: []string{"0", "GPU-a"}}} {
		if got := gpusFlag(&g); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCheckGPUFlags(t *testing.T) {
	for _, args := range []string{"--gpu --check import x", "--gpu --warnings-as-errors x"} {
		cmd := newCheckCmd(runApp(t, nil))
		cmd.SetContext(context.Background())
		if err := parseFlags(cmd, strings.Fields(args)); err == nil || !strings.Contains(err.Error(), "--gpu tries GPUs and nothing else") {
			t.Errorf("%s: %v", args, err)
		}
	}
}
