package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var mklWords = lazyregexp.New(`.*undefined symbol: (iJIT_NotifyEvent|iJIT_\w+).*|.*MKL_THREADING_LAYER=INTEL is incompatible with.*`)

var mklSymbol = evidence.Rule{
	Code:  "mkl-symbol",
	Title: "MKL does not go together with PyTorch or its OpenMP",
	Mechanism: `PyTorch's conda packages up to 2.2 use a symbol that MKL 2024.1 no longer has. MKL_THREADING_LAYER=INTEL
is a second OpenMP library beside the one (libgomp) that was loaded before.
Source: pytorch issue 123097.`,
	Find: words(mklWords, func(_ *evidence.Case, m []string) (cause, fix evidence.Text) {
		if m[1] == "" {
			return evidence.Say("MKL and another package brought two OpenMP libraries that do not go together", "MKL 与另一个包各带了一个互不兼容的 OpenMP 库"),
				evidence.Say("-e MKL_THREADING_LAYER=GNU, or import numpy before torch", "-e MKL_THREADING_LAYER=GNU，或在 torch 之前 import numpy")
		}
		return evidence.Say("the MKL of this environment is too new for its PyTorch", "环境中的 MKL 版本过新，与该 PyTorch 不兼容"),
			evidence.Say(`"- mkl=2024.0" in environment.yml, then crun build`, `在 environment.yml 中加入 "- mkl=2024.0"，再 crun build`)
	}),
}
