"""Failures that are well known, each with what helps: one table.

A line is a pattern over an error's text and the remedy, in which {1} is the
pattern's first group. The first that matches counts.
"""
import re

# What only a machine with NVIDIA's driver has; an image never does, and neither
# does the step that builds one.
DRIVER = re.compile(
    r"lib(?:cuda|nvidia-ml|nvcuvid|nvidia-encode|nvidia-ptxjitcompiler|nvoptix)\.so\b"
    r"|Found no NVIDIA driver|NVIDIA driver on your system|no CUDA-capable device|NVML Shared Library Not Found"
    r"|CUDA driver version is insufficient|CUDA_ERROR_NO_DEVICE|cudaErrorNoDevice|cudaErrorInsufficientDriver"
    r"|No CUDA GPUs are available|0 active drivers"
)

# Debian's package of a library. Each can be looked up with "apt-file search" or
# on Debian's pages of package contents.
APT = {
    "libGL.so.1": "libgl1", "libEGL.so.1": "libegl1", "libGLU.so.1": "libglu1-mesa", "libOpenGL.so.0": "libopengl0", "libOSMesa.so.8": "libosmesa6",
    "libGLdispatch.so.0": "libglvnd0", "libgthread-2.0.so.0": "libglib2.0-0", "libglib-2.0.so.0": "libglib2.0-0",
    "libSM.so.6": "libsm6", "libICE.so.6": "libice6", "libX11.so.6": "libx11-6", "libXext.so.6": "libxext6",
    "libXrender.so.1": "libxrender1", "libXi.so.6": "libxi6", "libxcb.so.1": "libxcb1", "libXfixes.so.3": "libxfixes3",
    "libsndfile.so.1": "libsndfile1", "libportaudio.so.2": "libportaudio2", "libasound.so.2": "libasound2",
    "libgomp.so.1": "libgomp1", "libatomic.so.1": "libatomic1", "libusb-1.0.so.0": "libusb-1.0-0",
    "libmagic.so.1": "libmagic1", "libcrypt.so.1": "libcrypt1", "libpq.so.5": "libpq5", "libexpat.so.1": "libexpat1",
    "libxml2.so.2": "libxml2", "libfontconfig.so.1": "libfontconfig1", "libfreetype.so.6": "libfreetype6",
    "libpangocairo-1.0.so.0": "libpangocairo-1.0-0", "libcairo.so.2": "libcairo2", "libnss3.so": "libnss3",
    "librdmacm.so.1": "librdmacm1", "libibverbs.so.1": "libibverbs1", "libnuma.so.1": "libnuma1", "libaio.so.1": "libaio1",
}

