package rules

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var numpyWords = lazyregexp.New(`.*(?:compiled using NumPy 1\.x cannot be run in|numpy\.dtype size changed, may indicate binary incompatibility|numpy\.core\.multiarray failed to import|RuntimeError: Numpy is not available|_ARRAY_API not found|was removed in the NumPy 2\.0 release|No module named .numpy\._core|module 'numpy' has no attribute '(?:bool|int|float|object|str|complex|long|unicode|(bool8|float_|complex_|int0|uint0|string_|unicode_|NaN|Inf|infty|cast|product|cumproduct|alltrue|sometrue|in1d|trapz))').*`)

var numpyTwo = evidence.Rule{
	Code:  "numpy-2",
	Title: "NumPy 2 beside packages that were built for NumPy 1",
	Mechanism: `Modules that were compiled against NumPy 1 cannot be used with NumPy 2; torch can from 2.3 on.
Source: NumPy 2.0 migration guide.`,
	Find: words(numpyWords, func(_ *evidence.Case, m []string) (cause, fix evidence.Text) {
		switch {
		case strings.Contains(m[0], "numpy._core"):
			return evidence.Say("a file was written with NumPy 2, and this environment has NumPy 1", "文件由 NumPy 2 写入，而环境中是 NumPy 1"),
				evidence.Say(`"- numpy>=2" in environment.yml, then crun build`, `在 environment.yml 中加入 "- numpy>=2"，再 crun build`)
		case strings.Contains(m[0], "has no attribute") && m[1] == "":
			return evidence.Say("the script or a package uses a name that NumPy 1.24 removed", "脚本或某个包使用了 NumPy 1.24 已移除的名称"),
				evidence.Say(`"- numpy<1.24" in environment.yml, then crun build; or bool, int, float instead of np.bool, np.int, np.float`, `在 environment.yml 中加入 "- numpy<1.24"，再 crun build；或用 bool、int、float 代替 np.bool、np.int、np.float`)
		case strings.Contains(m[0], "was removed"), m[1] != "":
			return evidence.Say("the script or a package uses a name that NumPy 2 removed", "脚本或某个包使用了 NumPy 2 已移除的名称"),
				evidence.Say(`"- numpy<2" in environment.yml, then crun build; or its new name in the script`, `在 environment.yml 中加入 "- numpy<2"，再 crun build；或在脚本中改用新名称`)
		}
		return evidence.Say("a package of this environment was built for another NumPy", "环境中有包是针对另一版本的 NumPy 编译的"),
			evidence.Say(`"- numpy<2" in environment.yml, then crun build`, `在 environment.yml 中加入 "- numpy<2"，再 crun build`)
	}),
}
