"""What a base image says does not steer the tools."""
import unittest

import main


class ForgetBase(unittest.TestCase):
    base = {
        "PATH": "/usr/bin", "HTTPS_PROXY": "http://proxy", "MAX_JOBS": "2", "CUDA_HOME": "/usr/local/cuda", "LD_LIBRARY_PATH": "/usr/local/nvidia/lib",
        "PIP_CONSTRAINT": "/etc/pip/constraint.txt", "PIP_INDEX_URL": "http://elsewhere", "UV_NO_INDEX": "1", "GIT_SSL_NO_VERIFY": "1", "UV_INDEX_URL": "http://elsewhere",
        "PYTHONHOME": "/nowhere", "PYTHONPATH": "/workspace", "PYTHONWARNINGS": "error", "CONDA_PREFIX": "/opt/conda", "VIRTUAL_ENV": "/venv",
    }

    def left(self, command):
        variables = dict(self.base)
        main.forget_base(command, variables)
        return sorted(variables)

    def test_steps_that_choose_and_install(self):
        kept = ["CUDA_HOME", "GIT_CONFIG_NOSYSTEM", "HTTPS_PROXY", "LD_LIBRARY_PATH", "MAX_JOBS", "PATH", "PIP_CONFIG_FILE"]
        for command in ("solve", "solve-pip", "conda", "pip", "local", "compile", "wheels", "apt"):
            self.assertEqual(self.left(command), kept)

    def test_check(self):
        self.assertEqual(self.left("check"), [
            "CONDA_PREFIX", "CUDA_HOME", "GIT_CONFIG_NOSYSTEM", "HTTPS_PROXY", "LD_LIBRARY_PATH", "MAX_JOBS", "PATH", "PIP_CONFIG_FILE",
            "PYTHONHOME", "PYTHONPATH", "PYTHONWARNINGS", "VIRTUAL_ENV"])


if __name__ == "__main__":
    unittest.main()
