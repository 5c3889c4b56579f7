"""Tries the GPUs of a run and says on stdout how each step went."""
import json
import sys

MARK = "crun-gpu-check "


def say(**what):
    sys.stdout.write(MARK + json.dumps(what) + "\n")
    sys.stdout.flush()


def step(name, action):
    # Told before it is tried: what crashes or hangs is known by it.
    say(step=name)
    try:
        action()
    except Exception as error:  # whatever it is, it is the finding
        say(step=name, error="%s: %s" % (type(error).__name__, error))
        sys.exit(1)


def main():
    try:
        import torch
    except ImportError as error:
        say(torch=None, error=str(error))
        return
    say(torch=str(torch.__version__), cuda=torch.version.cuda)
    found = []

    def devices():
        count = torch.cuda.device_count()
        if count < 1 or not torch.cuda.is_available():
            torch.zeros(1, device="cuda")  # says why
            raise RuntimeError("torch finds no GPU")
        found.extend("cuda:%d" % i for i in range(count))

    step("find the GPUs", devices)
    for i, device in enumerate(found):
        try:
            name = torch.cuda.get_device_name(i)
        except Exception:
            name = ""
        on = " on GPU %d" % i
        say(gpu=i, name=name)

        def allocate():
            torch.zeros(16 << 20, device=device).sum().item()

        def matmul():
            one = torch.ones(256, 256, device=device)
            if float((one @ one)[0, 0]) != 256.0:
                raise RuntimeError("a product of matrices has a wrong value")

        def convolution():
            if not torch.backends.cudnn.is_available():
                raise RuntimeError("torch cannot use cuDNN")
            data = torch.ones(1, 3, 32, 32, device=device)
            kernel = torch.ones(4, 3, 3, 3, device=device)
            if float(torch.nn.functional.conv2d(data, kernel)[0, 0, 0, 0]) != 27.0:
                raise RuntimeError("a convolution has a wrong value")

        step("allocate" + on, allocate)
        step("multiply matrices" + on, matmul)
        step("cuDNN convolution" + on, convolution)
    if len(found) > 1:
        def reduce():
            parts = [torch.ones(1024, device=device) for device in found]
            torch.cuda.nccl.all_reduce(parts)
            if any(float(part[0]) != len(found) for part in parts):
                raise RuntimeError("the sum over the GPUs has a wrong value")

        step("NCCL sum over %d GPUs" % len(found), reduce)
    say(done=True)


main()
