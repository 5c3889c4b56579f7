package rules

import (
	"crun.dev/crun/run/why/evidence"
)

var cudaMemory = evidence.Rule{
	Code:  "cuda-memory",
	Title: "the GPU's memory was full",
	Mechanism: `The model, its gradients, the optimiser's state and the activations of a batch did not fit, or somebody else's process holds the
rest: an orphan of a killed run does. --memory has nothing to do with it.
Source: PyTorch, "CUDA semantics", "Memory management".`,
	Find: words(cudaWords, func(c *evidence.Case, m []string) (cause, fix evidence.Text) {
		return evidence.Say("the GPU's memory was full", "GPU 显存已满"),
			evidence.Say("a smaller batch, gradient accumulation or checkpointing; nvidia-smi shows whether others hold memory of this GPU", "减小 batch，使用梯度累积或 checkpoint；用 nvidia-smi 查看是否有他人占用显存")
	}),
}
