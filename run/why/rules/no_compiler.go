package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var compilerWords = lazyregexp.New(`.*(?:Failed to find C compiler|No C compiler found|(?:gcc|g\+\+|cc): (?:command )?not found|InvalidCxxCompiler|command '[^']*(?:gcc|g\+\+|cc)' failed: No such file|unable to execute '[^']*(?:gcc|g\+\+|cc)'|No such file or directory: '(?:[^']*/)?(?:gcc|g\+\+|c\+\+|cc)').*`)

var compiler = evidence.Rule{
	Code:  "no-compiler",
	Title: "there is no C compiler in the image",
	Mechanism: `torch.compile and Triton write C and compile it at the first call, minutes into a run. Images without gcc fail then.
Source: pytorch issue 116696.`,
	Find: words(compilerWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("something had to be compiled (torch.compile, Triton, an extension), and the image has no C compiler", "有代码需要编译（torch.compile、Triton 或扩展），而镜像中没有 C 编译器"),
			evidence.Say("build.compiler: true in profiles.yaml, then crun build; or -e TORCHDYNAMO_DISABLE=1", "在 profiles.yaml 中写 build.compiler: true，再 crun build；或 -e TORCHDYNAMO_DISABLE=1")
	}),
}
