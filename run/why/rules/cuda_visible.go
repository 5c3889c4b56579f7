package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var visibleWords = lazyregexp.New(`.*(?:CUDA unknown error|invalid device ordinal|AssertionError: Invalid device id|CUDA error: invalid device).*`)

var cudaVisible = evidence.Rule{
	Code:  "cuda-visible",
	Title: "the script asked for a GPU number that the run does not have",
	Mechanism: `Inside a run the GPUs are numbered from 0 whatever they are on the host; cuda:3 in a run with one GPU is none. A variable
CUDA_VISIBLE_DEVICES that a script sets after CUDA has begun gives "CUDA unknown error".
Source: CUDA C++ Programming Guide, "CUDA Environment Variables"; pytorch issue 128819.`,
	Find: words(visibleWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("the script asked for a GPU that the run does not have, or set CUDA_VISIBLE_DEVICES too late", "脚本使用了运行中不存在的 GPU 编号，或过晚设置 CUDA_VISIBLE_DEVICES"),
			evidence.Say("use cuda:0, take CUDA_VISIBLE_DEVICES out of the script, or --gpus N", "使用 cuda:0，从脚本中去掉 CUDA_VISIBLE_DEVICES，或 --gpus N")
	}),
}