KNOWN = [(re.compile(pattern), remedy) for pattern, remedy in (
    # https://docs.python.org/3/using/cmdline.html#envvar-PYTHONHOME; empty is as if it were not set.
    (r"No module named 'encodings'",
     "the base image sets PYTHONHOME, which leads Python to another one's modules: write \"variables: {PYTHONHOME: ''}\" into the environment file, or take another base image"),
    # https://github.com/pytorch/pytorch/issues/123097
    (r"undefined symbol: iJIT_NotifyEvent",
     'this torch needs an older MKL: add "- mkl<2024.1" to the conda packages'),
    # https://numpy.org/doc/stable/dev/depending_on_numpy.html#numpy-2-0-specific-advice
    (r"_ARRAY_API not found|compiled using NumPy 1\.x|numpy\.core\.multiarray failed to import|Numpy is not available"
     r"|was removed in the NumPy 2\.0 release",
     'it was made for NumPy 1: pin "numpy<2"'),
    (r"numpy\.(?:dtype|ndarray|ufunc) size changed",
     "it was compiled against another NumPy than the one that is here: take both from conda, or a newer release of it"),
    # https://numpy.org/doc/stable/release/1.24.0-notes.html
    (r"module 'numpy' has no attribute '(?:bool|int|float|complex|object|str|long|unicode)'",
     'it uses names that NumPy 1.24 removed: pin "numpy<1.24", or take a newer release of it'),
    (r"(?:GLIBCXX|CXXABI)_[\d.]+' not found",
     'it needs a newer C++ library than the base image has: add "- libstdcxx-ng" to the conda packages'),
    (r"GLIBC_([\d.]+)' not found",
     "it needs glibc {1} or newer, which the base image does not have: name a newer base (--base, or build.base in profiles.yaml)"),
    (r"libssl\.so\.1\.1|libcrypto\.so\.1\.1", 'it needs OpenSSL 1.1: pin "openssl=1.1.1" in the conda packages'),
    (r"sndfile library not found", 'in profiles.yaml write "build: {apt: [libsndfile1]}"'),
    (r"failed to find libmagic", 'in profiles.yaml write "build: {apt: [libmagic1]}"'),
    (r"libcudnn\S*\.so\S*: cannot open",
     "cuDNN is not in the environment: take torch's own build for CUDA, which brings it, or add \"- cudnn\" to the conda packages"),
    (r"libcu(?:dart|blas|blasLt|fft|rand|solver|sparse|pti)\.so\.(\d+)\S*: cannot open",
     "it was made for CUDA {1}, whose libraries are not here: take the build of it for torch's CUDA"),
    (r"libnvrtc\S*\.so\S*: cannot open", "NVRTC is not here: take the build of it for torch's CUDA"),
    # https://github.com/pytorch/pytorch/issues/111469
    (r"undefined symbol: __nvJitLink",
     "cuSPARSE and nvJitLink are of different releases of CUDA: let pip choose the nvidia packages that torch asks for, unpinned"),
    (r"undefined symbol: nccl", "another NCCL than torch's is found first: take out the pin of nccl (nvidia-nccl), torch brings its own"),
    # _ZN2at, _ZN3c10, _ZN5torch: C++ functions of torch
    (r"undefined symbol: _ZNK?(?:2at|3c10|5torch)",
     "it was compiled for another release of torch: take the release of it that belongs to this torch"),
    (r"operator torchvision::nms does not exist",
     "torchvision and torch do not belong together: take the torchvision of this torch, from where torch comes from"),
    (r"torchvision\.transforms\.functional_tensor", 'pin "torchvision<0.17", which still has that module'),
    # https://protobuf.dev/news/2022-05-06/#python-updates
    (r"Descriptors cannot (?:not )?be created directly", 'pin "protobuf<3.21"'),
    (r"No module named '?pkg_resources'?", 'pin "setuptools<81": newer ones have no pkg_resources'),
    (r"cannot import name 'packaging' from 'pkg_resources'", 'pin "setuptools<70"'),
    # https://github.com/pytorch/pytorch/pull/69823
    (r"module 'distutils' has no attribute 'version'", 'pin "setuptools<59.6"'),
    (r"No module named '?distutils'?", 'Python 3.12 has no distutils: add setuptools, or pin "python<3.12"'),
    (r"No module named '?imp'?$", 'Python 3.12 has no module imp: pin "python<3.12", or take a newer release of it'),
    # https://docs.python.org/3/whatsnew/3.10.html#removed
    (r"cannot import name '\w+' from 'collections'|module 'collections' has no attribute",
     'Python 3.10 moved these names: pin "python<3.10", or take a newer release of it'),
    (r"cannot import name 'PILLOW_VERSION'", 'pin "pillow<7"'),
    (r"module 'PIL\.Image' has no attribute 'ANTIALIAS'", 'pin "pillow<10"'),
    (r"cannot import name 'cached_download' from 'huggingface_hub'", 'pin "huggingface_hub<0.26"'),
    (r"cannot import name 'soft_unicode' from 'markupsafe'", 'pin "markupsafe<2.1"'),
    (r"cannot import name '(?:escape|Markup|contextfilter)' from 'jinja2'", 'pin "jinja2<3.1"'),
    (r"cannot import name 'url_(?:quote|decode|encode)' from 'werkzeug", 'pin "werkzeug<3"'),
    (r"cannot allocate memory in static TLS block", "import it before torch, or take both from conda"),
    (r"SIGILL|[Ii]llegal instruction",
     "it was built for CPUs with more instructions (AVX, AVX2) than this one has: take conda's build of it, or build and run on a newer CPU"),
)]

MISSING_LIBRARY = re.compile(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object file")
MISSING_MODULE = re.compile(r"No module named '?([A-Za-z_]\w*)")


def needs_driver(text):
    """Whether text tells of nothing but a missing GPU driver."""
    return bool(DRIVER.search(text))


def missing_library(text):
    """The library whose lack text tells of, or ""."""
    found = MISSING_LIBRARY.search(text)
    return found.group(1) if found else ""


def advice(text, module="", also=()):
    """What helps against an error of importing module, or "".

    also are further libraries that the module lacks: the error names the first.
    """
    for pattern, remedy in KNOWN:
        found = pattern.search(text)
        if found:
            return remedy.replace("{1}", found.group(1) or "") if found.groups() else remedy
    library = missing_library(text)
    if library:
        if library in APT:
            packages = dict.fromkeys([APT[library], *sorted(APT[other] for other in also if other in APT)])
            headless = ", or take opencv-python-headless in the place of opencv-python" if module == "cv2" else ""
            return f'in profiles.yaml write "build: {{apt: [{", ".join(packages)}]}}"' + headless
        return f"find the package that has {library} and add it, to the conda packages or to build.apt in profiles.yaml"
    found = MISSING_MODULE.search(text)
    if found and found.group(1) != module.partition(".")[0]:
        return f"it needs {found.group(1)}, which nothing brings along: add the package that has it"
    return ""
