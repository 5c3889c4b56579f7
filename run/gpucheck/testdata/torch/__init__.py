"""A torch that has as many GPUs as FAKE_GPUS says and fails where FAKE_FAULT does."""
import os
import signal

__version__ = "9.9.9"
FAULT = os.environ.get("FAKE_FAULT", "")


def fail(where):
    if FAULT == where:
        raise RuntimeError("CUDA error: %s is broken\nCompile with TORCH_USE_CUDA_DSA" % where)
    if FAULT == "crash at " + where:
        os.kill(os.getpid(), signal.SIGKILL)


class version:
    cuda = "12.4"


class Number(float):
    def item(self):
        return self


class Tensor:
    def __init__(self, value):
        self.value = value

    def sum(self):
        return Number(self.value)

    def __matmul__(self, other):
        fail("matmul")
        return Tensor(255.0 if FAULT == "wrong matmul" else 256.0)

    def __getitem__(self, key):
        return self.value


def zeros(*shape, device):
    if not int(os.environ.get("FAKE_GPUS", "1")):
        raise RuntimeError("Found no NVIDIA driver on your system.")
    fail("allocate")
    return Tensor(0.0)


def ones(*shape, device):
    return Tensor(1.0)


class nccl:
    @staticmethod
    def all_reduce(parts):
        fail("nccl")
        for part in parts:
            part.value = float(len(parts))


class cuda:
    nccl = nccl

    @staticmethod
    def device_count():
        return int(os.environ.get("FAKE_GPUS", "1"))

    is_available = device_count

    @staticmethod
    def get_device_name(i):
        return "NVIDIA Fake %d" % i


class backends:
    class cudnn:
        @staticmethod
        def is_available():
            return FAULT != "no cudnn"


class nn:
    class functional:
        @staticmethod
        def conv2d(data, kernel):
            fail("conv")
            return Tensor(27.0)
