package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"crun.dev/crun/build"
	"crun.dev/crun/internal/cuda"
	"crun.dev/crun/internal/nvidia"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

// hostOnce asks the driver of this machine once a process: it may take seconds.
var hostOnce = sync.OnceValues(func() (*nvidia.Host, error) { return nvidia.Read(context.Background()) })

var hostWarned sync.Once

// nvidiaHost is what the driver of this machine says, or nil. That it does not
// answer is said once.
func (app *App) nvidiaHost(ctx context.Context) *nvidia.Host {
	type answer struct {
		host *nvidia.Host
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		host, err := hostOnce()
		answers <- answer{host, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil && !errors.Is(a.err, nvidia.ErrNone) {
			hostWarned.Do(func() {
				app.warn("what the GPU driver of this machine is cannot be found out: " + a.err.Error())
			})
		}
		return a.host
	case <-ctx.Done():
		return nil
	}
}

// hostCUDA is the CUDA that this machine's driver is made for, or "".
func (app *App) hostCUDA(ctx context.Context) string {
	host := app.nvidiaHost(ctx)
	if host == nil || host.CUDA.IsZero() {
		return ""
	}
	return host.CUDA.String()
}

// compatVariable is set by NVIDIA's images that bring newer parts of the driver
// along, with which an older one runs them on the GPUs of data centers
// (https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html).
const compatVariable = "NV_CUDA_COMPAT_PACKAGE="

// checkGPUs refuses an image whose CUDA the host's driver cannot run: torch
// would train on the CPU without a word. That torch has no kernels for a GPU is
// a warning: torch says so itself at its first use of the GPU, and other
// programs of the image may do.
func checkGPUs(image engine.Image, ref string, gpus *plan.GPULimit, host *nvidia.Host) (warnings []string, err error) {
	torch, kind := image.Labels[build.LabelTorch], image.Labels[build.LabelCUDA]
	if kind == build.CUDANone {
		return []string{fmt.Sprintf("torch %s of %s is for CPUs and will not use the GPUs that the profile asks for: build with --cuda auto, or run without them (--gpus none)", torch, ref)}, nil
	}
	built, parseErr := cuda.ParseVersion(kind)
	if parseErr != nil {
		return nil, nil // an image of somebody else's says nothing
	}
	if floor, known := cuda.Floor(built); known && host.Driver.Compare(floor) < 0 {
		text := fmt.Sprintf("torch %s of %s is built for CUDA %s, which needs driver %s or newer; this machine has %s", torch, ref, built, floor, host.Driver)
		if slices.ContainsFunc(image.Env, func(v string) bool { return strings.HasPrefix(v, compatVariable) }) {
			return []string{text + ", and it depends on the GPU whether the image's own compatibility package is enough"}, nil
		}
		remedy := "update the driver"
		if last, with := cuda.NewestFor(host.CUDA); last != "" {
			remedy += fmt.Sprintf(", or build for this one (--cuda auto; the last torch for it is %s with CUDA %s)", last, with)
		}
		return nil, fmt.Errorf("%s: %s, or run without GPUs (--gpus none)", text, remedy)
	}
	archs := cuda.Archs(image.Labels[build.LabelArchs])
	for i, gpu := range host.GPUs {
		if !asksFor(gpus, i, gpu) || gpu.Capability == (cuda.Capability{}) {
			continue
		}
		if supported, known := archs.Supports(gpu.Capability); known && !supported {
			text := fmt.Sprintf("torch %s of %s has no kernels for GPU %d (%s, compute capability %s); it is compiled for %s", torch, ref, i, gpu.Name, gpu.Capability, archs)
			if v := cuda.WheelFor(torch, gpu.Capability); !v.IsZero() {
				text += fmt.Sprintf(": take its build for CUDA %s (torch==%s+%s)", v, strings.SplitN(torch, "+", 2)[0], v.Tag())
			} else {
				text += ": take another release of torch"
			}
			warnings = append(warnings, text)
		}
	}
	return warnings, nil
}

// asksFor tells whether a run may get the GPU of an index. Which ones a number
// of GPUs will be, the engine decides: the first ones, as a rule.
func asksFor(gpus *plan.GPULimit, index int, gpu nvidia.GPU) bool {
	switch {
	case gpus.All:
		return true
	case len(gpus.IDs) > 0:
		return slices.ContainsFunc(gpus.IDs, func(id string) bool {
			return id == strconv.Itoa(index) || id != "" && strings.HasPrefix(gpu.UUID, id)
		})
	}
	return index < gpus.Count
}
