package rules

import (
	"strings"

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

var libstdcWords = lazyregexp.New(`.*version .?((?:GLIBCXX|CXXABI|GLIBC)_[\d.]+).? not found.*`)

var libstdc = evidence.Rule{
	Code:  "glibcxx",
	Title: "an older C++ library was found before the environment's own",
	Mechanism: `Packages of conda-forge need the environment's own libstdc++. Where LD_LIBRARY_PATH or the order of imports brings the system's in
first, its versions are missing. GLIBC itself comes from the base image: there only a newer base helps.
Source: pytorch issue 157709; conda's documentation, "Compiler tools".`,
	Find: words("glibcxx", libstdcWords, func(c *evidence.Case, m []string) (cause, fix evidence.Text) {
		if strings.HasPrefix(m[1], "GLIBC_") {
			return evidence.Say("the base image's C library is too old: %s is missing", "基础镜像的 C 库过旧：缺少 %s", m[1]),
				evidence.Say("a newer base image: crun build --base", "使用更新的基础镜像：crun build --base")
		}
		return evidence.Say("an older libstdc++ was loaded before the environment's: %s is missing", "先加载了旧的 libstdc++：缺少 %s", m[1]),
			evidence.Say(`take LD_LIBRARY_PATH away, or "- libstdcxx-ng" in environment.yml, then crun build`, `去掉 LD_LIBRARY_PATH，或在 environment.yml 中加入 "- libstdcxx-ng"，再 crun build`)
	}),
}

var libGLWords = lazyregexp.New(`.*(lib(?:GL|gthread-2\.0|glib-2\.0|SM|Xext|Xrender|EGL)\.so(?:\.\d+)*): cannot open shared object file.*`)

var libGL = evidence.Rule{
	Code:  "libgl",
	Title: "a library of the system is missing that OpenCV and others load",
	Mechanism: `opencv-python is built for desktops: it loads libGL and libglib, which slim images do not have. The headless build does not.
Source: opencv-python's README, "Frequently Asked Questions".`,
	Find: words("libgl", libGLWords, func(c *evidence.Case, m []string) (cause, fix evidence.Text) {
		return evidence.Say("the image has no %s", "镜像中缺少 %s", m[1]),
			evidence.Say("opencv-python-headless instead of opencv-python, or build.apt: [libgl1, libglib2.0-0] in profiles.yaml, then crun build", "用 opencv-python-headless 代替 opencv-python，或在 profiles.yaml 中写 build.apt: [libgl1, libglib2.0-0]，再 crun build")
	}),
}

var cublasWords = lazyregexp.New(`.*undefined symbol: (cublasLt\w+|cudnn\w+|cusparse\w+|nvJitLink\w+|__nvJitLink\w+).*`)

var cublasLt = evidence.Rule{
	Code:  "cuda-library",
	Title: "two copies of a CUDA library, of different versions",
	Mechanism: `torch from pip brings CUDA's libraries as wheels; an image for CUDA has its own on LD_LIBRARY_PATH, which are found first.
Source: pytorch issues 103832 and 88882.`,
	Find: words("cuda-library", cublasWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("a CUDA library of another version was found before torch's own", "先找到了另一版本的 CUDA 库，而非 torch 自带的"),
			evidence.Say("-e LD_LIBRARY_PATH= , or a base image without CUDA (crun build's default)", "-e LD_LIBRARY_PATH= ，或使用不带 CUDA 的基础镜像（crun build 的默认）")
	}),
}

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
