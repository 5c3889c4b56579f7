package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var compilerWords = lazyregexp.New(`.*(?:Failed to find C compiler|No C compiler found|gcc: (?:command )?not found|InvalidCxxCompiler|command 'gcc' failed|unable to execute 'gcc').*`)

var compiler = evidence.Rule{
	Code:  "no-compiler",
	Title: "there is no C compiler in the image",
	Mechanism: `torch.compile and Triton write C and compile it at the first call, minutes into a run. Images without gcc fail then.
Source: pytorch issue 116696.`,
	Find: words("no-compiler", compilerWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("torch.compile or Triton needs a C compiler, and the image has none", "torch.compile 或 Triton 需要 C 编译器，而镜像中没有"),
			evidence.Say("build.compiler: true in profiles.yaml, then crun build; or -e TORCHDYNAMO_DISABLE=1", "在 profiles.yaml 中写 build.compiler: true，再 crun build；或 -e TORCHDYNAMO_DISABLE=1")
	}),
}
