package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var numpyWords = lazyregexp.New(`.*(?:compiled using NumPy 1\.x cannot be run in|numpy\.dtype size changed, may indicate binary incompatibility|numpy\.core\.multiarray failed to import|RuntimeError: Numpy is not available|_ARRAY_API not found).*`)

var numpyTwo = evidence.Rule{
	Code:  "numpy-2",
	Title: "NumPy 2 beside packages that were built for NumPy 1",
	Mechanism: `Modules that were compiled against NumPy 1 cannot be used with NumPy 2; torch can from 2.3 on.
Source: NumPy 2.0 migration guide.`,
	Find: words("numpy-2", numpyWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("a package of this environment was built for another NumPy", "环境中有包是针对另一版本的 NumPy 编译的"),
			evidence.Say(`"- numpy<2" in environment.yml, then crun build`, `在 environment.yml 中加入 "- numpy<2"，再 crun build`)
	}),
}
