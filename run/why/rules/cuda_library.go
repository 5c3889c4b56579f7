package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var cublasWords = lazyregexp.New(`.*undefined symbol: (cublasLt\w+|cudnn\w+|cusparse\w+|nvJitLink\w+|__nvJitLink\w+|nccl[A-Z]\w+).*|.*cuDNN version incompatibility.*|.*(?:Could not load library|Unable to load any of \{)libcudnn.*|.*lib(?:cudart|cublas|cublasLt|cudnn|cufft|curand|cusparse|cusolver|nccl|nvrtc|nvJitLink|cupti)[\w.-]*: cannot open shared object file.*`)

var cublasLt = evidence.Rule{
	Code:  "cuda-library",
	Title: "two copies of a CUDA library, of different versions",
	Mechanism: `torch from pip brings CUDA's libraries as wheels; an image for CUDA has its own on LD_LIBRARY_PATH, which are found first.
Source: pytorch issues 103832 and 88882.`,
	Find: words(cublasWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("a CUDA library of the version that a package needs was not found, or one of another version before it", "未找到软件包所需版本的 CUDA 库，或先找到了另一版本"),
			evidence.Say("-e LD_LIBRARY_PATH= , a base image without CUDA (crun build's default), or a build of the package for torch's CUDA", "-e LD_LIBRARY_PATH= ，使用不带 CUDA 的基础镜像（crun build 的默认），或换成与 torch 的 CUDA 相配的软件包")
	}),
}
