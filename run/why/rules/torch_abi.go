package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var abiWords = lazyregexp.New(`.*(?:undefined symbol: _ZN?K?[\w]*(?:3c10|2at|5torch|torch)\w*|operator torchvision::nms does not exist|PyTorch and torchvision (?:were compiled with|has) different CUDA).*`)

// torchABI: an extension's C++ names are those of the torch it was built for.
var torchABI = evidence.Rule{
	Code:  "torch-abi",
	Title: "a compiled extension was built for another torch",
	Mechanism: `An extension (flash-attn, torchvision, torchaudio, apex, torch-scatter) is linked against C++ names of the torch that it was built
with. Another release, CUDA or C++ ABI has other names, and the import fails with "undefined symbol", or an operator is not there.
Source: PyTorch, torch.utils.cpp_extension.`,
	Find: words(abiWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("a compiled extension was built for another torch than the one in the image", "某个编译扩展是针对另一版本的 torch 构建的"),
			evidence.Say("the release of the package that fits this torch, from the same channel, then crun build; crun lint names pairs that do not fit", "安装与该 torch 相配、来自同一渠道的版本，再 crun build；crun lint 会指出不相配的组合")
	}),
}
