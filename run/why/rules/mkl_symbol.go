package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var mklWords = lazyregexp.New(`.*undefined symbol: (iJIT_NotifyEvent|iJIT_\w+).*`)

var mklSymbol = evidence.Rule{
	Code:  "mkl-symbol",
	Title: "MKL is too new for the conda package of PyTorch",
	Mechanism: `PyTorch's conda packages up to 2.2 use a symbol that MKL 2024.1 no longer has.
Source: pytorch issue 123097.`,
	Find: words("mkl-symbol", mklWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("the MKL of this environment is too new for its PyTorch", "环境中的 MKL 对该 PyTorch 来说过新"),
			evidence.Say(`"- mkl=2024.0" in environment.yml, then crun build`, `在 environment.yml 中加入 "- mkl=2024.0"，再 crun build`)
	}),
}
