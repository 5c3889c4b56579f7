package rules

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var libstdcWords = lazyregexp.New(`.*version .?((?:GLIBCXX|CXXABI|GLIBC)_[\d.]+).? not found.*`)

var libstdc = evidence.Rule{
	Code:  "glibcxx",
	Title: "an older C++ library was found before the environment's own",
	Mechanism: `Packages of conda-forge need the environment's own libstdc++. Where LD_LIBRARY_PATH or the order of imports brings the system's in
first, its versions are missing. GLIBC itself comes from the base image: there only a newer base helps.
Source: pytorch issue 157709; conda's documentation, "Compiler tools".`,
	Find: words(libstdcWords, func(c *evidence.Case, m []string) (cause, fix evidence.Text) {
		if strings.HasPrefix(m[1], "GLIBC_") {
			return evidence.Say("the base image's C library is too old: %s is missing", "基础镜像的 C 库过旧：缺少 %s", m[1]),
				evidence.Say("a newer base image: crun build --base", "使用更新的基础镜像：crun build --base")
		}
		return evidence.Say("an older libstdc++ was loaded before the environment's: %s is missing", "先加载了旧的 libstdc++：缺少 %s", m[1]),
			evidence.Say(`take LD_LIBRARY_PATH away, or "- libstdcxx-ng" in environment.yml, then crun build`, `去掉 LD_LIBRARY_PATH，或在 environment.yml 中加入 "- libstdcxx-ng"，再 crun build`)
	}),
}
