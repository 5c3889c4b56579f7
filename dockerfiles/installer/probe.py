"""Tries things in the environment's own Python: probe.py ASKED TOLD

reads {"modules": [...], "more": [...]} from the file descriptor ASKED, imports
the modules one after the other and then, where torch could be, tries what more names:

    libraries   torch's libraries
    tensor      a tensor of a numpy array
    loader      two workers of a DataLoader

What comes of it goes to the file descriptor TOLD, as a line of JSON each, before
the next thing is tried: whoever reads it knows where this process died. It runs
on any Python that an environment may have, 2.7 to the newest.
"""
import json
import os
import sys
import traceback


def tell(**what):
    os.write(TOLD, (json.dumps(what) + "\n").encode("ascii"))


def attempt(name, function):
    tell(start=name)
    try:
        version = function()
    except BaseException as error:
        kind, text = type(error).__name__, " ".join(str(error).split())
        where = sys.exc_info()[2]
        while where and where.tb_frame.f_code.co_filename == attempt.__code__.co_filename:
            where = where.tb_next  # nobody's fault lies here
        trace = "".join(traceback.format_exception(type(error), error, where))
        tell(failed=name, reason="%s: %s" % (kind, text) if text else kind, trace=trace)
    else:
        tell(done=name, version=version)


def imported(name):
    __import__(name)
    version = getattr(sys.modules[name], "__version__", "")
    return version if isinstance(version, type("")) else str(version)


def load_libraries():
    import ctypes
    import glob

    import torch

    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    for path in sorted(glob.glob(os.path.join(folder, "*.so")) + glob.glob(os.path.join(folder, "*.so.[0-9]*"))):
        attempt("torch/lib/" + os.path.basename(path), lambda: ctypes.CDLL(path) and "")


def facts():
    import torch

    flags = getattr(torch._C, "_cuda_getArchFlags", lambda: None)()
    tell(facts={"version": str(torch.__version__), "cuda": getattr(torch.version, "cuda", None) or "", "archs": flags or ""})


def tensor():
    import numpy
    import torch

    if float(torch.from_numpy(numpy.arange(4.0)).sum()) != 6:
        raise ValueError("the tensor of a numpy array holds other numbers")
    return ""


def loader():
    import torch
    import torch.utils.data

    data = torch.utils.data.TensorDataset(torch.arange(8))
    if sum(int(batch[0].sum()) for batch in torch.utils.data.DataLoader(data, batch_size=2, num_workers=2)) != 28:
        raise ValueError("the workers have given other numbers")
    return ""


if __name__ == "__main__":
    TOLD = int(sys.argv[2])
    sys.path.pop(0)  # this file's own folder, whose names are not the environment's
    with os.fdopen(int(sys.argv[1])) as file:
        asked = json.load(file)
    for module in map(str, asked["modules"]):
        attempt(module, lambda: imported(module))
    more = asked["more"] if "torch" in sys.modules else []
    if "libraries" in more:
        facts()
        load_libraries()
    if "tensor" in more and "numpy" in sys.modules:
        attempt("a tensor from numpy", tensor)
    if "loader" in more:
        attempt("a DataLoader with two workers", loader)
    tell(end=True)
