"""Real messages of well-known failures, and what each has to be answered with."""
import unittest

import known

ANSWERS = [
    ("ImportError: /opt/conda/envs/a/lib/python3.9/site-packages/torch/lib/libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent", "mkl<2024.1"),
    ("AttributeError: _ARRAY_API not found", "numpy<2"),
    ("A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.1 as it may crash.", "numpy<2"),
    ("RuntimeError: Numpy is not available", "numpy<2"),
    ("AttributeError: `np.float_` was removed in the NumPy 2.0 release. Use `np.float64` instead.", "numpy<2"),
    ("ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88 from PyObject", "compiled against another NumPy"),
    ("AttributeError: module 'numpy' has no attribute 'bool'.", "numpy<1.24"),
    ("ImportError: /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by /opt/x.so)", "libstdcxx-ng"),
    ("ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /opt/x.so)", "glibc 2.38"),
    ("ImportError: libGL.so.1: cannot open shared object file: No such file or directory", "apt: [libgl1]"),
    ("ImportError: libgthread-2.0.so.0: cannot open shared object file: No such file or directory", "apt: [libglib2.0-0]"),
    ("ImportError: libSM.so.6: cannot open shared object file: No such file or directory", "apt: [libsm6]"),
    ("OSError: sndfile library not found", "apt: [libsndfile1]"),
    ("ImportError: libodd.so.3: cannot open shared object file: No such file or directory", "find the package that has libodd.so.3"),
    ("OSError: libcudnn.so.8: cannot open shared object file: No such file or directory", "cudnn"),
    ("ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory", "CUDA 11"),
    ("ImportError: libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12", "nvJitLink"),
    ("ImportError: libtorch_cuda.so: undefined symbol: ncclCommRegister", "nccl"),
    ("ImportError: /x/_C.so: undefined symbol: _ZN3c1017RegisterOperatorsD1Ev", "another release of torch"),
    ("ImportError: flash_attn_2_cuda.so: undefined symbol: _ZNK3c106SymIntltEl", "another release of torch"),
    ("RuntimeError: operator torchvision::nms does not exist", "torchvision"),
    ("ModuleNotFoundError: No module named 'torchvision.transforms.functional_tensor'", "torchvision<0.17"),
    ("TypeError: Descriptors cannot not be created directly.", "protobuf<3.21"),
    ("TypeError: Descriptors cannot be created directly.", "protobuf<3.21"),
    ("ModuleNotFoundError: No module named 'pkg_resources'", "setuptools<81"),
    ("AttributeError: module 'distutils' has no attribute 'version'", "setuptools<59.6"),
    ("ModuleNotFoundError: No module named 'distutils'", "python<3.12"),
    ("ImportError: cannot import name 'Mapping' from 'collections' (/opt/x/collections/__init__.py)", "python<3.10"),
    ("ImportError: cannot import name 'cached_download' from 'huggingface_hub' (/opt/x)", "huggingface_hub<0.26"),
    ("ImportError: /x/libgomp-d22c30c5.so.1.0.0: cannot allocate memory in static TLS block", "before torch"),
    ("Python was ended by SIGILL", "AVX"),
    ("ModuleNotFoundError: No module named 'sklearn'", "it needs sklearn"),
    ("ModuleNotFoundError: No module named 'encodings'", "PYTHONHOME"),
]


class Known(unittest.TestCase):
    def test_answers(self):
        for message, want in ANSWERS:
            with self.subTest(message):
                self.assertIn(want, known.advice(message, "module"))

    def test_all_libraries_at_once(self):
        message = "ImportError: libGL.so.1: cannot open shared object file: No such file or directory"
        also = ["libgthread-2.0.so.0", "libGL.so.1", "libglib-2.0.so.0", "libodd.so.3"]
        self.assertEqual(known.advice(message, "cv2", also), 'in profiles.yaml write "build: {apt: [libgl1, libglib2.0-0]}", or take opencv-python-headless in the place of opencv-python')
        self.assertEqual(known.advice(message, "open3d"), 'in profiles.yaml write "build: {apt: [libgl1]}"')

    def test_nothing_is_made_up(self):
        self.assertEqual(known.advice("ValueError: no", "module"), "")
        # That the module itself is not there says no more than that.
        self.assertEqual(known.advice("ModuleNotFoundError: No module named 'module'", "module"), "")

    def test_driver(self):
        for message in (
            "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
            "OSError: libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
            "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
            "RuntimeError: 0 active drivers ([]). There should only be one.",
        ):
            self.assertTrue(known.needs_driver(message), message)
        for message in ("ImportError: libcudart.so.12: cannot open shared object file", "ImportError: libGL.so.1: cannot open"):
            self.assertFalse(known.needs_driver(message), message)


if __name__ == "__main__":
    unittest.main()
