"""The check of a prefix of tiny packages that fail in each of the known ways."""
import contextlib
import io
import json
import os
import stat
import sys
import tempfile
import unittest

import check
import installed
import uvtool
from common import Failure

FAKE_TORCH = """
import types
__version__ = '2.8.0+cu128'
version = types.SimpleNamespace(cuda='12.8')
_C = types.SimpleNamespace(_cuda_getArchFlags=lambda: 'sm_70 sm_120')
class Tensor(list):
    def sum(self): return sum(self)
def from_numpy(array): return Tensor(array)
def arange(n): return Tensor(range(n))
"""
FAKE_DATA = """
class TensorDataset(list):
    pass
def DataLoader(data, batch_size, num_workers):
    import torch
    assert (batch_size, num_workers) == (2, 2)
    return [[torch.Tensor(data[i:i + 2])] for i in range(0, len(data), 2)]
"""


class Prefix:
    """An environment with the Python of this test and packages of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.lib = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
        self.python = os.path.join(folder, "bin/python")
        self.file("bin/python", f'#!/bin/sh\nPYTHONPATH={folder}/{self.lib} exec {sys.executable} "$@"\n')
        os.chmod(self.python, 0o755)

    def file(self, path, text=""):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def pip(self, name, files, version="1.0", needs=(), installer="uv"):
        stem = f"{name.replace('-', '_')}-{version}.dist-info"
        rows = [f"{stem}/METADATA,,"]
        for path, text in files.items():
            self.file(f"{self.lib}/{path}", text)
            rows.append(f"{path},sha256={abs(hash(text))},{len(text)}")
        self.file(f"{self.lib}/{stem}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {n}\n" for n in needs) + "\nText: of it\n")
        self.file(f"{self.lib}/{stem}/INSTALLER", installer + "\n")
        self.file(f"{self.lib}/{stem}/RECORD", "\n".join(rows) + "\n")

    def conda(self, name, files, version="1.0", depends=()):
        for path, text in files.items():
            self.file(f"{self.lib}/{path}", text)
        record = {"name": name, "version": version, "files": [f"{self.lib}/{path}" for path in files], "depends": list(depends)}
        self.file(f"conda-meta/{name}-{version}-0.json", json.dumps(record))


class TestCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = Prefix(folder.name)
        conflicts = uvtool.conflicts
        uvtool.conflicts = lambda python: []
        self.addCleanup(setattr, uvtool, "conflicts", conflicts)

    def run_check(self, conda=(), pip=(), must=(), mode="import", **more):
        request = {"mode": mode, "prefix": self.prefix.folder, "conda": list(conda), "pip": list(pip), "must": list(must), **more}
        for name, value in (("request.json", json.dumps(request)), ("report.json", "")):
            self.prefix.file(name, value)
        said = io.StringIO()
        self.failure = None
        with contextlib.redirect_stdout(said):
            try:
                check.check(self.prefix.folder + "/request.json", self.prefix.folder + "/report.json")
            except Failure as failure:
                self.failure = str(failure)
        self.said = said.getvalue()
        with open(self.prefix.folder + "/report.json") as file:
            report = json.load(file)
        self.modules = {entry["name"]: entry for entry in report["modules"]}
        return report

    def test_healthy(self):
        self.prefix.pip("numpy", {"numpy/__init__.py": "__version__ = '2.1'\ndef arange(n): return range(int(n))\n"})
        self.prefix.pip("torch", {"torch/__init__.py": FAKE_TORCH, "torch/utils/__init__.py": "", "torch/utils/data.py": FAKE_DATA})
        self.prefix.pip("Some_Thing", {"thing.py": "", "other/__init__.py": "", "tests/__init__.py": "1/0", "_private.py": "1/0"})
        report = self.run_check(pip=["torch", "some-thing"], mode="full")
        self.assertIsNone(self.failure)
        self.assertEqual({name: entry["status"] for name, entry in self.modules.items()}, {
            "torch": "works", "numpy": "works", "other": "works", "thing": "works",
            "a tensor from numpy": "works", "a DataLoader with two workers": "works"})
        self.assertEqual((report["torch"]["cuda"], report["torch"]["archs"]), ("12.8", "sm_70 sm_120"))
        self.assertIn("torch 2.8.0+cu128\n", self.said)
        # Less is tried where less is asked for.
        self.run_check(pip=["torch"])
        self.assertNotIn("a DataLoader with two workers", self.modules)

    def test_failures(self):
        library = "raise ImportError('%s: cannot open shared object file: No such file or directory')"
        self.prefix.pip("picture", {"picture/__init__.py": library % "libGL.so.1"})
        self.prefix.pip("driver", {"driver.py": library % "libcuda.so.1"})
        self.prefix.pip("avx", {"avx.py": "import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n"})
        self.prefix.pip("crash", {"crash.py": "import ctypes\nctypes.string_at(0)\n"})
        self.prefix.pip("leaver", {"leaver.py": "import os\nos._exit(3)\n"})
        self.prefix.pip("exiter", {"exiter.py": "import sys\nsys.exit('go away')\n"})
        self.prefix.pip("good", {"good.py": ""})
        self.run_check(pip=["picture", "driver", "avx", "crash", "leaver", "exiter", "good", "not-there"])
        self.assertIsNone(self.failure)
        status = {name: entry["status"] for name, entry in self.modules.items()}
        self.assertEqual(status, {"picture": "fails", "driver": "not checkable here", "avx": "fails", "crash": "fails",
                                  "leaver": "fails", "exiter": "fails", "good": "works"})
        self.assertIn("apt: [libgl1]", self.modules["picture"]["advice"])
        self.assertEqual(self.modules["picture"]["reason"], "ImportError: libGL.so.1: cannot open shared object file: No such file or directory")
        self.assertIn("SIGILL", self.modules["avx"]["reason"])
        self.assertIn("AVX", self.modules["avx"]["advice"])
        self.assertIn("SIGSEGV", self.modules["crash"]["reason"])
        self.assertIn("exit code 3", self.modules["leaver"]["reason"])
        self.assertIn("SystemExit: go away", self.modules["exiter"]["reason"])

    def test_setuptools(self):
        """setuptools does not stand distutils before it: no fault of the environment."""
        self.prefix.conda("numpy", {"numpy/__init__.py": "import sys\nsys.modules['early'] = sys\n"})
        self.prefix.conda("setuptools", {"setuptools/__init__.py": "import sys\nassert 'early' not in sys.modules, 'distutils/core.py'\n"})
        self.run_check(conda=["numpy", "setuptools"])
        self.assertEqual({name: entry["status"] for name, entry in self.modules.items() if name != "a tensor from numpy"}, {"numpy": "works", "setuptools": "works"})

    def test_libraries(self):
        """The error names one library, ldd all of them."""
        self.prefix.file("tools/ldd", "#!/bin/sh\nfor file; do echo $file: >&2; done\nprintf '\\tlinux-vdso.so.1 (0x1)\\n\\tlibGL.so.1 => not found\\n\\tlibc.so.6 => /lib/libc.so.6 (0x2)\\n\\tlibgthread-2.0.so.0 => not found\\n'\n")
        os.chmod(self.prefix.folder + "/tools/ldd", 0o755)
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = self.prefix.folder + "/tools:" + path
        library = "raise ImportError('libGL.so.1: cannot open shared object file: No such file or directory')"
        self.prefix.pip("opencv-python", {"cv2/__init__.py": library, "cv2/cv2.abi3.so": ""})
        self.prefix.pip("plain", {"plain.py": library})
        self.run_check(pip=["opencv-python", "plain"])
        self.assertIn("apt: [libgl1, libglib2.0-0]", self.modules["cv2"]["advice"])
        self.assertIn("apt: [libgl1]", self.modules["plain"]["advice"])
        os.environ["PATH"] = self.prefix.folder  # an image without ldd
        self.run_check(pip=["opencv-python"])
        self.assertIn("apt: [libgl1]", self.modules["cv2"]["advice"])

    def test_fatal(self):
        self.prefix.conda("numpy", {"numpy/__init__.py": "raise AttributeError('_ARRAY_API not found')"})
        self.prefix.pip("ours", {"ours.py": "raise ValueError('a\\nb')"})
        self.run_check(conda=["numpy"], pip=["ours"])
        self.assertEqual(self.failure, 'the environment cannot import numpy: AttributeError: _ARRAY_API not found; it was made for NumPy 1: pin "numpy<2"')
        self.assertIn("Traceback (most recent call last)", self.said)
        self.run_check(pip=["ours"], must=["ours", "missing.module"])
        self.assertIn("cannot import ours: ValueError: a b", self.failure)
        self.assertIn("cannot import missing.module", self.failure)

    def test_numpy_of_another_release(self):
        self.prefix.pip("numpy", {"numpy/__init__.py": "def arange(n): return range(int(n))\n"})
        torch = FAKE_TORCH + "def from_numpy(array): raise RuntimeError('Numpy is not available')\n"
        self.prefix.pip("torch", {"torch/__init__.py": torch, "torch/lib/libbroken.so": "no library"})
        self.run_check(pip=["torch"])
        self.assertIn("a tensor from numpy fails: RuntimeError: Numpy is not available; it was made for NumPy 1", self.failure)
        self.assertIn("torch/lib/libbroken.so fails: OSError", self.failure)

    def test_bad_company(self):
        self.prefix.pip("first", {"first.py": ""})
        self.prefix.pip("second", {"second.py": "import sys\nif 'first' in sys.modules: raise ImportError('no')\n"})
        self.run_check(pip=["first", "second"], must=["second"])
        # It comes first, since it has to work; and where it does not, that is told.
        self.assertEqual(self.modules["second"]["status"], "works")
        self.run_check(pip=["first", "second"])
        self.assertIsNone(self.failure)
        self.assertIn("alone it works", self.modules["second"]["reason"])

    def test_death_at_the_end(self):
        self.prefix.pip("numpy", {"numpy/__init__.py": "import atexit, os\natexit.register(os.abort)\n"})
        self.run_check(pip=["numpy"])
        self.assertIsNone(self.failure)
        self.assertIn("SIGABRT", [entry for entry in json.load(open(self.prefix.folder + "/report.json"))["modules"]][-1]["reason"])

    def test_hanging(self):
        self.prefix.pip("sleeper", {"sleeper.py": "import time\ntime.sleep(100)\n"})
        before, check.STEP_TIME = check.STEP_TIME, 1
        self.addCleanup(setattr, check, "STEP_TIME", before)
        self.run_check(pip=["sleeper"])
        self.assertEqual(self.modules["sleeper"]["reason"], "it did not end within 1 seconds")

    def test_conda_packages_without_modules(self):
        self.prefix.conda("py-opencv", {"cv2/__init__.py": ""})
        self.prefix.conda("opencv", {}, depends=["py-opencv 4.9", "python >=3.9", "numpy"])
        self.prefix.conda("numpy", {"numpy/__init__.py": ""})
        self.run_check(conda=["opencv", "python", "mkl"])
        self.assertEqual(list(self.modules), ["numpy", "cv2"])

    def test_everything(self):
        self.prefix.pip("app", {"app.py": ""}, needs=["helper>=1"])
        self.prefix.pip("helper", {"helper.py": "1/0"})
        self.prefix.conda("tool", {"tool.py": ""}, depends=["inner"])
        self.prefix.conda("inner", {"inner.py": "1/0"})
        self.run_check(everything=True)
        self.assertEqual(sorted(self.modules), ["app", "tool"])

    def test_namespaces(self):
        self.prefix.pip("google-thing", {"google/thing/__init__.py": "", "google/thing/inner.py": ""})
        package = installed.distributions(self.prefix.folder)["google-thing"]
        self.assertEqual(package.modules, ["google.thing"])

    def test_conflicts(self):
        self.prefix.pip("ours", {"ours.py": ""})
        self.prefix.pip("theirs", {"theirs.py": ""}, installer="conda")
        ours = "The package `theirs` requires `Ours>=2`, but `1.0` is installed"
        uvtool.conflicts = lambda python: [ours, "The package `theirs` requires `numpy>=2`, but it's not installed"]
        self.assertEqual(self.run_check()["conflicts"], [ours])
        self.assertIn("numpy>=2", self.said)

    def test_overwritten(self):
        self.prefix.conda("numpy", {"numpy/__init__.py": "old", "numpy/gone.py": "old"}, version="1.26.4")
        self.prefix.pip("numpy", {"numpy/__init__.py": "new"}, version="2.0.0")
        self.prefix.pip("opencv-python", {"cv2/__init__.py": "a", "cv2/same.py": "s"})
        self.prefix.pip("opencv-python-headless", {"cv2/__init__.py": "b", "cv2/same.py": "s"})
        self.prefix.pip("kept", {"kept.py": ""}, installer="conda")
        self.prefix.conda("kept", {"kept.py": ""})
        report = self.run_check()
        self.assertEqual([(o["package"], o["version"], o["over"], o["over_version"], o["over_kind"], o["files"]) for o in report["overwritten"]], [
            ("numpy", "2.0.0", "numpy", "1.26.4", "conda", 1),
            ("opencv-python-headless", "1.0", "opencv-python", "1.0", "pip", 1)])


if __name__ == "__main__":
    unittest.main()
