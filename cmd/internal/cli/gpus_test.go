package cli

import (
	"context"
	"strings"
	"testing"

	"crun.dev/crun/build"
	"crun.dev/crun/internal/cuda"
	"crun.dev/crun/internal/nvidia"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

func TestCheckGPUs(t *testing.T) {
	machine := func(driver string, capabilities ...cuda.Capability) *nvidia.Host {
		host := &nvidia.Host{}
		host.Driver, _ = cuda.ParseDriver(driver)
		host.CUDA, _ = cuda.Of(host.Driver)
		for _, c := range capabilities {
			host.GPUs = append(host.GPUs, nvidia.GPU{UUID: "GPU-" + c.String(), Name: "NVIDIA X", Capability: c})
		}
		return host
	}
	image := func(torch, kind, archs string, env ...string) engine.Image {
		return engine.Image{Env: env, Labels: map[string]string{build.LabelTorch: torch, build.LabelCUDA: kind, build.LabelArchs: archs}}
	}
	const modern = "7.0 7.5 8.0 8.6 9.0 10.0 12.0"
	pascal, ampere := cuda.Capability{Major: 6, Minor: 1}, cuda.Capability{Major: 8, Minor: 6}
	for name, test := range map[string]struct {
		image engine.Image
		gpus  plan.GPULimit
		host  *nvidia.Host
		warn  string // "" for none
		err   string
	}{
		"it fits":                    {image("2.8.0", "12.8", modern), plan.GPULimit{Count: 1}, machine("550.54.14", ampere), "", ""},
		"within one major version":   {image("2.8.0", "12.8", ""), plan.GPULimit{All: true}, machine("525.60.13"), "", ""},
		"an image of somebody's":     {engine.Image{}, plan.GPULimit{Count: 1}, machine("390.46", pascal), "", ""},
		"a driver that is too old":   {image("2.8.0", "12.8", modern), plan.GPULimit{Count: 1}, machine("470.57.02", ampere), "", "torch 2.8.0 of IMAGE is built for CUDA 12.8, which needs driver 525.60.13 or newer; this machine has 470.57.02: update the driver, or build for this one (--cuda auto; the last torch for it is 2.7 with CUDA 11.8)"},
		"with a package against it":  {image("2.8.0", "12.8", modern, "NV_CUDA_COMPAT_PACKAGE=cuda-compat-12-8"), plan.GPULimit{Count: 1}, machine("470.57.02", ampere), "compatibility package", ""},
		"a GPU that is too old":      {image("2.8.0", "12.8", modern), plan.GPULimit{Count: 1}, machine("570.26", pascal), "has no kernels for GPU 0 (NVIDIA X, compute capability 6.1); it is compiled for 7.0 7.5 8.0 8.6 9.0 10.0 12.0: take its build for CUDA 12.6 (torch==2.8.0+cu126)", ""},
		"another GPU is asked for":   {image("2.8.0", "12.8", modern), plan.GPULimit{IDs: []string{"1"}}, machine("570.26", pascal, ampere), "", ""},
		"by its UUID":                {image("2.8.0", "12.8", modern), plan.GPULimit{IDs: []string{"GPU-6.1"}}, machine("570.26", ampere, pascal), "GPU 1", ""},
		"the first ones":             {image("2.8.0", "12.8", modern), plan.GPULimit{Count: 1}, machine("570.26", ampere, pascal), "", ""},
		"a GPU of an unknown kind":   {image("2.8.0", "12.8", modern), plan.GPULimit{All: true}, machine("570.26", cuda.Capability{}), "", ""},
		"a torch for CPUs":           {image("2.8.0", "none", ""), plan.GPULimit{Count: 1}, machine("570.26", ampere), "is for CPUs and will not use the GPUs", ""},
		"no torch that would do now": {image("2.15.0", "13.2", "7.5 8.0 8.6 9.0 10.0 12.0+PTX"), plan.GPULimit{All: true}, machine("595.45.04", pascal), "take another release of torch", ""},
	} {
		warnings, err := checkGPUs(test.image, "IMAGE", &test.gpus, test.host)
		warned := strings.Join(warnings, "\n")
		if (warned == "") != (test.warn == "") || !strings.Contains(warned, test.warn) {
			t.Errorf("%s: it warns %q, want %q", name, warned, test.warn)
		}
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: the error is %v, want %q", name, err, test.err)
		}
	}
}

func TestCUDAFlag(t *testing.T) {
	for _, value := range []string{"12", "cu124", "12.4.1", "Auto", "new"} {
		app, _, errs := buildApp(t)
		code := app.Run(context.Background(), []string{"build", "--dry-run", "--cuda", value})
		if want := `--cuda: "` + value + `" is no version of CUDA; allowed are one such as "12.4", none and auto`; code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("--cuda %s ends with %d: %s", value, code, errs)
		}
	}
	app, out, errs := buildApp(t)
	if code := app.Run(context.Background(), []string{"build", "--dry-run", "--cuda", "12.4", "-o", "json"}); code != 0 || !strings.Contains(out.String(), "__cuda=12.4") {
		t.Errorf("it ends with %d: %s\n%s", code, errs, out)
	}
}
