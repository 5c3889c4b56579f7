package rules

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var noDriver = lazyregexp.New(`.*(?:Found no NVIDIA driver on your system|No CUDA GPUs are available|no CUDA-capable device is detected|libcuda\.so(?:\.1)?: cannot open shared object|Attempting to deserialize object on a CUDA device but|No supported gpu backend found|No HIP GPUs are available|But your machine only has: \[\]|NVML Shared Library Not Found|libnvidia-ml\.so(?:\.1)?: cannot open|Torch not compiled with CUDA enabled).*`)

// gpuNotAsked: a run gets the GPUs that it asks for, and this one asked for none.
var gpuNotAsked = evidence.Rule{
	Code:  "gpu-not-asked",
	Title: "the script wants a GPU, and the run asked for none",
	Mechanism: `A container sees a GPU where it is asked for alone; privileges do not replace that. PyTorch then says that there is no driver or
no CUDA device, although the host has both.
Source: pytorch, torch/csrc/cuda.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Raised(noDriver)
		if m == nil || c.Plan != nil && c.Plan.GPUs != nil {
			return nil
		}
		f := &evidence.Finding{
			Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])},
			Cause: evidence.Say("the script wants a GPU, and the container had none", "脚本需要 GPU，而容器中没有"),
			Fix:   evidence.Say("crun run --gpus 1 (docker run --gpus all)", "crun run --gpus 1（docker run --gpus all）"),
		}
		if strings.Contains(m[0], "not compiled with CUDA") {
			f.Cause = evidence.Say("the script wants a GPU, and the image's torch is a CPU build", "脚本需要 GPU，而镜像中的 torch 是 CPU 版本")
			f.Fix = evidence.Say("crun build --cuda auto, and a profile with gpus", "crun build --cuda auto，并使用含 gpus 的 profile")
			return f
		}
		if c.Plan != nil && c.Limits != nil && len(c.Limits.Devices) == 0 {
			f.Sure = evidence.Certain
			f.Signs = append(f.Signs, evidence.Sign{What: "gpus", Value: "none asked for, no GPU device in the container"})
			f.Cause = evidence.Say("the script wants a GPU, and the run asked for none", "脚本需要 GPU，而运行没有申请 GPU")
			f.Fix = evidence.Say("--gpus 1, or a profile with gpus", "--gpus 1，或使用含 gpus 的 profile")
		}
		return f
	},
}
