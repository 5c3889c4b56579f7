package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var kernelWords = lazyregexp.New(`.*(?:no kernel image is available for execution on the device|sm_\d+ is not compatible with the current PyTorch installation).*`)

var kernelImage = evidence.Rule{
	Code:  "no-kernel-image",
	Title: "the image's torch has no code for this GPU",
	Mechanism: `A build of torch carries code for the architectures it was made for (sm_XX). A newer GPU needs a newer torch or CUDA, a very old
one an older torch.
Source: torch.cuda.get_arch_list().`,
	Find: words(kernelWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("the torch in the image was not built for this GPU", "镜像中的 torch 不支持该 GPU 架构"),
			evidence.Say("crun lint --cuda auto names a torch that fits", "crun lint --cuda auto 会给出合适的 torch 版本")
	}),
}
