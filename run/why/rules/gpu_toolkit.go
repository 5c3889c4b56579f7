package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var toolkitWords = lazyregexp.New(`.*(?:could not select device driver|nvidia-container-cli: (?:initialization error|requirement error|detection error|mount error).*|unresolvable CDI devices).*`)

// gpuToolkit: the engine has nothing that could give a container a GPU.
var gpuToolkit = evidence.Rule{
	Code:  "gpu-toolkit",
	Title: "the engine could not give the container a GPU",
	Mechanism: `An engine hands GPUs over through NVIDIA's container toolkit: a runtime, or CDI files. "could not select device driver" means that
neither is set up (or that Docker came as a snap, which cannot see them); "requirement error" that the driver is older than the image
demands.
Source: NVIDIA Container Toolkit's documentation, "Troubleshooting".`,
	Find: func(c *evidence.Case) *evidence.Finding {
		f := &evidence.Finding{Sure: evidence.Likely}
		m := c.Words(toolkitWords)
		if failed(c) {
			// The engine's own word.
			m, f.Sure = toolkitWords.FindStringSubmatch(c.State.Message), evidence.Certain
		}
		if m == nil {
			return nil
		}
		f.Signs = []evidence.Sign{{What: "engine:", Value: evidence.Quote(m[0])}}
		f.Cause = evidence.Say("the engine could not give the container a GPU", "引擎无法向容器提供 GPU")
		f.Fix = evidence.Say("crun doctor says what is missing: nvidia-container-toolkit, or a CDI file", "crun doctor 会指出缺少什么：nvidia-container-toolkit 或 CDI 文件")
		if requirement.MatchString(m[0]) {
			f.Cause = evidence.Say("the host's driver is older than the image demands", "主机驱动版本低于镜像要求")
			f.Fix = evidence.Say("a newer driver, or an image for an older CUDA: crun build --cuda auto", "升级驱动，或用较旧 CUDA 的镜像：crun build --cuda auto")
		}
		return f
	},
}

var requirement = lazyregexp.New(`requirement error`)
