package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var cublasWords = lazyregexp.New(`.*undefined symbol: (cublasLt\w+|cudnn\w+|cusparse\w+|nvJitLink\w+|__nvJitLink\w+).*`)

var cublasLt = evidence.Rule{
	Code:  "cuda-library",
	Title: "two copies of a CUDA library, of different versions",
	Mechanism: `torch from pip brings CUDA's libraries as wheels; an image for CUDA has its own on LD_LIBRARY_PATH, which are found first.
Source: pytorch issues 103832 and 88882.`,
	Find: words("cuda-library", cublasWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("a CUDA library of another version was found before torch's own", "先找到了另一版本的 CUDA 库，而非 torch 自带的"),
			evidence.Say("-e LD_LIBRARY_PATH= , or a base image without CUDA (crun build's default)", "-e LD_LIBRARY_PATH= ，或使用不带 CUDA 的基础镜像（crun build 的默认）")
	}),
}
