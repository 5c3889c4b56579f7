package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var oldDriverWords = lazyregexp.New(`.*(?:The NVIDIA driver on your system is too old|CUDA driver version is insufficient for CUDA runtime version|PTX was compiled with an unsupported toolchain|unsatisfied condition: cuda).*`)

var driverOld = evidence.Rule{
	Code:  "driver-old",
	Title: "the host's driver is too old for the image's CUDA",
	Mechanism: `Each CUDA release needs a driver of some age: 11.x 450, 12.x 525 (minor releases work together), 13.x 580.
Source: NVIDIA, CUDA Compatibility, "Minor Version Compatibility".`,
	Find: words(oldDriverWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("the host's driver is too old for the CUDA in the image", "主机驱动版本过旧，不支持镜像中的 CUDA"),
			evidence.Say("crun build --cuda auto takes the newest CUDA that this driver can", "crun build --cuda auto 会选择该驱动支持的最新 CUDA")
	}),
}
